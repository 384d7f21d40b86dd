// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math"
	"testing"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// How much of the changes a sitemap shows is learned from the changes that were found, and kept; beside a
// plan that weighs, what it shows nothing new of is then neither skipped as unchanged nor requested as if
// nothing had been said.
func TestRecallOfASitemap(t *testing.T) {
	const now = "2026-04-01"
	e, recs := listening(t, 100, 21, nil)
	e.Plan = planned(t, 20, nil)
	e.Begin()
	hearSitemap(t, e, sitemapOf(100, now))
	remember(e, recs)
	if _, err := e.TrustToKeep(); err != nil || e.learned {
		t.Fatalf("nothing has changed, and something was learned: %v", err)
	}
	moved := sitemapOf(100, now)
	for id := range 6 { // six of ten changes show
		moved.Entries[id].LastMod = "2026-04-20"
	}
	hearSitemap(t, e, moved)
	for id := range 10 {
		changed := recs.of[id]
		changed.Outcome = site.Fetched
		e.For(&changed, false)
	}
	fact, err := e.TrustToKeep()
	if err != nil || fact == nil {
		t.Fatalf("%s, %v", fact, err)
	}

	next, _ := listening(t, 100, 22, fact)
	next.Records = recs
	plain := planned(t, 20, nil)
	next.Plan = planned(t, 20, nil)
	next.Begin()
	hearSitemap(t, next, sitemapOf(100, now))
	const hidden = 4.5 / 11
	if got := next.doubts(urls.BySitemap); math.Abs(got-hidden) > 1e-9 {
		t.Errorf("it hides %.3f of the changes, want %.3f", got, hidden)
	}
	var audits Audits
	audits[urls.BySitemap] = next.PickAudits(urls.BySitemap)
	covered, caught, _, err := next.Decide(audits)
	if err != nil || len(covered)+len(caught)+len(audits[urls.BySitemap]) > 0 {
		t.Errorf("%d are covered, %d caught, %v audited, %v", len(covered), len(caught), audits, err)
	}
	p, got := float64(plain.Reason(50).Expected), float64(next.Plan.Reason(50).Expected)
	if want := p * hidden / (1 - p + p*hidden); math.Abs(got-want) > 1e-5 {
		t.Errorf("%.6f changes are expected of a page that did not move, want %.6f", got, want)
	}

	// Without a plan it is believed, with audits, as before.
	alone, _ := listening(t, 100, 22, fact)
	alone.Records = recs
	alone.Begin()
	hearSitemap(t, alone, sitemapOf(100, now))
	if n := len(alone.PickAudits(urls.BySitemap)); n != leastAudits {
		t.Errorf("%d audits without a plan", n)
	}
}

// A sitemap that has become truthful is believed again.
func TestRecallIsForgotten(t *testing.T) {
	var x trust
	x.found(false, recallMemory)
	if x.hides() < 0.5 {
		t.Errorf("after one change that it hid: %.2f", x.hides())
	}
	n := 0
	for x.hides() > 0 && n < 1000 {
		x.found(true, recallMemory)
		n++
	}
	if n < 20 || n > 200 {
		t.Errorf("it is believed after %d changes that it showed", n)
	}
}
