// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// inGone is a bubble with the default time between two looks at a page that is gone. run makes the run of the
// next day.
func inGone(
	t *testing.T, keys string,
	f func(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror, run func() *mirror.Summary),
) {
	t.Helper()
	inBubble(t, job(keys), func(t *testing.T, w *mirrortest.Web, _ *mirrortest.Fake, m *mirrortest.Mirror) {
		m.Confirm = 5 * time.Minute
		hub(w, 60)
		f(t, w, m, func() *mirror.Summary {
			time.Sleep(24 * time.Hour)
			w.Requests()
			return m.Run()
		})
	})
}

// A site that answers 404 for a minute loses nothing; removed pages leave in the next run, also under a plan.
func TestGoneIsConfirmedByTheNextRun(t *testing.T) {
	for _, policy := range []string{"full", "adaptive"} {
		t.Run(policy, func(t *testing.T) {
			keys := fmt.Sprintf("policy = %q\npolite.delay = \"250ms\"", policy)
			inGone(t, keys, confirmedByTheNextRun)
		})
	}
}

func confirmedByTheNextRun(
	t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror, run func() *mirror.Summary,
) {
	for range 5 { // enough for a plan
		run()
	}
	files := len(m.Paths())
	w.Set(home+"/", mirrortest.HTML("Home", "new "+w.Page(home+"/").Body)) // its links are new for a plan
	pages := map[string]mirrortest.Page{}
	deploy := names(60, home+"/page%02d.html")
	for _, u := range deploy {
		pages[u] = w.Page(u)
		w.Remove(u)
	}
	s := run()
	if s.Verdict != mirror.Complete || s.Gaps.Count > 0 {
		t.Errorf("pages that are gone are no gaps:\n%s", mirrortest.Text(s))
	}
	if n := len(m.Paths()); n != files || s.Removed > 0 || s.Gone > 0 {
		t.Errorf("a deploy removed %d of %d files:\n%s", files-n, files, mirrortest.Text(s))
	}
	asked := len(w.Requests())
	for u, p := range pages {
		w.Set(u, p)
	}
	if s = run(); s.Verdict != mirror.Complete || len(m.Paths()) != files {
		t.Errorf("after the deploy:\n%s", mirrortest.Text(s))
	}
	if again := len(w.Requests()); again < asked {
		t.Errorf("%d requests in the deploy, %d after it", asked, again)
	}
	dead := []string{home + "/page07.html", home + "/page08.html"}
	for _, u := range dead {
		w.Remove(u)
	}
	for n := 0; n < 20 && len(m.Paths()) == files; n++ {
		doubtful := strings.Contains(m.Outcomes()[dead[0]], "second look")
		s = run()
		if is := m.Outcomes()[dead[0]]; doubtful && is != "gone" {
			t.Errorf("the next run found it %q", is)
		}
	}
	if s.Gone == 0 || s.Removed == 0 {
		t.Errorf("gone pages do not leave:\n%s", mirrortest.Text(s))
	}
}

// A run that lasts long enough looks again itself, never sooner than after five minutes, and does not
// wait for that.
func TestGoneIsConfirmedInALongRun(t *testing.T) {
	keys := "polite.delay = \"10s\"\npolite.connections = 1\npolicy = \"full\""
	inGone(t, keys, func(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror, run func() *mirror.Summary) {
		run()
		first, last := home+"/page03.html", home+"/page57.html"
		w.Remove(first)
		w.Remove(last)
		start := time.Now()
		s := run()
		if s.Removed != 1 || s.Gone != 1 {
			t.Error(mirrortest.Text(s))
		}
		at := map[string][]time.Time{}
		for _, r := range w.Requests() {
			at[r.URL] = append(at[r.URL], r.At)
		}
		if looks := at[first]; len(looks) != 2 || looks[1].Sub(looks[0]) < 5*time.Minute {
			t.Errorf("looks at %v", looks)
		}
		if len(at[last]) != 1 {
			t.Errorf("%d looks at a page that was found gone late", len(at[last]))
		}
		if d := time.Since(start) - 24*time.Hour; d > 12*time.Minute {
			t.Errorf("the run took %v", d)
		}
		if s = run(); s.Removed != 1 || s.Gone == 0 {
			t.Error(mirrortest.Text(s))
		}
	})
}

// What leaves the mirror is not said to stay until a second look: neither what that look confirmed in the
// same run, nor do unlinked ones.
func TestNoteOfASecondLook(t *testing.T) {
	const stays = "stays until a second look"
	dead := []string{home + "/page07.html", home + "/page08.html"}
	leaves := func(t *testing.T, s *mirror.Summary, gone int64) {
		t.Helper()
		wantCounts(t, s, 2, gone)
		if text := mirrortest.Text(s); strings.Contains(text, stays) {
			t.Error(text)
		}
	}
	// the second look is that of the next run, or of the same one when that takes six minutes
	for delay, runs := range map[string]int{"250ms": 2, "6s": 1} {
		inGone(t, fmt.Sprintf("policy = \"full\"\npolite.delay = %q", delay), func(
			t *testing.T, w *mirrortest.Web, _ *mirrortest.Mirror, run func() *mirror.Summary,
		) {
			run()
			for _, u := range dead {
				w.Remove(u)
			}
			if runs > 1 {
				s := run()
				wantText(t, s, stays+" (2, such as "+dead[0])
				wantText(t, s, "; 2 URLs answer 404 or 410 for the first time (")
				wantCounts(t, s, 0, 0)
				wantSum(t, s, 2)
			}
			s := run()
			leaves(t, s, 2)
			wantSum(t, s, 0)
		})
	}
	inGone(t, "policy = \"full\"\npolite.delay = \"250ms\"", func(
		t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror, run func() *mirror.Summary,
	) {
		run()
		hubPage(w, 58)
		w.Remove(home + "/page58.html")
		leaves(t, run(), 0)
	})
}

// A second look is at the URLs alone that answered 404 for the first time: removed pages leave, and what came
// back stays. It is no look at the whole site.
func TestSecondLook(t *testing.T) {
	for _, policy := range []string{"full", "adaptive"} {
		inGone(t, fmt.Sprintf("policy = %q", policy), func(
			t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror, run func() *mirror.Summary,
		) {
			run()
			dead, back := home+"/page07.html", home+"/page08.html"
			page := w.Page(back)
			w.Remove(dead)
			w.Remove(back)
			wantSum(t, run(), 2)
			w.Set(back, page)
			w.Asked()
			time.Sleep(30 * time.Minute) // in a bubble
			s, err := m.RunWith(t.Context(), func(o *mirror.Options) { o.Again = true })
			if err != nil {
				t.Fatal(err)
			}
			asked := w.Asked()
			delete(asked, home+"/robots.txt")
			if want := map[string]int{dead: 1, back: 1}; !maps.Equal(asked, want) {
				t.Errorf("%s: asked %v, want %v", policy, asked, want)
			}
			wantVerdict(t, s, mirror.Complete, true)
			wantCounts(t, s, 1, 1)
			wantSum(t, s, 0)
			if last(t, m).Complete {
				t.Errorf("%s: it counts as a look at all", policy)
			}
			wantVerdict(t, run(), mirror.Complete, false)
		})
	}
}

// wantSum checks how many URLs are gone at first sight, and that each request of a run is in one count.
func wantSum(t *testing.T, s *mirror.Summary, first int64) {
	t.Helper()
	sum := s.Fetched + s.Unchanged + s.Redirected + s.Gone + s.FirstGone + s.Failed + s.Refused + s.Other
	if (s.FirstGone != first) || (sum != s.Requests) {
		t.Errorf("%d gone at first sight, want %d; %d requests are in a count, of %d:\n%s", s.FirstGone, first,
			sum, s.Requests, mirrortest.Text(s))
	}
}

// wantCounts checks how many files left, and how many URLs are gone.
func wantCounts(t *testing.T, s *mirror.Summary, removed int, gone int64) {
	t.Helper()
	if (s.Removed != removed) || (s.Gone != gone) {
		t.Errorf("%d removed, %d gone, want %d and %d:\n%s", s.Removed, s.Gone, removed, gone,
			mirrortest.Text(s))
	}
}
