// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"

	"mirrord/fetch"
	"mirrord/site"
	"mirrord/store/record"
)

// Provider says which source gave an answer. Providers are a set when a run says which ones may answer.
type Provider uint8

// The sources, in the order in which they are tried.
const (
	FromReuse    Provider = 1 << iota // the mirror of another job
	FromUpstream                      // the site, which is a mirror and offers its versions; as FromOrigin
	FromSpace                         // the site, as it answered another mirror of the space; as FromOrigin
	FromOrigin                        // the site itself
	FromReplica                       // a replica of the site
)

// Watcher learns how a body comes. It is safe for concurrent use.
type Watcher interface {
	Sized()      // the length of the body is known
	Count(n int) // bytes of it that came
}

// hasLength reports whether an answer says how long its body is.
func hasLength(h *fetch.Head) bool { return (h.Length >= 0) || (h.Header.Get("Content-Length") != "") }

// Ask is one URL that a run wants.
type Ask struct {
	Record *record.Resource // the record of the URL; it is not changed
	Of     Provider         // which sources may answer

	Request fetch.Request // of the origin
	Watcher Watcher       // of its body; may be nil
	// GivenUp says for a cause with which ctx ended the class of failure that it is; nil when the run ends.
	GivenUp func(cause error) (class error)

	Why string // why the origin did not give it, of replicas
	// Refuse returns why the origin's body of a type is not wanted, "" if it is; nil: all are.
	Refuse func(mime string) string

	Suits    func(mime string) bool // of replicas: whether it can be a body of the URL; nil: any can
	Redirect bool                   // whether the URL may lead to another one, of replicas
}

// givenUp is the class of failure of an exchange that was ended for itself, nil when it was not.
func (a *Ask) givenUp(ctx context.Context) (class error) {
	if cause := context.Cause(ctx); (cause != nil) && (a.GivenUp != nil) {
		class = a.GivenUp(cause)
	}
	return class
}

// Answer is what one source gave for a URL. From is 0 when none gave it; there may be Notes all the same. One
// with From 0 or an Err has neither Same, Content nor To; any other one of reuse, a space and replicas has
// just one of them. Its user calls Close.
type Answer struct {
	From   Provider
	Source string // the URL on the replica or in the other mirror; "" from the origin
	Told   string // the mirror of the space that the origin gave this answer, earlier; "": to this one, now

	Result *fetch.Result // of the origin, and of a replica with To; nil when no request was made
	Err    error         // of the origin: why the exchange had no usable answer

	Refused string    // of the origin: why its body was not read, see Ask.Refuse
	Content *Received // a body came; of the origin, when Result says that it was kept
	Same    bool      // the body is the one that the mirror holds; none came
	To      site.URL  // the URL redirects to this one, of replicas

	Status  int      // of the URL's record
	Reason  string   // of the URL's record
	Checked int64    // when the source last saw that it is so, in Unix seconds
	Notes   []string // kinds of notes under which the summary lists the URL

	body    *BodySink
	replica string // base of the replica
	kept    bool   // with Same: the replica has another body, which is not taken
}

// Received is a body with what its source says of it.
type Received struct {
	Body          *BodySink
	MIME, Charset string
	Modified      int64       // Unix seconds; 0 when that is not known
	Head          *fetch.Head // of the exchange that returned it; nil from the mirror of another job
}

// Release lets go of the body.
func (a *Answer) Release() {
	if a.body != nil {
		a.body.Close()
		a.body = nil
	}
}
