// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/zeebo/xxh3"

	"mirrord/fetch"
	"mirrord/internal/volatile"
	"mirrord/mirror/frontier"
	"mirrord/mirror/source"
	"mirrord/site"
)

// audits is how many pairs of pages a run compares that are one because a part of their URLs does not matter.
const audits = 1

// auditAlike compares a few of these, other ones in each run. Of two that differ one is requested again: it
// may differ from itself.
func auditAlike(ctx context.Context, r *crawling) error {
	type pair struct {
		by   uint64
		u, v site.URL
	}
	var some []pair
	t := r.Table.Settled()
	for id, s := range t.All() {
		if !s.Given() || s.InSet() || (s.Outcome() != site.Redirected) || (s.Referrer() == 0) {
			continue
		}
		u := t.URL(id)
		to, why := r.sessions.Main(u)
		if main, ok := t.Find([]byte(to.String())); (why != frontier.SameParts) || !ok || !t.State(main).InSet() {
			continue
		}
		by := xxh3.HashString(fmt.Sprint(r.Run.Number, u))
		some = append(some, pair{by, u, to})
		slices.SortFunc(some, func(a, b pair) int { return cmp.Compare(a.by, b.by) })
		some = some[:min(len(some), audits)]
	}
	for _, p := range some {
		a, aok := r.second(ctx, p.u)
		b, bok := r.second(ctx, p.v)
		if !aok || !bok || frontier.SayAlike(p.u, p.v, a, b) {
			continue
		}
		again, ok := r.second(ctx, p.v)
		if ok && frontier.SayAlike(p.v, p.v, b, again) {
			r.sessions.Differ(p.u)
		}
	}
	return nil
}

// second requests a page beside those of the run.
func (r *crawling) second(ctx context.Context, u site.URL) (*frontier.Second, bool) {
	if !mayRequest(r.Retrieval, u) || r.stopped() {
		return nil, false
	}
	var body source.PageSink
	req := fetch.Request{URL: u, MaxBody: volatile.MaxBody, NoRetry: true}
	res, err := newAsker(r.Retrieval).Exchange(ctx, req, &body)
	if (err != nil) || (res == nil) || (res.Status != http.StatusOK) {
		return nil, false
	}
	plain := r.skipPlan.Noise.Known(u).Masked(body.Bytes()).Body
	return &frontier.Second{Body: plain}, true
}
