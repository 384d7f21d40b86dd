// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/mirror/verdict"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

// bench is a site of a job, and the time at which its runs begin.
type bench struct {
	t     *testing.T
	state *store.State
	site  *store.Site
	now   time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Unix(1_800_000_000, 0)}
	var err error
	if b.state, err = store.OpenState(t.TempDir(), store.Options{Volatile: true}); err != nil {
		t.Fatal(err)
	}
	if b.site, err = b.state.OpenSite("x"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.site.Close(), b.state.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// session is the next run, of a mirror with a version 3.
func (b *bench) session(change func(*Options)) *Session {
	b.t.Helper()
	j := job.Default()
	j.Name, j.URLs = "x", []string{"http://h.example/"}
	o := Options{
		Job:   j,
		State: b.state,
		Site:  b.site,
		Now:   func() time.Time { return b.now },
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { s.Close() })
	s.Live = &record.Version{Number: 3}
	return s
}

// begun is a session that has begun its run.
func (b *bench) begun(change func(*Options)) *Session {
	b.t.Helper()
	s := b.session(change)
	if err := s.Begin(); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// end notes how a run ended.
func (b *bench) end(s *Session, v result.Verdict, dropped ...string) {
	b.t.Helper()
	j := &verdict.Judgement{Verdict: v, Reasons: []string{"too much is gone"}}
	entries := []string{"e1", "e2", "e3", "e4"}
	if err := s.KeepHeld(j, 40, entries, dropped); err != nil {
		b.t.Fatal(err)
	}
}

// A run that was held for review makes the next ones looks at a few pages, spread over those that are gone,
// for
// a day; what a user chose, changed or accepted is requested whole.
func TestHeld(t *testing.T) {
	b := newBench(t)
	var dropped []string
	for i := range 20 {
		dropped = append(dropped, fmt.Sprint("d", i))
	}
	first := b.session(nil)
	if _, ok, err := first.Held(); ok || err != nil {
		t.Errorf("without a run before: %v, %v", ok, err)
	}
	b.end(first, result.Suspicious, dropped...)
	began := b.now
	b.now = b.now.Add(22 * time.Hour)
	h, ok, err := b.session(nil).Held()
	if err != nil || !ok || fmt.Sprint(h.URLs) != "[e1 e2 e3 d0 d4 d8 d12 d16]" || h.Entries != 3 ||
		h.Known != 40 {
		t.Errorf("%+v, %v, %v", h, ok, err)
	}
	for name, change := range map[string]func(*Options){
		"accepted":  func(o *Options) { o.Accept = true },
		"no fetch":  func(o *Options) { o.NoFetch = true },
		"all":       func(o *Options) { o.Job.All = true },
		"only some": func(o *Options) { o.Job.Only = []site.URL{site.Canonical("http://h.example/a")} },
		"other job": func(o *Options) { o.Job.Scope.Exclude = []string{"/old/**"} },
	} {
		if _, ok, err := b.session(change).Held(); ok || err != nil {
			t.Errorf("%s: a look is enough: %v", name, err)
		}
	}
	other := b.session(nil)
	other.Live.Number = 4
	if _, ok, _ := other.Held(); ok {
		t.Error("a look is enough although another version is published")
	}
	b.end(b.session(func(o *Options) { o.Job.Only = []site.URL{site.Canonical("http://h.example/a")} }),
		result.Suspicious, "other")
	if again, _, _ := b.session(nil).Held(); fmt.Sprint(again) != fmt.Sprint(h) {
		t.Errorf("a run of some URLs changed the held facts: %+v", again)
	}
	if _, ok, _ := b.begun(nil).Held(); ok {
		t.Error("a look is enough for a run that has begun")
	}
	if err := b.site.Notes.SetRun(nil); err != nil {
		t.Fatal(err)
	}
	b.now = began.Add(fullAfter)
	s := b.session(nil)
	if _, ok, _ := s.Held(); ok {
		t.Error("a day later, a look is enough")
	}
	b.end(s, result.Suspicious, "d0")
	if h, ok, _ := b.session(nil).Held(); !ok || h.Since != began.Unix() || h.Full != b.now.Unix() {
		t.Errorf("held again: %+v, %v", h, ok)
	}
	b.end(b.session(nil), result.Complete)
	if h, ok, _ := b.session(nil).Held(); ok {
		t.Errorf("after a good run: %+v", h)
	}
}

// A run that has begun is resumed under the same rules; under others, all that is stored is scanned again.
func TestBegin(t *testing.T) {
	b := newBench(t)
	first := b.begun(nil)
	if first.Resumed || first.Rescan || first.Run.Number != 1 {
		t.Errorf("the first run: %+v", first.Run)
	}
	b.now = b.now.Add(time.Hour)
	if s := b.begun(nil); !s.Resumed || s.Expired || s.Run.Number != 1 || s.Run.Started == b.now.Unix() {
		t.Errorf("it is not resumed: %+v", s.Run)
	}
	b.now = b.now.Add(30 * 24 * time.Hour)
	if s := b.begun(nil); !s.Resumed || !s.Expired {
		t.Errorf("after a month it makes requests: %+v", s.Run)
	}
	if s := b.begun(func(o *Options) { o.NoFetch = true }); s.Expired {
		t.Error("a run without requests is too old")
	}
	other := b.begun(func(o *Options) { o.Job.Scope.Exclude = []string{"/old/**"} })
	if other.Resumed || !other.Rescan || other.Run.Number != 2 {
		t.Errorf("other rules: resumed %v, rescan %v, %+v", other.Resumed, other.Rescan, other.Run)
	}
	if mixed, err := b.site.Notes.Fingerprint(); mixed != scope.MixedRules || err != nil {
		t.Errorf("the rules by which the site is scanned: %q, %v", mixed, err)
	}
}

// The smaller of two limits of the size holds.
func TestMostState(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		own, all, want int64
		limit          string
	}{
		{0, 0, 0, "limits.max_state = 0"},
		{5 << 20, 0, 5 << 20, "limits.max_state = 5MiB"},
		{5 << 20, 9 << 20, 5 << 20, "limits.max_state = 5MiB"},
		{5 << 20, 3 << 20, 3 << 20, "--max-state"},
		{0, 3 << 20, 3 << 20, "--max-state"},
	} {
		s := b.session(func(o *Options) {
			o.Job.Limits.MaxState, o.MostState, o.MostStateOf = job.Size(c.own), c.all, "--max-state"
		})
		if n, limit := s.MostState(); n != c.want || limit != c.limit {
			t.Errorf("%+v: %d by %s", c, n, limit)
		}
	}
}
