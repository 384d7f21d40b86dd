// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// weeklySite is a made-up site: in two weeks of three a post comes, its section and the entry page change,
// and an old page does.
func weeklySite(t *testing.T, weeks int) *History {
	t.Helper()
	rnd := rand.New(rand.NewPCG(17, 4))
	at := time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC)
	var b Builder
	blob := 0
	record := func(path string) Record {
		blob++
		return Record{Path: path, Size: 100, Blob: fmt.Sprint(blob)}
	}
	var pages []string
	for s := range 8 {
		for p := range 12 {
			pages = append(pages, fmt.Sprintf("s%d/p%02d.html", s, p))
		}
	}
	pages = append(pages, "index.html")
	for w := range weeks {
		var rs []Record
		if w == 0 {
			for _, p := range pages {
				rs = append(rs, record(p))
			}
		} else if w%3 > 0 { // every third week is quiet
			post := fmt.Sprintf("s0/w%03d.html", w)
			rs = append(rs, record(post), record("index.html"), record("s0/p00.html"))
			if old := pages[rnd.IntN(len(pages)-1)]; old != "s0/p00.html" {
				rs = append(rs, record(old))
			}
		}
		slices.SortFunc(rs, func(a, b Record) int { return strings.Compare(a.Path, b.Path) })
		if err := b.Add(at.AddDate(0, 0, 7*w), "", rs); err != nil {
			t.Fatal(err)
		}
	}
	return b.History()
}

func goOn() error { return nil }

// A price that is tuned keeps to its goal, and the next lower, or higher, one does not.
func TestTune(t *testing.T) {
	h, o := weeklySite(t, 60), Options{Train: 10}
	cheap, err := AtPrice(h, o, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	dear, err := AtPrice(h, o, 0.0001)
	if err != nil {
		t.Fatal(err)
	}
	if cheap.Whole.Steps != 50 || cheap.Early.Steps != 25 || cheap.Whole.Requests >= dear.Whole.Requests ||
		*cheap.Whole.Late <= *dear.Whole.Late || *cheap.Whole.Found >= *dear.Whole.Found {
		t.Fatalf("cheap %+v, dear %+v", cheap.Whole, dear.Whole)
	}
	half := (cheap.Whole.Requests + dear.Whole.Requests) / 2
	got, err := Tune(h, o, Goal{Requests: half}, goOn)
	if err != nil || !got.Met || got.Whole.Requests > half || got.Trial == nil ||
		got.MaxRequests > int(half) || float64(got.MaxRequests) < 0.85*half {
		t.Fatalf("%v requests a run, limit %d, met %v, %v: want %v", got.Whole.Requests, got.MaxRequests, got.Met,
			err, half)
	}
	below, err := AtPrice(h, o, got.Price/stepRatio)
	if err != nil || below.Whole.Requests <= half {
		t.Errorf("%v at %v, and %v at %v keeps to %v too: %v", got.Whole.Requests, got.Price,
			below.Whole.Requests, below.Price, half, err)
	}
	late := Goal{Late: time.Duration((*cheap.Whole.Late + *dear.Whole.Late) / 2 * float64(time.Hour))}
	if got, err = Tune(h, o, late, goOn); err != nil || !got.Met || *got.Whole.Late > late.Late.Hours() ||
		got.Whole.Requests > dear.Whole.Requests || got.MaxRequests != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = Tune(h, o, Goal{Requests: 0.5}, goOn); err != nil || got.Met {
		t.Errorf("half a request a run: %+v, %v", got, err)
	}
	if got, err = Tune(weeklySite(t, 14), o, Goal{Requests: half}, goOn); err != nil || got.Trial != nil {
		t.Errorf("with four steps: %+v, %v", got, err)
	}
	if _, err = Tune(weeklySite(t, 10), o, late, goOn); !errors.Is(err, ErrTooShort) {
		t.Errorf("with nothing left to replay: %v", err)
	}
	if _, err = Tune(h, o, late, func() error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A site that begins to change more keeps to the number of requests that its price was tuned for, by the
// limit that belongs to the price.
func TestTunedForASiteThatComesAlive(t *testing.T) {
	at := time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC)
	var b Builder
	for w := range 60 {
		var rs []Record
		for p := range 100 {
			if every := 1 + p; w == 0 || (w > 35 && p < 60) || w%every == 0 {
				rs = append(rs, Record{Path: fmt.Sprintf("d%d/p%02d.html", p/10, p), Size: 100, Blob: fmt.Sprint(w)})
			}
		}
		if err := b.Add(at.AddDate(0, 0, 7*w), "", rs); err != nil {
			t.Fatal(err)
		}
	}
	const goal = 25
	h, o := b.History(), Options{Train: 10}
	got, err := Tune(h, o, Goal{Requests: goal}, goOn)
	if err != nil || got.Trial == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	alone, err := AtPrice(h, o, got.Trial.Price)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("price %.4f: %.1f requests a run in the later half, %.1f by the price alone", got.Trial.Price,
		got.Trial.Late.Requests, alone.Late.Requests)
	if alone.Late.Requests < 1.5*goal || got.Trial.Late.Requests > 1.15*goal {
		t.Errorf("%.1f requests a run, %.1f by the price alone: want at most %d", got.Trial.Late.Requests,
			alone.Late.Requests, goal)
	}
}

// The limit that belongs to a number of requests leaves room, in requests, for new pages, and for what runs
// have saved.
func TestLimitOfTunedRequests(t *testing.T) {
	steps := func(requests, fresh, quiet int) (out []stepFacts) {
		for i := range 40 {
			f := stepFacts{requests: requests + fresh, fresh: fresh}
			if i >= 40-quiet {
				f.requests = fresh
			}
			out = append(out, f)
		}
		return out
	}
	for _, c := range []struct {
		what                   string
		requests, fresh, quiet int
		want                   int
	}{
		{"all is used", 100, 0, 0, 100},
		{"a part is new", 80, 20, 0, 80},
		{"more is new than may be requested", 1, 200, 0, 1},
		{"one run was quiet", 100, 0, 1, 97},     // 100 - 97/40
		{"many were", 100, 0, 20, 85},            // 100 - 7*85/40
		{"and a part is new", 80, 20, 20, 68},    // 80 - 7*68/40
		{"less is used", 95, 0, 0, 97},           // 100 - 40*(97-95)/40 would be 98, and 98 leaves 40*3
		{"hardly anything is used", 0, 0, 0, 85}, // 100 - 7*85/40
	} {
		if got := (Goal{Requests: 100}).limit(steps(c.requests, c.fresh, c.quiet)); got != c.want {
			t.Errorf("%s: a limit of %d, want %d", c.what, got, c.want)
		}
	}
}

// A price for a lateness is raised as long as that saves requests, and a price that would have been late is
// not chosen.
func TestPriceIsRaisedForRequests(t *testing.T) {
	for _, c := range []struct {
		what   string
		saving float64 // by twice the price
		worst  float64 // prices of which this part is exceeded are late
		want   float64
	}{
		{"each doubling saves a tenth", 0.10, 0.1, 0.1},
		{"each doubling saves a fiftieth", 0.02, 0.1, 0.1 / 64},
		{"prices above the default are late", 0.02, 0.001, 0.001},
	} {
		x := tuner{goOn: func() error { return errors.New("nothing is to be replayed") }, seen: map[int]Priced{}}
		for step := range 200 {
			price := leastPrice * math.Pow(stepRatio, float64(step))
			f := stepFacts{full: 1000000, changes: 10, until: 100 * time.Hour}
			f.requests = int(900000 * math.Pow(1-c.saving, math.Log2(price/leastPrice)))
			if price > c.worst {
				f.stale = 10
			}
			p := Priced{Price: price, facts: []stepFacts{f, f, f, f}}
			p.Whole = stretchOf(p.facts)
			x.seen[step] = p
		}
		got, met, err := x.find(Goal{Late: time.Hour}, (*Priced).whole)
		if err != nil || !met || got.Price > c.want*1.1 || got.Price < c.want/1.1 {
			t.Errorf("%s: price %v, %v, %v: want %v", c.what, got.Price, met, err, c.want)
		}
	}
}

// One week in which everything changed and was found does not make up for all others, unless it comes again.
func TestLatenessWithoutTheLargestStep(t *testing.T) {
	for _, c := range []struct {
		rebuilds int
		hours    time.Duration
		want     bool
	}{{1, 24, false}, {1, 52, true}, {2, 24, true}} {
		var steps []stepFacts
		for i := range 20 {
			f := stepFacts{changes: 100, stale: 30, until: 168 * time.Hour} // 50.4 h late
			if i%10 == 5 && i/10 < c.rebuilds {
				f.changes = 6000
			}
			steps = append(steps, f)
		}
		if late := *stretchOf(steps).Late; late > 14 {
			t.Fatalf("the mean change is %.1f h late", late)
		}
		g := Goal{Late: c.hours * time.Hour}
		if got := g.fits(steps); got != c.want {
			t.Errorf("%v with %d weeks that change everything: fits %v, want %v", g.Late, c.rebuilds, got, c.want)
		}
	}
}

// A site that begins to change more keeps to the lateness that its price was tuned for better with the goal
// than by the price alone.
func TestTunedForASiteThatIsLate(t *testing.T) {
	at := time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC)
	var b Builder
	for w := range 80 {
		var rs []Record
		for p := range 200 {
			every := 4 + p
			if w > 40 { // the others change by themselves, each week other ones
				every = 9 + p%7
			}
			if w == 0 || (w+p*7)%every == 0 {
				rs = append(rs, Record{Path: fmt.Sprintf("d%d/p%03d.html", p/20, p), Size: 100, Blob: fmt.Sprint(w)})
			}
		}
		if err := b.Add(at.AddDate(0, 0, 7*w), "", rs); err != nil {
			t.Fatal(err)
		}
	}
	h, o, g := b.History(), Options{Train: 10}, Goal{Late: 12 * time.Hour}
	got, err := Tune(h, o, g, goOn)
	if err != nil || got.Trial == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	alone, err := AtPrice(h, o, got.Trial.Price)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("price %.4f: %.1f h late in the later half, %.1f h by the price alone", got.Trial.Price,
		*got.Trial.Late.Late, *alone.Late.Late)
	if *got.Trial.Late.Late >= *alone.Late.Late || *got.Trial.Late.Late > 1.15*12 {
		t.Errorf("%.1f h late, %.1f h by the price alone: want at most 12", *got.Trial.Late.Late, *alone.Late.Late)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// chance is the chance that the means of two halves of so many weeks are within 15 % of one another, if the
// weeks come in any order.
func chance(weeks []stepFacts) float64 {
	n, sum, square := float64(len(weeks)), 0.0, 0.0
	for _, f := range weeks {
		sum += float64(f.requests)
	}
	for _, f := range weeks {
		square += math.Pow(float64(f.requests)-sum/n, 2)
	}
	spread := math.Sqrt(square/(n-1)/(n/2)) / (sum / n) // of the mean of a half
	return math.Erf(0.15 / spread / 2)
}

// How near a price that was tuned on the first half of a recorded history gets to its goal on the other half,
// for numbers of requests with the limit that belongs to it and without, and for hours. How many can be
// expected to by the price alone is what weeks in any order come to.
func TestTuneOnRecordedSites(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it replays 13 sites many times: MIRRORD_LONG=1 runs it")
	}
	var goals, kept, alone [2]int // of requests, of hours
	expected, asked := 0.0, 0.0
	for _, site := range sharedSites() {
		h := sharedHistory(t, site)
		if h == nil {
			return
		}
		x := tuner{
			goOn: goOn,
			h:    h,
			o:    Options{Train: DefaultTrain},
			seen: map[int]Priced{},
		}
		p, err := AtPrice(h, x.o, 0.001)
		if err != nil {
			t.Fatal(err)
		}
		full := p.Whole.Requests / p.Whole.OfFull
		for _, g := range []Goal{
			{Requests: full / 5},
			{Requests: full * 7 / 20},
			{Late: 6 * time.Hour},
			{Late: 12 * time.Hour},
			{Late: 24 * time.Hour},
			{Late: 48 * time.Hour},
		} {
			x := x
			if g.Late > 0 {
				x.o.Late, x.seen = g.Late, map[int]Priced{}
			}
			p, met, err := x.find(g, (*Priced).early)
			if err != nil {
				t.Fatal(err)
			}
			if !met {
				t.Logf("%-11s no price gives %v", site, g)
				continue
			}
			free, err := AtPrice(h, x.o, p.Price)
			if err != nil {
				t.Fatal(err)
			}
			if g.Requests > 0 {
				off, by := p.Late.Requests/g.Requests-1, free.Late.Requests/g.Requests-1
				goals[0], expected = goals[0]+1, expected+chance(free.facts)
				kept[0], alone[0] = kept[0]+boolInt(math.Abs(off) <= 0.15), alone[0]+boolInt(math.Abs(by) <= 0.15)
				t.Logf("%-11s at most %5.0f requests: price %.5f, later %+3.0f %%, without limit %+3.0f %%", site,
					g.Requests, p.Price, 100*off, 100*by)
				continue
			}
			late := 0.0
			if p.Late.Late != nil {
				late = *p.Late.Late
			}
			goals[1]++
			is := late <= 1.15*g.Late.Hours()
			kept[1] += boolInt(is)
			asked += p.Late.OfFull
			t.Logf("%-11s at most %2.0f h late: price %.5f, later %5.1f h at %4.1f %% of the requests: %v", site,
				g.Late.Hours(), p.Price, late, 100*p.Late.OfFull, is)
		}
	}
	t.Logf("requests within 15 %%: %d of %d, by the price alone %d, where %.1f are to be expected", kept[0],
		goals[0], alone[0], expected)
	asked /= float64(max(1, goals[1]))
	t.Logf("hours kept to within 15 %%: %d of %d, for %.1f %% of the requests in the mean", kept[1], goals[1],
		100*asked)
	// Missed are goals of sites that calm down, or whose first half had no change that was found late.
	if kept[0]*10 < goals[0]*9 || kept[0] <= alone[0] || kept[1]*10 < goals[1]*9 || asked > 0.3 {
		t.Error("want 90 % of the requests, more than by the price alone, and 90 % of the hours for 30 %")
	}
}
