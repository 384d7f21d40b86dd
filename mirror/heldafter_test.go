// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// takenOver is a site of a hub whose domain had another owner for one run, which was held back.
func takenOver(t *testing.T) (w *mirrortest.Web, m *mirrortest.Mirror) {
	w = mirrortest.Start(t)
	hub(w, 20)
	m = mirrortest.New(t, w, job())
	noon, begun := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), time.Now()
	var later atomic.Int64
	m.Now = func() time.Time {
		return noon.Add(time.Since(begun) + time.Duration(later.Add(1))*time.Microsecond)
	}
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, false)
	w.Clear()
	var links strings.Builder
	for i := range 15 {
		p := fmt.Sprintf("/sale%02d.html", i)
		fmt.Fprintf(&links, "<a href=%q>buy %d</a>\n", p, i)
		w.Set(home+p, mirrortest.HTML(fmt.Sprintf("Sale %d", i), fmt.Sprintf("<p>article %d", i)))
	}
	w.Set(home+"/", mirrortest.HTML("This domain is for sale", links.String()))
	w.Set(home+"/page03.html", mirrortest.HTML("Sale 3", "<p>article 3"))
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
	w.Clear()
	w.Requests()
	return w, m
}

// When the site is as it was before a run that was held back, nothing is requested that only that run found,
// and nothing has changed.
func TestHeldBackLeavesNothingBehind(t *testing.T) {
	w, m := takenOver(t)
	hub(w, 20)
	for range 2 {
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	for u := range w.Asked() {
		if strings.Contains(u, "/sale") {
			t.Errorf("%s was requested", u)
		}
	}
	withSite(t, m, func(_ *store.State, s *store.Site) {
		last := 0
		err := s.Records.Observations(func(o *record.Observation) error {
			if last++; last > 1 && !o.Doubtful && len(o.Changed)+len(o.Entered)+len(o.Left) > 0 {
				t.Errorf("run %d: %d changed, %d entered, %d left", o.Run, o.Changed.Len(), o.Entered.Len(),
					o.Left.Len())
			}
			return nil
		})
		if err == nil {
			err = s.Records.Resources(func(rec *record.Resource) error {
				if rec.Recent != 0 {
					t.Errorf("%s: changes %b of %d looks", rec.URL, rec.Recent, rec.Observed)
				}
				if rec.InSet && strings.Contains(rec.URL.Path(), "/sale") {
					t.Errorf("%s is in the mirror", rec.URL)
				}
				return nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
