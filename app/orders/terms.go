// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"mirrord/job"
)

// terms are what holds for all orders: the fact of OrderID{}.
//
// Orders are placed one after another, also on several nodes: each one is written here first, by a change
// that fails when another one was placed meanwhile. So the quota of a user, and which order another one
// shares its run with, do not depend on how soon a node hears of the orders of others.
type terms struct {
	Limits
	Rev   uint64      `json:"rev,omitempty"` // grows with each change
	Being []placement `json:"being_placed,omitempty"`
}

// placement is an order that is being placed.
type placement struct {
	OrderID
	By    string    `json:"by"`
	Free  bool      `json:"free,omitempty"`
	Asks  bool      `json:"asks,omitempty"` // an operator decides first
	At    time.Time `json:"at"`
	Files int64     `json:"files"`
	Size  job.Size  `json:"size"`
	Wish  string    `json:"wish,omitempty"` // see Wish.digest; "": it begins later
}

// beingFor is how long a placement is kept: by then every node has heard of the order itself, or it was not
// placed because the keepers did not answer.
const beingFor = 10 * time.Minute

// begin adds the placement of an order that is stored as it is placed; it replaces an earlier one that did
// not succeed.
func (t *terms) begin(x *Ordered, now time.Time) {
	p := placement{
		OrderID: x.OrderID,
		By:      x.By,
		Free:    x.Free,
		Asks:    x.State == Asks,
		At:      now,
		Files:   x.Want.Files,
		Size:    x.Want.Size,
	}
	if !x.Want.Start.After(now) {
		p.Wish = x.Want.digest()
	}
	t.Being = slices.DeleteFunc(t.Being, func(p placement) bool {
		return now.Sub(p.At) > beingFor || p.OrderID == x.OrderID
	})
	t.Being = append(t.Being, p)
}

// unseen are the placements of orders of which the queue does not know yet that they are placed, but for one
// order.
func (t *terms) unseen(all queue, but OrderID, now time.Time) (out []placement) {
	for _, p := range t.Being {
		x := all[p.OrderID]
		if (x == nil || x.Placed.IsZero()) && p.OrderID != but && now.Sub(p.At) <= beingFor {
			out = append(out, p)
		}
	}
	return out
}

// digest is the same for wishes that make the same archives: Wish.same.
func (w *Wish) digest() string {
	same := *w
	same.Delay, same.Mail, same.Start, same.Fresh, same.Window = 0, "", time.Time{}, "", ""
	text, err := json.Marshal(&same)
	if err != nil { // it has no such values
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
