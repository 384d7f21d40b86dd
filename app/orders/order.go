// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/app/runs"
	"mirrord/scheduler/status"
)

// State is where an order stands.
type State string

// The states. An order is a draft until it is placed.
const (
	Looking   State = "looking"   // a few requests say what it would be
	Draft     State = "draft"     // they did; it may be placed
	Asks      State = "asks"      // an operator has to approve it
	Waits     State = "waits"     // for its time, or for others
	Runs      State = "runs"      // now
	Done      State = "done"      // its archives can be downloaded
	Failed    State = "failed"    // there is nothing to download
	Refused   State = "refused"   // by an operator
	Cancelled State = "cancelled" // by its user, or an operator
	Expired   State = "expired"   // its archives were removed
)

// Words says what a state means.
func (s State) Words() string {
	return map[State]string{
		Looking:   "being looked at",
		Draft:     "not placed yet",
		Asks:      "waits for an operator to approve it",
		Waits:     "waits for its turn",
		Runs:      "under way",
		Done:      "ready",
		Failed:    "failed",
		Refused:   "refused by an operator",
		Cancelled: "cancelled",
		Expired:   "expired: its archives were removed",
	}[s]
}

// Ended reports whether nothing more happens to an order but that it expires.
func (s State) Ended() bool {
	return slices.Contains([]State{Done, Failed, Refused, Cancelled, Expired}, s)
}

// OrderID tells orders from one another: the number of one on the node of a cluster on which it was made.
// Users write it as Ref.
type OrderID struct {
	Number uint64 `json:"number"`
	Node   string `json:"node,omitempty"` // "": there is one machine
}

// Ref is how users name an order: by its number, in a cluster with its node, as 7@north.
func (k OrderID) Ref() string {
	if k.Node == "" {
		return strconv.FormatUint(k.Number, 10)
	}
	return fmt.Sprintf("%d@%s", k.Number, k.Node)
}

// Path is Ref as a part of an address.
func (k OrderID) Path() string { return url.PathEscape(k.Ref()) }

// ParseOrderID reads what Ref makes.
func ParseOrderID(ref string) (OrderID, error) {
	number, node, named := strings.Cut(ref, "@")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n == 0 || (named && node == "") {
		return OrderID{}, ErrNone
	}
	return OrderID{n, node}, nil
}

func compareIDs(a, b OrderID) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.Node, b.Node))
}

// Claim says which node of a cluster works on an order. The zero value is no node.
type Claim struct {
	Node    string `json:"node,omitempty"` // or who worked on it last
	Session string `json:"session,omitempty"`
	Token   uint64 `json:"token,omitempty"` // grows with each claim
}

// ArchiveFile is a file of a result.
type ArchiveFile struct {
	Form  string `json:"form"`
	Name  string `json:"name"` // of the file
	Bytes int64  `json:"bytes"`
}

// Keeping says whether a mirror is kept fresh by a job.
type Keeping struct {
	State State     `json:"state,omitempty"` // "", Asks, Runs while the job is made, Done, Refused or Failed
	At    time.Time `json:"at,omitzero"`     // when it began to be made
	Job   string    `json:"job,omitempty"`   // when it is done
	Why   string    `json:"why,omitempty"`   // when it is not
}

// OrderStatus is what users and programs read of an order.
type OrderStatus struct {
	OrderID
	By    string    `json:"by"`
	State State     `json:"state"`
	Why   string    `json:"why,omitempty"` // reason of a state that is not wanted
	At    time.Time `json:"at"`

	Placed  time.Time `json:"placed,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // when its archives are deleted

	Result Result  `json:"result,omitzero"`
	Mailed string  `json:"mailed,omitempty"` // result of sending mail
	Keep   Keeping `json:"keep,omitzero"`    // of a mirror that is to be kept fresh
}

// Ordered is a user's request, and its outcome.
type Ordered struct {
	OrderStatus
	Rev    uint64        `json:"rev,omitempty"`  // grows with each change
	Free   bool          `json:"free,omitempty"` // of an operator: no quota
	Base   string        `json:"base,omitempty"` // where the console was reached, for links in mail
	Want   Wish          `json:"want"`
	Leads  string        `json:"leads,omitempty"`  // where the address leads, when that is elsewhere
	Look   *runs.Preview `json:"look,omitempty"`   // what a few requests said
	Judged string        `json:"judged,omitempty"` // the operator who approved or refused it

	Tries int `json:"tries,omitempty"` // runs that ended early

	// the order whose run is this one's too; 0: none
	Same     uint64 `json:"same,omitempty"`
	SameNode string `json:"same_node,omitempty"`

	Claim Claim  `json:"claim,omitzero"`
	Stop  bool   `json:"stop,omitempty"`  // the node that works on it is to cancel it
	Held  string `json:"held,omitempty"`  // the node on whose disk the archives are
	Depot string `json:"depot,omitempty"` // their folder in the depot, when they are there, too

	Progress *status.Progress `json:"-"` // of the run under way
}

// Result is what the run of an order came to.
type Result struct {
	Verdict  string        `json:"verdict,omitempty"`
	Reasons  []string      `json:"reasons,omitempty"`
	Files    int           `json:"files,omitempty"`
	Bytes    int64         `json:"bytes,omitempty"`
	Requests int64         `json:"requests,omitempty"` // of all its runs, as far as was noted of the one under way
	Received int64         `json:"received,omitempty"`
	Gaps     int           `json:"gaps,omitempty"` // parts that could not be had
	Archives []ArchiveFile `json:"archives,omitempty"`
}

// twinID is the key of the order whose run is this one's too.
func (o *Ordered) twinID() OrderID { return OrderID{o.Same, o.SameNode} }

// underWay reports whether a node works on the order, or did until its session ended.
func (o *Ordered) underWay() bool { return o.State == Looking || o.State == Runs }

// Stored is how many bytes the archives of an order take.
func (o *Ordered) Stored() (n int64) {
	for _, a := range o.Result.Archives {
		n += a.Bytes
	}
	return n
}

// Counts reports whether an order counts in the quota of a day that began at since.
func (o *Ordered) counts(since time.Time) bool {
	if o.Free || o.Same != 0 || o.Placed.Before(since) || o.Placed.IsZero() {
		return false
	}
	return o.State != Refused && (o.State != Cancelled || !o.Started.IsZero())
}

// used are the files and bytes that an order counts for: what its run had, or what it may have.
func (o *Ordered) used() (files, bytes int64) {
	if o.State.Ended() {
		return int64(o.Result.Files), o.Result.Received
	}
	return o.Want.Files, int64(o.Want.Size)
}
