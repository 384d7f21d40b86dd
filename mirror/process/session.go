// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"net/http"

	"mirrord/fetch"
	"mirrord/internal/volatile"
	"mirrord/mirror/frontier"
	"mirrord/mirror/parse"
	"mirrord/mirror/revisit"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

const learnedSession = "each answer has a new session id in its links (%s): URLs that differ only in it " +
	"are one; scope.learn_sessions = false takes each for a page of its own"

// requestTwice requests a document once more, to see whether its links have another token then.
func (x *Processor) requestTwice(
	ctx context.Context, q frontier.SecondRequest, release func(fetch.Observation),
) {
	res, body, err := again(ctx, x, q.URL, int64(x.Job.Limits.MaxDocument), release)
	if err != nil {
		x.Admission.Sessions.Answered(q, new(frontier.Second))
		return
	}
	x.Second(q, res, body)
}

const learnedPlaces = "parts of its pages are other ones in each answer: a page that differs only there " +
	"counts as unchanged; mirrord diff JOB --all lists them"

// compareTwo requests a page once more, to see where two answers differ that have the same to say.
func compareTwo(ctx context.Context, x *Processor, q *revisit.Twice, release func(fetch.Observation)) {
	res, body, err := again(ctx, x, q.URL, volatile.MaxBody, release)
	if err == nil {
		TwoAnswers(x, q, res, body)
	}
}

// again requests a document of at most so many bytes once more, in the turn that another URL has.
func again(
	ctx context.Context, x *Processor, u site.URL, most int64, release func(fetch.Observation),
) (*fetch.Result, []byte, error) {
	x.Counts.CountAside()
	res, body, err := x.Chain.Origin.Again(ctx, u, x.Pacer.Gap(u.Origin()), most)
	release(fetch.Observe(res, err))
	x.Counts.Wire.Add(res.Wire)
	return res, body, err
}

// TwoAnswers takes the second answer to a page that was requested twice.
func TwoAnswers(x *Processor, q *revisit.Twice, res *fetch.Result, body []byte) {
	if res.Status != http.StatusOK {
		return
	}
	if x.SkipPlan.Noise.Answered(q, answerOf(q.URL, &res.Head, body, x.Now())) {
		x.Log.Info("places learned at which answers differ", "url", q.URL.String())
		x.Notes.Add(learnedPlaces, q.URL)
	}
	if id, known := x.Table.FindURL(q.URL); known && q.Blames(x.SkipPlan.Noise.Known(q.URL)) {
		x.SkipPlan.Validators.NoteStale(id, q.URL)
	}
}

// Second takes the answer to a question of session ids.
func (x *Processor) Second(q frontier.SecondRequest, res *fetch.Result, body []byte) {
	second := new(frontier.Second)
	switch {
	case res.Status == 200:
		p := <-x.read.procs
		defer p.giveTo(x.read.procs)
		second = secondOf(x.read, p, q.URL, res, body)
		defer p.forget()
	case (res.Status >= 300) && !res.Location.IsZero():
		second.URLs = []site.URL{x.Rules.Main(res.Location)}
	}
	if x.Admission.Sessions.Answered(q, second) {
		x.Log.Info("session id learned", "kind", q.Kind, "url", q.URL.String())
		x.Notes.Cap(fmt.Sprintf(learnedSession, q.Kind))
	}
}

// secondOf reads a document that was requested once more. What it returns refers to the body and the
// processor.
func secondOf(
	r *reading, p *documentReader, u site.URL, res *fetch.Result, body []byte,
) *frontier.Second {
	x := p.read.Read(&parse.Body{
		URL:     u,
		MIME:    res.MIME,
		Charset: res.Charset,
		Data:    body,
		Links:   res.Links(),
		Refresh: res.Refresh(),
		Now:     r.Now(),
	})
	out := &frontier.Second{URLs: []site.URL{}, Body: body[:min(len(body), mostChainText)]}
	if x.Doc != nil {
		out.Links = x.Doc.Links
	}
	for i := range x.Candidates {
		if c := &x.Candidates[i]; !c.Guess {
			out.URLs = append(out.URLs, site.Canonical(string(r.Rules.MainOf(c.URL))))
		}
	}
	return out
}

// Folded makes a redirect, without a request, of a URL for which another one stands, and says why.
func (x *Processor) Folded(rec *record.Resource, to site.URL, why string) (f Found, ok bool) {
	as := urls.Account{}
	id, ok := x.redirectTarget(rec, scope.Candidate{URL: []byte(to.String()), Exact: true}, 1, &as)
	if !ok || (id == rec.ID) {
		return f, false
	}
	if rec.InSet || (rec.Target != id+1) {
		rec.Moved = x.Version
	}
	if rec.InSet {
		as.Room = urls.RoomOf(rec).Neg()
	}
	rec.Outcome, rec.Status, rec.Failures, rec.Gone, rec.Answer = site.Redirected, 0, 0, 0, nil
	rec.InSet, rec.Fragment = false, ""
	rec.Target, rec.Reason = id+1, why+to.String()
	f.Finding = urls.WithoutLinks(rec, as)
	f.Finding.Targets = []uint32{id}
	return f, true
}
