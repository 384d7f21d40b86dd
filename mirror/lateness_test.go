// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/evolution/policy"
	jobfile "mirrord/job"
	"mirrord/replay"
)

// restlessHistory is a site of which a price leaves much for later: the pages of ten directories that each
// change by themselves, some often and some hardly ever, a manual that is made again every eighth week, and
// news with a front page that shows that something happened. Every fifth week is quiet.
func restlessHistory(tb testing.TB, weeks int) *replay.History {
	tb.Helper()
	var b replay.Builder
	for week := range weeks {
		var records []replay.Record
		put := func(format string, args ...any) {
			p := fmt.Sprintf(format, args...)
			records = append(records, replay.Record{Path: p, Size: 900, Blob: fmt.Sprintf("%s of week %d", p, week)})
		}
		quiet := week%5 == 3
		for page := range 200 {
			every := 4 + page
			if week == 0 || !quiet && (week+page*7)%every == 0 {
				put("d%d/p%03d.html", page%10, page)
			}
		}
		for page := range 40 {
			if week == 0 || week%8 == 6 {
				put("manual/m%02d.html", page)
			}
		}
		if !quiet {
			put("news/n%03d.html", week)
			put("news/front.html")
		}
		slices.SortFunc(records, func(a, b replay.Record) int { return strings.Compare(a.Path, b.Path) })
		if err := b.Add(time.Date(2025, 1, 6+7*week, 0, 0, 0, 0, time.UTC), "", records); err != nil {
			tb.Fatal(err)
		}
	}
	return b.History()
}

// bothWays is how a mirror was kept over HTTP, and in a replay.
type bothWays struct {
	http     kept
	replayed replay.Priced
	full     float64 // requests of a full sync
}

func (x *bothWays) ofFull() float64 {
	return float64(x.http.requests) / float64(x.http.steps) / x.full
}

// keepBothWays syncs a site at a price, with a goal of lateness and a limit of requests, and replays the same
// versions. The requests are within a point of one another, and changes found as late within a fifth, or an
// eighth of the goal where they are found long before it.
func keepBothWays(
	t *testing.T, h, linked *replay.History, o replay.Options, price float64,
) (x bothWays) {
	t.Helper()
	x.http = keep(t, newHistoryServer(h), policy.Adaptive, len(linked.Versions), func(j *jobfile.Job) {
		j.Polite.Connections = 1
		j.Adaptive.Price, j.Adaptive.Late = price, o.Late
		j.Limits.MaxRequests, j.Limits.MaxSkip, j.Limits.MaxSkipTime = int64(o.MaxRequests), 0, "0"
	})
	var err error
	if x.replayed, err = replay.AtPrice(linked, o, price); err != nil {
		t.Fatal(err)
	}
	whole := x.replayed.Whole
	x.full = whole.Requests / whole.OfFull
	t.Logf("price %.4f, late %v, max_requests %d: %.1f%% of full, %.1f h late; in the replay %.1f%%, %.1f h",
		price, o.Late, o.MaxRequests, 100*x.ofFull(), late(x.http.weeks), 100*whole.OfFull, *whole.Late)
	got, goal := late(x.http.weeks), o.Late.Hours()
	if math.Abs(x.ofFull()-whole.OfFull) > 0.01 || math.Abs(got-*whole.Late) > max(got/5, goal/8) {
		t.Error("that is too far from one another")
	}
	return x
}

// A price and a goal of lateness that replays of the first runs propose are kept to over HTTP, in the runs
// that they were tuned for and in later ones, by as many requests as a replay makes. By a price that is too
// high for it, and no goal, changes are found later than with it. A limit of requests that is more than the
// goal needs changes nothing; one that is less wins over the goal, and what quiet runs leave of it is used
// by runs in which much has changed. Limits are tried with MIRRORD_LONG: TestBudgetCarriesOver of package
// revisit covers the rest.
func TestLatenessOverHTTP(t *testing.T) {
	t.Parallel()
	const syncs, goal = 31, 12 * time.Hour
	h := restlessHistory(t, syncs)
	linked := linkedHistory(t, h, syncs)
	o := replay.Options{Train: 1, Batch: 4} // a job of one connection has four requests waiting
	tuned, err := replay.Tune(linked, o, replay.Goal{Late: goal}, func() error { return nil })
	if err != nil || !tuned.Met {
		t.Fatalf("%+v, %v", tuned, err)
	}
	price := tuned.Trial.Price
	dear := keepBothWays(t, h, linked, o, 3*price)
	o.Late = goal
	sooner := keepBothWays(t, h, linked, o, 3*price)
	kept := keepBothWays(t, h, linked, o, price)
	most := 1.15 * goal.Hours()
	if early, later := kept.http.weeks[:15], kept.http.weeks[15:]; late(early) > most || late(later) > most {
		t.Errorf("%.1f h late, and %.1f h: want at most %v", late(early), late(later), goal)
	}
	if late(dear.http.weeks) <= late(sooner.http.weeks) {
		t.Errorf("%.1f h late with the goal, %.1f h by the price alone", late(sooner.http.weeks),
			late(dear.http.weeks))
	}

	if !long() {
		return
	}
	requests := kept.replayed.Whole.Requests
	o.MaxRequests = int(2 * requests)
	if x := keepBothWays(t, h, linked, o, price); math.Abs(x.ofFull()-kept.ofFull()) > 0.01 {
		t.Errorf("%.3f of full with twice the limit that is needed, %.3f without one", x.ofFull(), kept.ofFull())
	}
	for _, part := range []float64{1, 0.5} {
		o.MaxRequests = int(part * requests)
		x := keepBothWays(t, h, linked, o, price)
		sum, high := 0, 0
		for i, w := range x.http.weeks {
			made := int(w.requests) - w.entered
			sum, high = sum+made, max(high, made)
			if most := (i + 1) * (o.MaxRequests + 2); sum > most { // the entry page comes on top
				t.Errorf("%d requests in %d runs: want at most %d", sum, i+1, most)
			}
		}
		switch {
		case part == 1 && float64(high) < 1.5*float64(o.MaxRequests):
			t.Errorf("at most %d requests in a run: what quiet runs left of %d each was not used", high,
				o.MaxRequests)
		case part < 1 && late(x.http.weeks) <= goal.Hours():
			t.Errorf("%.1f h late with half of the requests that the goal takes", late(x.http.weeks))
		}
	}
}

// Where hubs say which pages have changed, changes are found at once, however long ago each page was last
// looked at: a goal of lateness then takes no more requests than the price does.
func TestLatenessWhereHubsTell(t *testing.T) {
	t.Parallel()
	says := []saying{dates, inFeed}
	if !long() {
		says = says[:1]
	}
	for _, s := range says {
		at := func(goal time.Duration) kept {
			k := keep(t, newNewsSite(s), policy.Adaptive, sized(16, 31), func(j *jobfile.Job) {
				j.Adaptive.Price, j.Adaptive.Late, j.Limits.MaxSkipTime = 0.1, goal, "0"
			})
			t.Logf("%-25s goal %v: %.1f requests a week, %.1f h late", s, goal,
				float64(k.requests)/float64(k.steps), late(k.weeks))
			return k
		}
		alone, kept := at(0), at(24*time.Hour)
		if kept.requests > alone.requests*11/10 || late(kept.weeks) > 24 {
			t.Errorf("%s: %d requests and %.1f h late with the goal, %d requests without it", s, kept.requests,
				late(kept.weeks), alone.requests)
		}
	}
}
