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
	if err != nil || !got.Met || got.Whole.Requests > half || got.Trial == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	below, err := AtPrice(h, o, got.Price/stepRatio)
	if err != nil || below.Whole.Requests <= half {
		t.Errorf("%v at %v, and %v at %v keeps to %v too: %v", got.Whole.Requests, got.Price,
			below.Whole.Requests, below.Price, half, err)
	}
	late := Goal{Late: time.Duration((*cheap.Whole.Late + *dear.Whole.Late) / 2 * float64(time.Hour))}
	if got, err = Tune(h, o, late, goOn); err != nil || !got.Met || *got.Whole.Late > late.Late.Hours() ||
		got.Whole.Requests > dear.Whole.Requests {
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

// How near a price that was tuned on the first half of a recorded history comes to its goal on the other.
// Sites change their ways: the bound is for the middling one.
func TestTuneOnRecordedSites(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it replays 13 sites many times: MIRRORD_LONG=1 runs it")
	}
	var off []float64
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
			x := got.Trial.Late.Requests/goal - 1
			off = append(off, math.Abs(x))
			t.Logf("%-12s at most %4.0f requests: price %.5f; tried on the later half: %+.0f %%", site, goal,
				got.Price, 100*x)
		}
	}
	slices.Sort(off)
	if mid := off[len(off)/2]; mid > 0.15 {
		t.Errorf("the middling one is %.0f %% off", 100*mid)
	}
}
