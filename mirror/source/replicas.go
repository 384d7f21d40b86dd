// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mirrord/fetch"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// A job may name alternates: replicas of its site. When the origin does not give a URL (its host is left for
// the next run, no connection, or a status of 500 or more after all attempts and a second turn), they are a
// fallback, in their order, as politely as any host and by their own robots.txt.
//
// What a replica sends is taken when the two are interchangeable (levels 1 to 3 and confident, see package
// replica/hosts): by a test of what the mirror holds, which a complete run makes without a recent one,
// or the failing origin when it is needed; or by one of "replicas --verify". Of any other replica only a body
// is taken that the mirror holds already.
//
// A replica fills what the mirror lacks. A copy that the mirror holds stays, regardless of the replica. With
// alternates_replace a text takes its place that was compared with it, says all that it says, and has a later
// Last-Modified.
//
// The origin stays what the mirror is of. URLs, links and mirror paths are the origin's. A replica's
// validators are never sent to the origin. No replica's 404, robots meta, listing or missing link takes
// anything out of the mirror; while something of a replica is in it, nothing leaves because no document leads
// to it. The body that a replica sent is requested again as soon as the origin answers.

// OriginTroubles knows which origins are down. It is safe for concurrent use.
type OriginTroubles interface {
	// IsDown reports whether nothing more is requested of a URL's origin in this run.
	IsDown(u site.URL) bool
	// Answered notes that the origin of a URL is well.
	Answered(u site.URL)
	// Failed notes that the origin of a URL is not.
	Failed(u site.URL, reason string, how FailureKind)
}

// FailureKind says how an origin failed.
type FailureKind uint8

const (
	Unavailable FailureKind = iota // it is not to be requested in this run
	NoAnswer
	BadAnswer // a status that passes, such as 503
)

// HeldRecords reads what the mirror holds. *facts.Records is one. It is safe for concurrent use.
type HeldRecords interface {
	urls.Directories
	Get(u site.URL) (rec record.Resource, ok bool, err error)
}

// ReplicaSourceOptions are what a ReplicaSource works with.
type ReplicaSourceOptions struct {
	Supplies
	Base       string     // directory of the site, as the job names it, for which each replica stands
	Replicas   []site.URL // directories
	Replace    bool       // a newer page takes the place of what the mirror holds
	Pairs      PairFacts
	HostErrors OriginTroubles
	Table      *urls.Table
	Provenance *urls.Provenance
	Records    HeldRecords
	Body       func(*record.Resource) ([]byte, error) // that the mirror holds, up to hosts.MaxCompared
}

// ReplicaSource are the replicas of a run's site. Get, IsWell and Took are safe for concurrent use.
type ReplicaSource struct {
	ReplicaSourceOptions
	base string // that each of them stands for
	all  []*replica

	mu    sync.Mutex
	given map[string]int64 // answers by replica
	same  int64            // of them those with what the mirror held
}

// NewReplicaSource returns the replicas of a job, of which there may be none.
func NewReplicaSource(o ReplicaSourceOptions) *ReplicaSource {
	x := &ReplicaSource{ReplicaSourceOptions: o, base: o.Base, given: map[string]int64{}}
	for _, u := range o.Replicas {
		x.all = append(x.all, &replica{base: u, ask: o.NewAsker()})
	}
	return x
}

// SetBase says where the pages of the site are to which the job's entry point leads. There is no Get
// meanwhile.
func (x *ReplicaSource) SetBase(base string) { x.base = base }

// Covers reports whether Get may have an answer for a URL.
func (x *ReplicaSource) Covers(u site.URL) bool {
	return len(x.all) > 0 && strings.HasPrefix(u.String(), x.base)
}

// IsWell reports whether some replica is trusted and answers.
func (x *ReplicaSource) IsWell() bool {
	return slices.ContainsFunc(x.all, func(a *replica) bool {
		return a.isTrusted() && !x.HostErrors.IsDown(a.base)
	})
}

// Took counts an answer of a replica that became an outcome.
func (x *ReplicaSource) Took(a *Answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.given[a.replica]++
	if a.Same && !a.kept {
		x.same++
	}
}

// ReplicaReport is what a summary says of replicas.
type ReplicaReport struct {
	Given map[string]int64 // answers by replica
	Same  int64            // of them those with what the mirror held
	Notes []string         // which are trusted from the next run on, and why some are not
}

// Report says what replicas gave. The workers have ended.
func (x *ReplicaSource) Report() ReplicaReport {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := ReplicaReport{Given: x.given, Same: x.same}
	for _, a := range x.all {
		if a.why != "" {
			r.Notes = append(r.Notes, a.why)
		}
	}
	return r
}

// Get requests a URL of the replicas in their order, until one gives it. The error is that of our disk or of
// ctx.
func (x *ReplicaSource) Get(ctx context.Context, ask *Ask) (Answer, error) {
	var notes []string
	rest, ok := strings.CutPrefix(ask.Record.URL.String(), x.base)
	if !ok {
		return Answer{}, nil
	}
	for _, a := range x.all {
		if ctx.Err() != nil {
			return Answer{Notes: notes}, nil
		}
		u, _, err := site.Parse(a.base.String() + rest)
		if err != nil || !strings.HasPrefix(u.String(), a.base.String()) || x.HostErrors.IsDown(u) {
			continue
		}
		got, err := x.getFrom(ctx, a, ask, u)
		notes = append(notes, got.Notes...)
		got.Notes = notes
		if got.From != 0 || err != nil {
			return got, err
		}
	}
	return Answer{Notes: notes}, nil
}

// getFrom requests a URL of one replica.
func (x *ReplicaSource) getFrom(ctx context.Context, a *replica, ask *Ask, u site.URL) (Answer, error) {
	rec := ask.Record
	trusted := x.trusts(ctx, a)
	if ctx.Err() != nil {
		return Answer{}, ctx.Err()
	}
	if held := rec.InSet && rec.Body != record.NoBody; !trusted && !held {
		return Answer{}, nil
	}
	may, err := a.ask.Allowed(ctx, u)
	if err != nil {
		return Answer{}, err
	}
	if may.Unknown {
		x.HostErrors.Failed(u, may.Why, Unavailable)
	}
	if !may.OK {
		return Answer{}, nil
	}
	body := x.Bodies.New(u)
	got, err := x.exchange(ctx, a, ask, u, body, trusted)
	if got.body == nil {
		body.Close()
	}
	return got, err
}

// exchange makes the request and reads what came.
func (x *ReplicaSource) exchange(
	ctx context.Context, a *replica, ask *Ask, u site.URL, body *BodySink, trusted bool,
) (Answer, error) {
	req := fetch.Request{URL: u, MaxBody: x.MaxBody}
	if err := body.Resume(ctx, &req); err != nil {
		return Answer{}, err
	}
	res, err := a.ask.Exchange(ctx, req, body)
	body.Ended(res, err)
	switch {
	case body.Err() != nil: // the disk
		return Answer{}, body.Err()
	case ended(ctx, err):
		return Answer{}, errors.Join(fetch.ErrCanceled, err)
	case errors.Is(err, fetch.ErrLongWait):
		x.HostErrors.Failed(u, err.Error(), Unavailable)
		return Answer{}, nil
	case err != nil:
		x.HostErrors.Failed(u, err.Error(), NoAnswer)
		return Answer{}, nil
	case fetch.TransientStatus(res.Status):
		x.HostErrors.Failed(u, fmt.Sprintf("status %d", res.Status), BadAnswer)
		return Answer{}, nil
	}
	x.HostErrors.Answered(u)
	switch {
	case res.Status >= 300 && res.Status < 400:
		if !trusted || !ask.Redirect {
			return Answer{}, nil
		}
		return x.redirect(a, ask, res, u), nil
	case !isPage(res), ask.Suits != nil && !ask.Suits(res.MIME):
		return Answer{}, nil
	case tagsOf(res, x.Product, x.Now()).NoArchive:
		return Answer{}, nil
	case !trusted && body.Digest() != ask.Record.Digest:
		return Answer{}, nil
	case trusted && body.File() == nil && a.isErrorPage(res, u, body.Bytes()):
		return Answer{}, nil
	}
	return x.take(a, ask, res, u, body), nil
}

// take decides whether a body that a replica sent is taken.
func (x *ReplicaSource) take(a *replica, ask *Ask, res *fetch.Result, u site.URL, body *BodySink) Answer {
	rec := ask.Record
	got := Answer{
		From:    FromReplica,
		Source:  u.String(),
		replica: a.base.String(),
		Status:  statusOfHeld(rec),
		Reason:  fmt.Sprintf("of %s, because the origin did not give it: %s", u, ask.Why),
		Checked: rec.Checked,
	}
	held := rec.InSet && rec.Body != record.NoBody
	switch {
	case held && body.Digest() == rec.Digest: // for any type that it states
		got.Same = true
		return got
	case held:
		switch note, stays := x.keeps(a, rec, res, body); {
		case stays: // the age of the mirror still grows
			got.Same, got.kept, got.Notes = true, true, []string{note}
			got.Reason = fmt.Sprintf("kept, because the origin did not give it, and %s differs: %s", u, ask.Why)
			return got
		case note != "":
			return Answer{Notes: []string{note}}
		}
	case rec.Target != 0: // the mirror knows where it leads
		return Answer{}
	}
	if !urls.IsGone(rec) {
		got.Status = res.Status
	}
	got.Checked = x.Now().Unix()
	got.Content, got.body = contentOf(res, body, x.Now()), body
	if held && saysNoType(res.MIME) {
		got.Content.MIME = rec.MIME // the replica does not know; the file's name says the type
	}
	return got
}

// keeps says why what the mirror holds of a resource is not replaced by the other body that a replica sent,
// "" when it is. stays says that the replica has that page all the same, in the form of another time or with
// something of its own.
func (x *ReplicaSource) keeps(
	a *replica, rec *record.Resource, res *fetch.Result, body *BodySink,
) (note string, stays bool) {
	modified := res.ModifiedAt(x.Now())
	if modified > 0 && modified < rec.Modified {
		return fmt.Sprintf("older copies of %s than the mirror has were not taken", a.base), true
	}
	switch how := x.compare(rec, res, body); {
	case how == otherPage:
		const form = "pages of %s that say something else than the mirror's were not taken"
		return fmt.Sprintf(form, a.base), false
	case !x.Replace:
		const form = "copies of %s that differ from the mirror's did not replace them (alternates_replace)"
		return fmt.Sprintf(form, a.base), true
	case how == notCompared:
		const form = "files of %s that are no text and differ from the mirror's did not replace them"
		return fmt.Sprintf(form, a.base), true
	case how == lacksPart:
		const form = "pages of %s that lack a part of the mirror's did not replace them"
		return fmt.Sprintf(form, a.base), true
	case modified <= cmp.Or(rec.Modified, rec.Checked):
		const form = "pages of %s that differ from the mirror's without a later date did not replace them"
		return fmt.Sprintf(form, a.base), true
	}
	return "", false
}

// saysNoType reports whether a media type is one that servers send of files that they do not know.
func saysNoType(mime string) bool {
	return mime == "" || mime == "text/plain" || mime == "application/octet-stream"
}

// redirect reads the target of a URL that is not in the mirror, when a replica says that it redirects
// within the site.
func (x *ReplicaSource) redirect(a *replica, ask *Ask, res *fetch.Result, u site.URL) Answer {
	rec := ask.Record
	rest, ok := strings.CutPrefix(res.Location.String(), a.base.String())
	if !ok || rec.InSet || rec.Target != 0 {
		return Answer{}
	}
	to, _, err := site.Parse(x.base + rest)
	if err != nil || to == rec.URL {
		return Answer{}
	}
	return Answer{
		From:    FromReplica,
		Source:  u.String(),
		Result:  res,
		To:      to,
		Status:  res.Status,
		Reason:  rec.Reason,
		Checked: x.Now().Unix(),
	}
}
