// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// A run that was interrupted and is too old to resume is closed: what it has is published, and the next one
// starts over in the same call.
func TestRunThatIsTooOld(t *testing.T) {
	for _, c := range []struct {
		schedule string
		after    time.Duration
		closed   bool
	}{
		{"@every 6h", 11 * time.Hour, false},
		{"@every 6h", 13 * time.Hour, true},
		{"30 3 * * *", 47 * time.Hour, false},
		{"30 3 * * *", 49 * time.Hour, true},
		{"@monthly", 6 * 24 * time.Hour, false},
		{"@monthly", 8 * 24 * time.Hour, true},
		{"", 8 * 24 * time.Hour, true},
	} {
		t.Run(fmt.Sprint(c.schedule, " ", c.after), func(t *testing.T) {
			toml := job(`polite.delay = "1s"`, fmt.Sprintf("schedule = %q", c.schedule))
			inBubble(t, toml, func(
				t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
			) {
				hub(w, 30)
				m.Set("limits.max_time", "20s")
				first := m.Run()
				wantVerdict(t, first, mirror.Partial, false)
				m.Set("limits.max_time", "0s")
				time.Sleep(c.after) // in a bubble
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, true)
				if resumed := s.Run == first.Run; resumed == c.closed {
					t.Errorf("it is run %d, after run %d", s.Run, first.Run)
				}
				if s.Files != 31 {
					t.Errorf("%d files", s.Files)
				}
				runs := runsOf(t, m)
				if n := len(runs); c.closed && (n < 3 || !runs[1].Closed || runs[1].Requests != 0) {
					t.Errorf("%d runs: %+v", n, runs)
				}
			})
		})
	}
}

// runsOf returns the summaries of the runs, newest first.
func runsOf(t *testing.T, m *mirrortest.Mirror) (out []mirror.Summary) {
	t.Helper()
	st := reopen(t, m.Dir)
	defer st.Close()
	runs, err := st.Shared.Runs("test", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		var s mirror.Summary
		if err := json.Unmarshal(r.Summary, &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// What a run that is closed has is published, and what it did not get to keeps its copies and is listed.
func TestClosedRunIsPublished(t *testing.T) {
	toml := job(`polite.delay = "1s"`, `schedule = "@every 6h"`)
	inBubble(t, toml, func(
		t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
	) {
		hub(w, 30)
		wantVerdict(t, m.Run(), mirror.Complete, true)
		for i := range 30 {
			w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.HTML(fmt.Sprint(i), "second edition"))
		}
		m.Set("limits.max_time", "15s")
		wantVerdict(t, m.Run(), mirror.Partial, false)
		time.Sleep(13 * time.Hour)
		wantVerdict(t, m.Run(), mirror.Partial, false) // the closed one is published before it
		closed := runsOf(t, m)[1]
		if !closed.Closed || !closed.Published || (closed.Verdict != mirror.Gaps) || (closed.Changed == 0) {
			t.Errorf("%s", mirrortest.Text(&closed))
		}
		wantText(t, &closed, "not requested", "too old to continue")
		fresh := 0
		for _, body := range m.Tree() {
			if strings.Contains(body, "second edition") {
				fresh++
			}
		}
		if (fresh == 0) || (fresh == 30) {
			t.Errorf("%d pages are fresh", fresh)
		}
		m.Set("limits.max_time", "0s")
		if s := m.Run(); (s.Verdict != mirror.Complete) || (s.Gaps.Count != 0) {
			t.Errorf("%s", mirrortest.Text(s))
		}
	})
}

// A site that no run gets through is mirrored in turns: what a run that was closed did not get to comes first
// in the next one.
func TestClosedRunsTakeTurns(t *testing.T) {
	toml := job(`polite.delay = "1s"`, `polite.connections = 1`, `schedule = "@every 6h"`)
	inBubble(t, toml, func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
		hub(w, 30)
		wantVerdict(t, m.Run(), mirror.Complete, true)
		w.Requests()
		m.Set("limits.max_time", "15s")
		for range 6 {
			time.Sleep(13 * time.Hour)
			wantVerdict(t, m.Run(), mirror.Partial, false)
		}
		asked := w.Asked()
		for i := range 30 {
			if page := fmt.Sprintf("%s/page%02d.html", home, i); asked[page] == 0 {
				t.Errorf("%s was not requested", page)
			}
		}
	})
}
