// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"net/http"
	"time"

	"mirrord/fetch"
	"mirrord/internal/volatile"
	"mirrord/mirror/frontier"
	"mirrord/mirror/process"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/scope"
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
	learned, _, err := urls.ReadFact[map[string]*urls.SessionID](r.Site.Notes, urls.SessionsFact)
	if err != nil {
		return nil, err
	}
	known := func(u site.URL) bool {
		_, ok := r.Table.Find([]byte(u.String()))
		return ok
	}
	s := frontier.NewSessionIDs(learned, r.Run.Number, known)
	if !r.Options.Imports { // an archive ends, and a user wanted to keep all of it
		s.LearnAlike(func(u site.URL) bool {
			id, ok := r.Table.Find([]byte(u.String()))
			return ok && r.Table.InSet(id)
		})
	}
	s.RecallSessions(r.Table.Settled())
	return s, nil
}

// keepSessions stores which session ids and which spellings there are, for the next run.
func keepSessions(r *planned) error {
	err := urls.KeepFact(r.Site.Notes, source.SpellingsFact, r.chain.Spelled.Fact)
	if (r.sessions == nil) || (err != nil) {
		return err
	}
	learned := r.sessions.Learned(frontier.InSetOf(r.Table.Settled()))
	return urls.WriteFact(r.Site.Notes, urls.SessionsFact, learned)
}

// keepProfiles stores which programs make the site, for the next run. Without any, what an earlier run found
// stays.
func keepProfiles(s *run.Session) error {
	v := s.Rules.Profiles.Value()
	if v == nil {
		return nil
	}
	return urls.KeepFact(s.Site.Notes, scope.ProfilesFact, func() ([]byte, error) { return v, nil })
}

// folded returns what becomes of a URL for which another one stands; ok is false for all other URLs. Entry
// points and sitemaps, which no document named, stand for themselves.
func folded(r *crawling, rec *record.Resource) (f process.Found, ok bool) {
	if rec.Referrer == 0 {
		return f, false
	}
	if id, ok := r.Table.Standing(rec.ID); ok {
		to, s := r.Table.Get(id)
		if !s.InSet() && rec.InSet { // what the mirror has stays
			return f, false
		}
		return r.process.Folded(rec, to, frontier.SameSpelling)
	}
	if to, why := r.sessions.Main(rec.URL); to != rec.URL {
		return r.process.Folded(rec, to, why)
	}
	return f, false
}

// foldSessions makes one URL of those that were requested before it was known that they are one, when nothing
// is left to request. The ones that stand for them are requested.
func foldSessions(ctx context.Context, r *crawling, stage func()) error {
	t := r.Table.Settled()
	if (!r.sessions.Some() && !t.Spelled()) || r.stopped() {
		return nil
	}
	r.sessions.Settle()
	for _, q := range r.sessions.Bare() {
		if res, body := requestAside(ctx, r, q.URL, int64(r.Job.Limits.MaxDocument)); res != nil {
			r.process.Second(q, res, body)
		}
	}
	r.sessions.RecallSessions(t)
	(&alikeAudit{
		table:    t,
		run:      r.Run.Number,
		sessions: r.sessions,
		request:  func(u site.URL) (*frontier.Second, bool) { return secondOf(ctx, r, u) },
	}).audit()
	for id, s := range t.All() {
		if !s.Given() || !s.InSet() || (s.Referrer() == 0) {
			continue
		}
		u := r.Table.URL(id)
		if _, spelled := r.Table.Standing(id); !spelled {
			if to, _ := r.sessions.Main(u); to == u {
				continue
			}
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

// secondOf requests a page beside those of the run.
func secondOf(ctx context.Context, r *crawling, u site.URL) (*frontier.Second, bool) {
	res, body := requestAside(ctx, r, u, volatile.MaxBody)
	if res == nil || res.Status != http.StatusOK {
		return nil, false
	}
	return &frontier.Second{Body: r.skipPlan.Noise.Known(u).Masked(body).Body}, true
}

// requestAside requests a page of at most so many bytes beside those of the frontier; nil without an answer.
func requestAside(ctx context.Context, r *crawling, u site.URL, most int64) (*fetch.Result, []byte) {
	if !mayRequest(r.Retrieval, u) || r.stopped() {
		return nil, nil
	}
	var body source.PageSink
	req := fetch.Request{URL: u, MaxBody: most, NoRetry: true}
	res, err := r.asker().Exchange(ctx, req, &body)
	if err != nil {
		return nil, nil
	}
	return res, body.Bytes()
}

// compareLast requests the pages once more, when nothing else is left to request, that are to be requested
// twice.
func compareLast(ctx context.Context, r *crawling) {
	next := func() (*revisit.Twice, bool) {
		return r.skipPlan.Noise.Question("", r.Counts.Requests.Load(), r.Now())
	}
	for q, ok := next(); ok && !r.stopped(); q, ok = next() {
		if !anotherSecond(ctx, r, q) {
			continue
		}
		if res, body := requestAside(ctx, r, q.URL, volatile.MaxBody); res != nil {
			process.TwoAnswers(r.process, q, res, body)
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
