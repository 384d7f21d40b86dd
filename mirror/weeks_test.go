// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mirrord/evolution/policy"
	jobfile "mirrord/job"
	"mirrord/replay"
)

const weeksOfHistory = 18

// weeksHistory is a site of which most never changes: archives of 25 years, manuals of which three are edited
// in every second, third and fourth week, and news, of which three pages come and three are corrected in each
// week. One page of two archives is corrected, once.
func weeksHistory(tb testing.TB) *replay.History {
	rng := rand.New(rand.NewPCG(1996, 2007))
	var b replay.Builder
	for week := range weeksOfHistory {
		records := map[string]replay.Record{}
		put := func(format string, args ...any) {
			p := fmt.Sprintf(format, args...)
			records[p] = replay.Record{Path: p, Size: 900, Blob: fmt.Sprintf("%08x%08x", len(p), week)}
		}
		fill := func(n int, format string, args ...any) {
			for i := range n {
				put(format, append(slices.Clone(args), i)...)
			}
		}
		some := func(n, of int, format string, args ...any) {
			for _, i := range rng.Perm(of)[:n] {
				put(format, append(slices.Clone(args), i)...)
			}
		}
		put("index.html")
		news := 40 + 3*week
		if week == 0 {
			fill(news, "news/n%d.html")
			fill(10, "about/a%d.html")
			for year := range 25 {
				fill(10, "archive/%d/p%d.html", 1999+year)
			}
			for m := range 10 {
				fill(30, "manuals/m%d/c%d.html", m)
			}
		} else {
			some(3, news-3, "news/n%d.html")
			for i := range 3 {
				put("news/n%d.html", news-1-i)
			}
		}
		for _, every := range []int{2, 3, 4} {
			if week > 0 && week%every == 0 {
				some(4, 30, "manuals/m%d/c%d.html", every)
			}
		}
		if week == 8 || week == 14 {
			put("archive/%d/p7.html", 1995+week)
		}
		var list []replay.Record
		for _, r := range records {
			list = append(list, r)
		}
		slices.SortFunc(list, func(x, y replay.Record) int { return cmp.Compare(x.Path, y.Path) })
		if err := b.Add(time.Date(2025, 1, 6+7*week, 3, 0, 0, 0, time.UTC), "", list); err != nil {
			tb.Fatal(err)
		}
	}
	return b.History()
}

// The default knows the rules that a mirror knows which requests everything, and none that it does not.
func TestRulesOfTheDefault(t *testing.T) {
	t.Parallel()
	h := weeksHistory(t)
	weekly := func(j *jobfile.Job) { j.FullRuns, j.Adaptive.LearnFor, j.Schedule = 3, "", "0 3 * * 1" }
	full := keep(t, newHistoryServer(h), policy.Full, weeksOfHistory, weekly).rules
	of := keep(t, newHistoryServer(h), policy.Adaptive, weeksOfHistory, weekly).rules
	if len(full) < 30 || len(of) < len(full)-2 {
		t.Errorf("%d rules, %d when everything is requested", len(of), len(full))
	}
	for dir, r := range of {
		if _, known := full[dir]; !known {
			t.Errorf("%s has a rule that requesting everything contradicts: %s", dir, r.Why)
		}
		if r.Estimate == nil || r.Estimate.Seen >= weeksOfHistory-1 {
			t.Errorf("%s: seen in all steps: %+v", dir, r.Estimate)
		}
	}
}
