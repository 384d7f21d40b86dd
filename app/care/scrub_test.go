// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler/status"
	"mirrord/site"
	"mirrord/store"
	"mirrord/testing/apptest"
)

// scrubWorld is a mirror, a clock that advances when the scrub waits, and the notifications.
type scrubWorld struct {
	*Scrubber
	t      *testing.T
	web    *apptest.PagesSite
	job    *job.Job
	clock  atomic.Int64 // Unix nanoseconds
	about  status.Job   // what the scheduler says of the job
	others bool         // whether a run of another job is under way
	told   []string
	waits  func() // called when the scrub waits for its pace; may be nil
	entry  string // text of the home page
}

func newScrubWorld(t *testing.T, pages int) *scrubWorld {
	w := &scrubWorld{t: t, web: apptest.NewPagesSite(t)}
	w.clock.Store(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC).UnixNano())
	entry := `<title>entry</title><img src="/i.png">`
	for i := range pages {
		p := fmt.Sprintf("/p%d.html", i)
		entry += fmt.Sprintf("<a href=%q>p</a>", p)
		w.web.Set(p, fmt.Sprintf("<title>%d</title><p>%s", i, strings.Repeat(fmt.Sprint(i, " words "), 50)))
	}
	w.web.Set("/", entry)
	w.entry = entry
	a := apptest.TestApp(t.TempDir())
	a.LookupEnv = os.LookupEnv
	st, err := store.OpenState(apptest.StateOf(t, a), store.Options{
		Now: func() time.Time { return time.Unix(0, w.clock.Load()).UTC() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	w.job = apptest.GetJob(w.web.URL + "/")
	w.Scrubber = &Scrubber{App: a, State: st}
	w.restart(st)
	w.run()
	return w
}

// restart begins a scrubber that knows only the disk.
func (w *scrubWorld) restart(st *store.State) {
	w.Scrubber = &Scrubber{
		App:   w.App,
		State: st,
		Every: 30 * 24 * time.Hour,
		Job:   func(string) (*job.Job, status.Job, bool) { return w.job, w.about, true },
		Tell: func(kind status.Kind, _ *job.Job, s status.Job) {
			m := status.NewMessage(kind, "host", s, st.Now())
			w.told = append(w.told, m.Subject+"\n"+m.Text)
		},
		Busy:    func() bool { return w.others || w.about.Activity == status.Running },
		Repairs: new(Repairs),
		notes:   map[string]*look.ScrubNote{},
		later:   map[string]time.Time{},
	}
	w.Pause = func(ctx context.Context, d time.Duration) error {
		w.clock.Add(int64(d))
		if w.waits != nil && d < scrubTick {
			w.waits()
		}
		return ctx.Err()
	}
}

// run makes a run of the job.
func (w *scrubWorld) run() *mirror.Summary {
	w.t.Helper()
	w.clock.Add(int64(time.Second))
	s, err := w.State.OpenSite("site")
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	sum, err := runs.RunSite(w.t.Context(), w.App, w.job, w.State, s, runs.RunOptions{})
	if err != nil || sum.Verdict != mirror.Complete {
		w.t.Fatalf("%+v, %v", sum, err)
	}
	at := w.State.Now()
	w.about = status.Job{
		Name:    "site",
		Health:  status.OK,
		Version: sum.Version,
		LastRun: &at,
	}
	return sum
}

// days lets the scrub work for some days.
func (w *scrubWorld) days(n int) {
	w.t.Helper()
	for range n * 24 {
		w.clock.Add(int64(time.Hour))
		for i := 0; w.round(w.t.Context()); i++ {
			if i > 1000 {
				w.t.Fatal("it is always due")
			}
		}
	}
}

// status is what people see of the mirror.
func (w *scrubWorld) status() status.Job {
	j := w.about
	look.JudgeTree(&j, w.State, w.State.Now(), look.WholeTree(w.State))
	return j
}

func (w *scrubWorld) path(name string) string {
	return filepath.Join(w.State.Dir, "sites/site", name)
}

// flip changes one bit of a file, as a disk does: size and times stay.
func (w *scrubWorld) flip(name string, at int64) {
	w.t.Helper()
	fi, err := os.Stat(name)
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	if at < 0 {
		at += fi.Size()
	}
	data[at] ^= 4
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(data[at:at+1], at)
		err = errors.Join(err, f.Close(), os.Chtimes(name, fi.ModTime(), fi.ModTime()))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// alone changes a page, so that it is stored in a frame that no other page shares.
func (w *scrubWorld) alone(path, text string) {
	w.t.Helper()
	for i := range 50 {
		text += fmt.Sprintf("<p>%x\n", sha256.Sum256([]byte{byte(i)}))
	}
	w.web.Set(path, text)
	w.run()
}

// flipFrame changes one bit of the stored document of a page.
func (w *scrubWorld) flipFrame(path string) {
	w.t.Helper()
	u, _, err := site.Parse(w.web.URL + path)
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := w.State.ViewSite("site")
	if err != nil {
		w.t.Fatal(err)
	}
	defer v.Close()
	rec, ok, err := v.Records.Get(u)
	if err != nil || !ok {
		w.t.Fatal(ok, err)
	}
	w.flip(w.glob(w.path("packs/*.pack")), rec.At.Off+20)
}

func (w *scrubWorld) glob(pattern string) string {
	w.t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) != 1 {
		w.t.Fatal(pattern, names, err)
	}
	return names[0]
}

// In the time of a pass all stored bytes are read once, a part a day; a restart of the daemon continues
// where the last one was, also after a note that cannot be read.
func TestScrubReadsAllInTime(t *testing.T) {
	w := newScrubWorld(t, 60)
	var whole int64
	for _, share := range []bool{false, true} {
		v, err := VerifySample(t.Context(), w.App, "site", Sample{Share: 1})
		if err != nil || v.Count() > 0 {
			t.Fatalf("share %v: %+v, %v", share, v, err)
		}
		whole = v.Sample.Read
	}
	first := w.State.Now()
	w.days(10)
	if s := w.status().Scrub; s == nil || s.Done < 10 || s.Done > 11 || s.Parts != 30 || s.Whole != nil ||
		s.Damaged+s.Repaired > 0 || s.Looked == nil || s.Read == 0 || s.Read >= whole {
		t.Errorf("after ten days %+v", s)
	}
	w.restart(w.State)
	w.days(21)
	s := w.status().Scrub
	if s == nil || s.Whole == nil || s.Whole.Sub(first) > time.Hour || s.Done > 2 {
		t.Errorf("after a month %+v", s)
	}
	if len(w.told) > 0 {
		t.Errorf("told %q", w.told)
	}
	apptest.Put(t, w.path("."), "scrub.json", "{")
	w.restart(w.State)
	w.days(1)
	if s := w.status().Scrub; s == nil || s.Done == 0 {
		t.Errorf("after a note was lost %+v", s)
	}
	w.Every = 0
	before := *w.status().Scrub.Last
	w.days(3)
	if !w.status().Scrub.Last.Equal(before) {
		t.Error("it reads although it is off")
	}
}

// Each kind of damage is found within a pass, and reported once. What can be made from stored data is
// repaired at once, other damage by the next run, and both are reported; the status says so, and is well
// then.
func TestScrubRepairs(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(w *scrubWorld)
		file   string // that is reported
		needs  bool   // a run
		within int    // days; 0: a pass of five
		repair string
	}{
		"page": {
			do:     func(w *scrubWorld) { w.flip(w.path("current/p3.html"), 20) },
			file:   "p3.html",
			repair: "made again from the stored bodies",
		},
		"page missing": {
			do:     func(w *scrubWorld) { os.Remove(w.path("current/p3.html")) },
			file:   "p3.html",
			within: 2,
			repair: "made again from the stored bodies",
		},
		"table": {
			do:     func(w *scrubWorld) { w.flip(w.path("current/phm.files"), 200) },
			file:   "phm.files",
			within: 2,
			repair: "made again from the stored bodies",
		},
		"trees missing": {
			do:     func(w *scrubWorld) { os.RemoveAll(w.path("trees")) },
			file:   "current",
			within: 1,
			repair: "made again from the stored bodies",
		},
		"frame": {
			do: func(w *scrubWorld) {
				w.alone("/p3.html", "<title>3</title>")
				w.flipFrame("/p3.html")
			},
			file:   ".html", // published as it came
			repair: "replaced by a good copy",
		},
		"frame without a copy": { // the links of the page were relocated
			do: func(w *scrubWorld) {
				w.alone("/", w.entry)
				w.flipFrame("/")
			},
			file:   "http://",
			needs:  true,
			repair: "it is good again",
		},
		"blob": {
			do: func(w *scrubWorld) {
				w.flip(w.glob(filepath.Join(w.State.Dir, "blobs/??/*")), 9)
			},
			file:   "/i.png",
			needs:  true,
			repair: "it is good again",
		},
		"database": {
			do:     func(w *scrubWorld) { os.WriteFile(w.path("site.db"), make([]byte, 1<<16), 0o640) },
			file:   "site.db",
			within: 2,
			repair: "made again from its log, and nothing is lost",
		},
		"database missing": {
			do:     func(w *scrubWorld) { os.Remove(w.path("site.db")) },
			file:   "site.db",
			within: 2,
			repair: "made again from its log, and nothing is lost",
		},
		"log": {
			do:     func(w *scrubWorld) { w.flip(w.glob(w.path("log/*.log")), 200) },
			file:   "log",
			within: 2,
			repair: "begun again with all that the database has",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScrubWorld(t, 5)
			w.Every = 5 * 24 * time.Hour
			c.do(w)
			days := c.within
			if days == 0 {
				days = 6
			}
			w.days(days)
			if c.needs {
				j := w.status()
				if len(w.told) != 1 || !strings.Contains(w.told[0], "is damaged: ") ||
					!strings.Contains(w.told[0], c.file) ||
					!strings.Contains(w.told[0], "the next run requests it again") {
					t.Errorf("told %q", w.told)
				}
				if j.Health != status.Damaged || j.Scrub.Damaged != 1 ||
					!strings.Contains(j.Fix, "mirrord run-now site") {
					t.Errorf("%+v, scrub %+v", j, j.Scrub)
				}
				w.days(6)
				if len(w.told) != 1 {
					t.Errorf("told again %q", w.told)
				}
				w.told = nil
				w.run()
				if j := w.status(); j.Health != status.OK {
					t.Errorf("after the run %s: %v", j.Health, j.Problems)
				}
				w.days(1)
			}
			if len(w.told) != 1 || !strings.Contains(w.told[0], "good again: ") ||
				!strings.Contains(w.told[0], c.file) || !strings.Contains(w.told[0], c.repair) {
				t.Errorf("told %q", w.told)
			}
			j := w.status()
			if j.Health != status.OK || j.Scrub == nil || j.Scrub.Damaged != 0 || j.Scrub.Repaired != 1 {
				t.Errorf("%+v, scrub %+v", j, j.Scrub)
			}
			v, err := Verify(t.Context(), w.App, "site", true)
			if err != nil || v.Count() > 0 {
				t.Errorf("verify: %+v, %v", v, err)
			}
			w.days(6)
			if len(w.told) != 1 {
				t.Errorf("told again %q", w.told)
			}
		})
	}
}

// While a run of any site is under way the scrub reads at a sixteenth of its pace, so that the run does not
// feel it; it returns to its own pace as soon as the run has ended.
func TestScrubPace(t *testing.T) {
	w := newScrubWorld(t, 40)
	w.Every = 24 * time.Hour // one part
	pass := func() time.Duration {
		t.Helper()
		w.restart(w.State)
		w.Every = 24 * time.Hour
		apptest.Put(t, w.path("."), "scrub.json", "{}")
		began := w.State.Now()
		if w.round(t.Context()); w.status().Scrub == nil || w.status().Scrub.Last.Before(began) {
			t.Fatalf("nothing was read: %+v", w.status().Scrub)
		}
		return w.State.Now().Sub(began)
	}
	alone := pass()
	w.others = true
	beside := pass()
	if factor := float64(beside) / float64(alone); factor < 14 || factor > 18 {
		t.Errorf("%v alone, %v beside a run: %.1f times", alone, beside, factor)
	}
	w.waits = func() { w.others = false } // it ends at the first wait
	if ended := pass(); ended > alone+2*scrubDoze {
		t.Errorf("%v alone, %v beside a run that ended at once", alone, ended)
	}
}

// While a run of the site is under way nothing begins, unless one always is; while it publishes the reading
// waits; and a run that begins ends a repair and is not kept waiting by another.
func TestScrubGivesWay(t *testing.T) {
	w := newScrubWorld(t, 40)
	w.about.Activity = status.Running
	w.days(1)
	if s := w.status().Scrub; s != nil {
		t.Errorf("read during a run: %+v", s)
	}
	w.about.Activity = status.Idle
	w.days(1)
	done := w.status().Scrub.Done
	w.about.Activity = status.Running
	waited, publishing := time.Duration(0), 20
	w.waits = func() {
		if w.about.Progress = nil; publishing > 0 {
			publishing--
			w.about.Progress = &status.Progress{Phase: status.Publishing}
		}
	}
	pause := w.Pause
	w.Pause = func(ctx context.Context, d time.Duration) error {
		if w.about.Progress != nil {
			waited += d
		}
		return pause(ctx, d)
	}
	w.days(4)
	if got := w.status().Scrub.Done; got <= done || waited < 19*time.Second {
		t.Errorf("parts %d, then %d; it waited for %v", done, got, waited)
	}

	var h Repairs
	ctx, end, ok := h.begin(t.Context(), "site")
	if !ok {
		t.Fatal("no repair")
	}
	began := make(chan func())
	go func() { began <- h.Run("site") }()
	<-ctx.Done()
	end()
	over := <-began
	if _, _, ok := h.begin(t.Context(), "site"); ok {
		t.Error("repair during a run")
	}
	if _, end, ok := h.begin(t.Context(), "other"); !ok {
		t.Error("no repair of another site")
	} else {
		end()
	}
	over()
	if _, end, ok := h.begin(t.Context(), "site"); !ok {
		t.Error("no repair after the run")
	} else {
		end()
	}
}
