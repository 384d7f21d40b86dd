// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"os"
	"slices"
	"sort"
	"testing"
)

// atMost is what no policy exceeds on a site with a budget that is averaged over 8 runs, not even one that
// knows beforehand what changes and when: the CR that it reaches at most, with a purse that has the requests
// of so many runs before the first step, and the stale share that it leaves at least. As if it were told of
// pages that are gone, needed no listings, and had kept every content that a page ever had. For CR it spends
// what the purse has on the changes of the steps with the fewest, which is best, since what a purse can pay
// for is a polymatroid; for the stale share it might spend the budget of all steps whenever it likes, on the
// contents that stay longest.
func atMost(h *History, train int, share float64, saved int) (cr, stale float64) {
	type step struct{ at, changes, free int }
	var steps []step
	var owns []int
	var lives []float64 // of the contents that were new, as a sum over steps of the share of the site
	w := NewWorld(h, train)
	type held struct {
		page Page
		is   Content
	}
	had := map[held]bool{}
	for p, is := range w.Mirror {
		had[held{Page(p), is}] = true
	}
	since, sum, budget, n := map[Page]float64{}, 0.0, 0, 0
	for w.Step() {
		n++
		own := int(share * float64(w.FullCost()))
		owns = append(owns, own)
		if budget += own; n == 1 {
			budget += 7 * own
		}
		free := 0
		for _, c := range h.Versions[w.Now()].Changes {
			if from, ok := since[c.Page]; ok {
				lives = append(lives, sum-from)
				delete(since, c.Page)
			}
			if x := (held{c.Page, c.Content}); c.Content == Gone || had[x] {
				free++
			} else {
				had[x], since[c.Page] = true, sum
			}
		}
		if m := w.Measure(); m.Changes > 0 {
			steps = append(steps, step{n - 1, m.Changes, free})
		}
		sum += 1 / float64(w.Measure().Union)
	}
	for _, from := range since {
		lives = append(lives, sum-from)
	}
	// A request is worth one change among those of its step.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.changes, b.changes) })
	spent := make([]int, n)
	for _, s := range steps {
		asked := sort.Search(s.changes-s.free, func(x int) bool {
			spent[s.at] = x + 1
			return !affordable(owns, spent, saved)
		})
		spent[s.at] = asked
		cr += float64(s.free+asked) / float64(s.changes) / float64(len(steps))
	}
	slices.Sort(lives)
	for _, l := range lives[:max(0, len(lives)-budget)] {
		stale += l / float64(n)
	}
	return cr, stale
}

// affordable reports whether a purse to which steps add their own pays for what they spend.
func affordable(owns, spent []int, saved int) bool {
	purse := saved * owns[0]
	for i, own := range owns {
		if purse = min(purse+own, 8*own) - spent[i]; purse < 0 {
			return false
		}
	}
	return true
}

// What a budget can reach is known without any policy. On the recorded sites a third of the requests leaves
// more than 1 % stale in the mean, with any policy, since most of sass is made again in most weeks.
func TestWhatABudgetCanReach(t *testing.T) {
	sites := []string{"dplyr", "sass"}
	if os.Getenv("MIRRORD_LONG") != "" {
		sites = sharedSites()
	}
	var crs, fulls, stales, reached, known mean
	for _, site := range sites {
		h := sharedHistory(t, site)
		if h == nil {
			return
		}
		cr, stale := atMost(h, DefaultTrain, 0.3, 0)
		full, _ := atMost(h, DefaultTrain, 0.3, 7)
		fulls.add(full)
		t.Logf("%s: CR at most %.3f, %.3f with a purse that is full at first, stale at least %.4f", site, cr, full,
			stale)
		crs.add(cr)
		stales.add(stale)
		r, err := Run(h, Options{Price: -1, Budget: 0.3})
		if err != nil {
			t.Fatal(err)
		}
		if *r.Total.CR > cr+1e-9 || r.Total.Stale < stale-1e-9 {
			t.Errorf("%s: adaptive reaches CR %.4f and %.4f stale, which is better than can be", site, *r.Total.CR,
				r.Total.Stale)
		}
		reached.add(*r.Total.CR)
		if site == "sass" {
			known.add(cr)
		} else {
			known.add(*r.Total.CR)
		}
		if site == "sass" && (cr > 0.65 || full > 0.76 || stale < 0.14) {
			t.Errorf("sass: at most %.3f, at least %.3f", cr, stale)
		}
	}
	// With sass at the most that anybody reaches: what the policy would have to do there for a CR of .93.
	t.Logf("mean: CR %.3f, and %.3f with sass at its most", reached.value(), known.value())
	t.Logf("mean: CR at most %.3f, %.3f with a purse that is full at first, stale at least %.4f", crs.value(),
		fulls.value(), stales.value())
	if stales.value() <= 0.01 {
		t.Errorf("1 %% stale is within reach in the mean of %d sites", len(sites))
	}
}
