// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"bytes"
	"context"
	"time"

	"mirrord/fetch"
	"mirrord/internal/volatile"
	"mirrord/mirror/frontier"
	"mirrord/mirror/process"
	"mirrord/mirror/revisit"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// newSessions returns what learns session ids, with what earlier runs learned; nil when the job does not want
// that. The table is loaded.
func newSessions(r *Retrieval) (*frontier.SessionIDs, error) {
	if !r.Job.Scope.LearnSessions {
		return nil, nil
	}
	v, err := r.Site.Notes.Fact(urls.SessionsFact)
	if err != nil {
		return nil, err
	}
	known := func(u site.URL) bool {
		_, ok := r.Table.Find([]byte(u.String()))
		return ok
	}
	s := frontier.NewSessionIDs(urls.DecodeSessionIDs(v), r.Run.Number, known)
	s.RecallSessions(r.Table.Settled())
	return s, nil
}

// keepSessions stores which session ids there are, for the next run.
func keepSessions(r *planned) error {
	if r.sessions == nil {
		return nil
	}
	v, err := urls.EncodeSessionIDs(r.sessions.Learned(frontier.InSetOf(r.Table.Settled())))
	if err != nil {
		return err
	}
	before, err := r.Site.Notes.Fact(urls.SessionsFact)
	if (err != nil) || bytes.Equal(before, v) {
		return err
	}
	return r.Site.Notes.SetFact(urls.SessionsFact, v)
}

// folded returns what becomes of a URL that differs from another one only in a session id; ok is false for
// all other URLs. Entry points and sitemaps, which no document named, stand for themselves.
func folded(r *crawling, rec *record.Resource) (f process.Found, ok bool) {
	if !r.sessions.Some() || (rec.Referrer == 0) {
		return f, false
	}
	to := r.sessions.Main(rec.URL)
	if to == rec.URL {
		return f, false
	}
	return r.process.Folded(rec, to)
}

// foldSessions makes one URL of those that were requested before it was known that they differ only in a
// session id, when nothing is left to request. The ones that stand for them are requested.
func foldSessions(ctx context.Context, r *crawling, stage func()) error {
	if !r.sessions.Some() || r.stopped() {
		return nil
	}
	for _, q := range r.sessions.Bare() {
		if !mayRequest(r.Retrieval, q.URL) {
			continue
		}
		var body source.PageSink
		req := fetch.Request{URL: q.URL, MaxBody: int64(r.Job.Limits.MaxDocument), NoRetry: true}
		res, err := newAsker(r.Retrieval).Exchange(ctx, req, &body)
		if (err == nil) && (res != nil) {
			r.process.Second(q, res, body.Bytes())
		}
	}
	t := r.Table.Settled()
	r.sessions.RecallSessions(t)
	for id, s := range t.All() {
		if !s.Given() || !s.InSet() || (s.Referrer() == 0) {
			continue
		}
		u := r.Table.URL(id)
		if r.sessions.Main(u) == u {
			continue
		}
		rec, err := r.process.Record(id, u)
		if err != nil {
			return err
		}
		if f, ok := folded(r, &rec); ok {
			r.conclude(id, u, f)
		}
	}
	stage()
	return nil
}

// compareLast requests the pages once more, when nothing else is left to request, that are to be requested
// twice.
func compareLast(ctx context.Context, r *crawling) {
	next := func() (*revisit.Twice, bool) {
		return r.skipPlan.Noise.Question("", r.Counts.Requests.Load(), r.Now())
	}
	for q, ok := next(); ok && !r.stopped(); q, ok = next() {
		if !mayRequest(r.Retrieval, q.URL) || !anotherSecond(ctx, r, q) {
			continue
		}
		var body source.PageSink
		req := fetch.Request{URL: q.URL, MaxBody: volatile.MaxBody, NoRetry: true}
		res, err := newAsker(r.Retrieval).Exchange(ctx, req, &body)
		if (err == nil) && (res != nil) {
			process.TwoAnswers(r.process, q, res, body.Bytes())
		}
	}
}

// anotherSecond waits until the second answer of a page that shows the time shows another one. It returns
// false when the run ends.
func anotherSecond(ctx context.Context, r *crawling, q *revisit.Twice) bool {
	left := aSecond - r.Now().Sub(q.Came)
	if left <= 0 || !q.ShowsTime() {
		return true
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// aSecond is a little more than one, in which clocks show another time.
const aSecond = 1100 * time.Millisecond
