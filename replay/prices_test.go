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
		got.MaxRequests != int(math.Ceil(half)) {
		t.Fatalf("%+v, %v", got, err)
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

// weeks are what adaptive requests at a price in the first half of the steps and in the other: the mean, and
// its standard error as a part of it, as if the steps were drawn at random.
func weeks(h *History, price float64) (means, spreads [2]float64, err error) {
	var asked []float64
	o := Options{Price: price, After: func(w *World) { asked = append(asked, float64(w.Requests())) }}
	_, err = Run(h, o)
	half := (len(asked) + 1) / 2
	for i, part := range [...][]float64{asked[:half], asked[half:]} {
		n, square := float64(len(part)), 0.0
		for _, x := range part {
			means[i] += x / n
		}
		for _, x := range part {
			square += (x - means[i]) * (x - means[i])
		}
		spreads[i] = math.Sqrt(square/(n-1)/n) / means[i]
	}
	return means, spreads, err
}

// How near a price that was tuned on the first half of a recorded history comes to its goal on the other,
// with the limit that belongs to it and without: the middling one within 15 %. How many can be expected to by
// the price alone is what weeks that are drawn at random come to, with nothing to foresee them by.
func TestTuneOnRecordedSites(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it replays 13 sites many times: MIRRORD_LONG=1 runs it")
	}
	var off, alone []float64
	chance := 0.0
	for _, site := range sharedSites() {
		h := sharedHistory(t, site)
		if h == nil {
			return
		}
		o := Options{Train: DefaultTrain}
		p, err := AtPrice(h, o, 0.001)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range []float64{0.2, 0.35} {
			goal := share * p.Whole.Requests / p.Whole.OfFull
			got, err := Tune(h, o, Goal{Requests: goal}, goOn)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Met {
				continue
			}
			free, spread, err := weeks(h, got.Trial.Price)
			if err != nil {
				t.Fatal(err)
			}
			x, y := got.Trial.Late.Requests/goal-1, free[1]/goal-1
			off, alone = append(off, math.Abs(x)), append(alone, math.Abs(y))
			chance += math.Erf(0.15 / math.Hypot(spread[0], spread[1]) / math.Sqrt2)
			t.Logf("%-12s at most %4.0f requests: price %.5f; on the later half %+.0f %%, by the price alone "+
				"%+.0f %%, where chance makes %.0f %%", site, goal, got.Trial.Price, 100*x, 100*y,
				100*math.Hypot(spread[0], spread[1]))
		}
	}
	within := func(xs []float64) (n int) {
		for _, x := range xs {
			if x <= 0.15 {
				n++
			}
		}
		return n
	}
	t.Logf("within 15 %%: %d of %d, by the price alone %d, where %.1f are to be expected", within(off), len(off),
		within(alone), chance)
	slices.Sort(off)
	if mid := off[len(off)/2]; mid > 0.15 || within(off) <= within(alone) {
		t.Errorf("the middling one is %.0f %% off, %d within 15 %%, %d by the price alone", 100*mid, within(off),
			within(alone))
	}
}
