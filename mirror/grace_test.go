// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/mirror"
	"mirrord/scheduler/status"
	"mirrord/testing/mirrortest"
)

// Four versions in an hour have trees of their own, and a reader that has opened the first one reads that.
// The fifth takes its place without a wait when the run is by hand, and says so.
func TestFifthVersionInAnHour(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 5)
	m := mirrortest.New(t, w, job())
	now := time.Now()
	m.Now = func() time.Time { return now }
	var first *os.Root
	for version := 1; version <= 6; version++ {
		w.Set(home+"/page03.html", mirrortest.HTML("Three", fmt.Sprint("version ", version, " <a href=/>home</a>")))
		now = now.Add(time.Minute)
		if version == 6 {
			now = now.Add(2 * time.Hour)
		}
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, true)
		if says := strings.Contains(mirrortest.Text(s), "before its grace was over"); says != (version == 5) {
			t.Errorf("version %d: %s", version, mirrortest.Text(s))
		}
		if version == 1 {
			first = m.Current()
		}
		if page, err := first.ReadFile("page03.html"); version < 5 &&
			(err != nil || !strings.Contains(string(page), "version 1 ")) {
			t.Errorf("a reader of version 1 reads %q, %v", page, err)
		}
		link := filepath.Join(m.Dir, "sites/test/versions", fmt.Sprint(version))
		page, err := os.ReadFile(filepath.Join(link, "page03.html"))
		if err != nil || !strings.Contains(string(page), fmt.Sprint("version ", version, " ")) {
			t.Errorf("versions/%d: %q, %v", version, page, err)
		}
	}
	trees, err := os.ReadDir(filepath.Join(m.Dir, "sites/test/trees"))
	if err != nil || len(trees) != 4 {
		t.Errorf("%v, %v", trees, err)
	}
	// publish.trees is lowered: surplus trees go after their grace, also when nothing is published
	m.Job.Publish.Trees = 2
	for _, want := range []int{3, 2} { // the one of version 5 has just left
		wantVerdict(t, m.Run(), mirror.Complete, false)
		now = now.Add(2 * time.Hour)
		if want == 3 {
			continue
		}
		trees, err := os.ReadDir(filepath.Join(m.Dir, "sites/test/trees"))
		if err != nil || len(trees) != want {
			t.Errorf("%v, %v, want %d", trees, err, want)
		}
	}
}

// waitingTurn is a turn that a run gives back while it waits.
type waitingTurn struct {
	now   func() time.Time
	waits []status.Wait
	since []time.Time
	back  time.Time
}

func (w *waitingTurn) Yield(wait status.Wait) {
	w.waits, w.since = append(w.waits, wait), append(w.since, w.now())
}
func (w *waitingTurn) Resume(ctx context.Context) error { w.back = w.now(); return ctx.Err() }
func (w *waitingTurn) Over() bool                       { return false }

// A scheduled run waits for a tree for as long as it may, without its turn, and says what it waits for, and
// that it waited.
func TestScheduledPublishWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBigSite(t, 20)
		b.job.Publish.Trees = 2
		b.change(3, 2)
		b.publish(2)
		time.Sleep(50 * time.Minute)
		for _, c := range []struct {
			version     int
			most, waits time.Duration
			says        string
		}{
			{3, 30 * time.Minute, 10 * time.Minute, "publishing waited 10m, because there were 2 trees"},
			{4, 6 * time.Minute, 6 * time.Minute, "the tree of version 2 was replaced 54m before"},
		} {
			b.change(3, c.version)
			turn := &waitingTurn{now: time.Now}
			begun := time.Now()
			seen := false
			sum, err := mirror.Run(t.Context(), mirror.Options{
				Job:      b.job,
				State:    b.st,
				Site:     b.s,
				NoFetch:  true,
				Turn:     turn,
				TreeWait: c.most,
				Progress: func(p status.Progress) { seen = seen || p.WaitWhy == status.ForTree },
			})
			if err != nil || sum.Version != c.version || time.Since(begun).Round(time.Second) != c.waits {
				t.Fatalf("after %v: %v, %+v", time.Since(begun), err, sum)
			}
			if len(turn.waits) != 1 || turn.waits[0].For != status.ForTree || turn.back.Sub(turn.since[0]) != c.waits {
				t.Errorf("%+v, back at %v", turn, turn.back)
			}
			if text := mirrortest.Text(sum); !strings.Contains(text, c.says) || !seen {
				t.Errorf("seen %v, %s", seen, text)
			}
		}
	})
}

// A run that is asked to end while it waits has not published, and the next one publishes without a request.
func TestScheduledPublishIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBigSite(t, 20)
		b.job.Publish.Trees = 2
		b.change(3, 2)
		b.publish(2)
		b.change(3, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sum, err := mirror.Run(ctx, mirror.Options{
			Job:      b.job,
			State:    b.st,
			Site:     b.s,
			NoFetch:  true,
			TreeWait: time.Hour,
		})
		if err != nil || sum.Published || sum.Verdict != mirror.Partial {
			t.Errorf("%v, %+v", err, sum)
		}
		b.publish(3)
	})
}
