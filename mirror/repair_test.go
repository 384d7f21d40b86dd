// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/mirrortest"
)

const (
	manualBase = "http://manual.example.org/m/"
	twinBase   = "http://twin.example.org/copies/m/"
)

// offsiteWorld is a site whose pages link to a manual on another host, of which a third host has a copy. Both
// are mirrored on the state of m, and a test found them to be interchangeable.
type offsiteWorld struct {
	*mirrortest.Web
	m  *mirrortest.Mirror
	at time.Time
}

func newOffsiteWorld(t *testing.T) *offsiteWorld {
	w := &offsiteWorld{Web: mirrortest.Start(t), at: time.Now().Add(-100 * 24 * time.Hour).Truncate(time.Second)}
	for p, page := range handbook(12) {
		w.Set(manualBase+p[1:], page)
		if p != "/p05.html" {
			w.Set(twinBase+p[1:], page)
		}
	}
	w.Set(home+"/", mirrortest.HTML("Home", `<a href="a.html">a</a> <a href="b.html">b</a> <img src="`+
		manualBase+`logo.png">`))
	w.Set(home+"/a.html", mirrortest.HTML("A", `<link rel="canonical" href="`+manualBase+`p03.html"><a href="`+manualBase+`p03.html#top">3</a> <a href='`+manualBase+`p04.html'>4</a>
		<a href=`+manualBase+`p05.html>5</a> <a href="//manual.example.org/m/p03.html">3</a> <form action="`+manualBase+`p03.html"></form>`))
	w.Set(home+"/b.html", mirrortest.HTML("B", `<a href="`+manualBase+`p06.html">6</a>`))
	w.m = mirrortest.New(t, w.Web, job("repair = true\nrequisites = \"scope\""))
	w.m.Now = func() time.Time { return w.at }
	return w
}

// samePair is the record of a test by which two places are mirrors of each other.
func samePair(base1, base2 string, tested time.Time) shared.PairRecord {
	return shared.PairRecord{
		Base1:     base1,
		Base2:     base2,
		Tested:    tested,
		Level:     "1",
		Mirrors:   true,
		Confident: true,
		Equal:     true,
	}
}

// pair notes that the two were tested now.
func (w *offsiteWorld) pair(t *testing.T) {
	t.Helper()
	st := reopen(t, w.m.Dir)
	if err := errors.Join(st.Shared.SavePair(samePair(manualBase, twinBase, w.at)), st.Close()); err != nil {
		t.Fatal(err)
	}
}

// rollback publishes an older version of the site again.
func (w *offsiteWorld) rollback(t *testing.T, number int) {
	t.Helper()
	st := reopen(t, w.m.Dir)
	site, err := st.OpenSite("test")
	if err != nil {
		t.Fatal(err)
	}
	s, err := mirror.Rollback(t.Context(), mirror.Options{
		Job:   w.m.Job,
		State: st,
		Site:  site,
		Now:   w.m.Now,
	}, number)
	if err = errors.Join(err, site.Close()); err != nil || !s.Published {
		t.Fatal(err, s)
	}
}

func (w *offsiteWorld) runManual(t *testing.T) *mirror.Summary {
	t.Helper()
	return runNamed(t, w.Web, w.m, "manual", fmt.Sprintf("url = %q\nlimits.max_delete = 1.0\n", manualBase))
}

func (w *offsiteWorld) runTwin(t *testing.T) *mirror.Summary {
	t.Helper()
	return runNamed(t, w.Web, w.m, "twin", fmt.Sprintf("url = %q\n", twinBase))
}

// all runs the three jobs, the site last.
func (w *offsiteWorld) all(t *testing.T) *mirror.Summary {
	t.Helper()
	w.runManual(t)
	wantVerdict(t, w.runTwin(t), mirror.Complete, false)
	w.Requests()
	return w.m.Run()
}

func startOffsite(t *testing.T) *offsiteWorld {
	t.Helper()
	w := newOffsiteWorld(t)
	wantVerdict(t, w.runManual(t), mirror.Complete, true)
	wantVerdict(t, w.runTwin(t), mirror.Complete, true)
	w.pair(t)
	s := w.m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if tree := w.m.Tree(); strings.Contains(tree["a.html"], "twin") || s.RepairedLinks != 0 {
		t.Fatalf("nothing is broken: %s", tree["a.html"])
	}
	return w
}

func TestRepairOfLinksToOtherSites(t *testing.T) {
	w := startOffsite(t)
	before := w.m.Tree()
	w.Set(manualBase+"p03.html", mirrortest.Status(404))
	w.Set(manualBase+"p05.html", mirrortest.Status(410)) // the twin does not have it
	s := w.all(t)
	wantVerdict(t, s, mirror.Complete, true)
	for _, r := range w.Requests() {
		if !strings.HasPrefix(r.URL, home) {
			t.Errorf("%s was asked for the sake of a link", r.URL)
		}
	}
	tree := w.m.Tree()
	a := tree["a.html"]
	for _, want := range []string{
		`<a href="` + twinBase + `p03.html#top">3</a>`, `<a href='` + manualBase + `p04.html'>`,
		`<a href=` + manualBase + `p05.html>`, `<a href="` + twinBase + `p03.html">3</a>`,
		`<link rel="canonical" href="` + manualBase + `p03.html">`, `<form action="` + manualBase + `p03.html">`,
	} {
		if !strings.Contains(a, want) {
			t.Errorf("no %s in\n%s", want, a)
		}
	}
	if s.RepairedLinks != 2 || s.Changed != 1 || tree["b.html"] != before["b.html"] {
		t.Errorf("%d links repaired, %d changed, want 2 and 1\n%s", s.RepairedLinks, s.Changed, mirrortest.Text(s))
	}
	wantText(t, s, "2 links to broken pages of other sites lead to equivalent copies")
	f := fileOf(t, w.m, "a.html")
	var links []struct {
		At           int
		Was, To, Why string
	}
	if err := json.Unmarshal(f.Extra["mirrord.repaired"], &links); err != nil || len(links) != 2 ||
		links[0].Was != manualBase+"p03.html" || links[0].To != twinBase+"p03.html" ||
		links[0].Why != "status 404 by the mirror of manual" || len(f.Edits) != 3 || f.Edits[1].Kind != "repair" ||
		f.Edits[1].At != int64(links[0].At) {
		t.Errorf("the file table says %+v, %s, %v", f.Edits, f.Extra["mirrord.repaired"], err)
	}
	if x := explanation(t, w.m, manualBase+"p03.html"); !strings.Contains(strings.Join(x.Rules, "\n"),
		"repair: links to it on 1 page lead to "+twinBase+
			"p03.html, because it is broken: status 404 by the mirror of manual") {
		t.Errorf("explained as %q", x.Rules)
	}

	// Nothing new is known: nothing is touched.
	stamps := w.m.Stamps()
	wantVerdict(t, w.m.Run(), mirror.Complete, false)
	if !maps.Equal(stamps, w.m.Stamps()) {
		t.Error("a run without changes touched the tree")
	}

	// The page itself changes: the link stays repaired.
	w.Set(home+"/a.html", mirrortest.HTML("A", `news <a href="`+manualBase+`p03.html">3</a>`))
	s = w.m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if tree := w.m.Tree(); !strings.Contains(tree["a.html"], `news <a href="`+twinBase+`p03.html">`) ||
		s.RepairedLinks != 1 {
		t.Errorf("%d links repaired: %s", s.RepairedLinks, tree["a.html"])
	}

	// It comes back, and so does the link.
	w.Set(manualBase+"p03.html", handbook(12)["/p03.html"])
	s = w.all(t)
	wantVerdict(t, s, mirror.Complete, true)
	if tree := w.m.Tree(); !strings.Contains(tree["a.html"], `news <a href="`+manualBase+`p03.html">`) ||
		s.RepairedLinks != 0 {
		t.Errorf("%d links repaired: %s", s.RepairedLinks, tree["a.html"])
	}

	// The kept version has the bytes that it had.
	w.m.Site(func(s *store.Site) {
		st := reopen(t, w.m.Dir)
		p, err := render.OpenPast(render.MaterialOf(st, s), 2)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := fs.ReadFile(p, "a.html"); string(b) != a {
			t.Errorf("version 2 has %s, %v", b, err)
		}
	})
}

// A version that comes back has the links that it had; the next run has those of now.
func TestRollbackOfRepairedLinks(t *testing.T) {
	w := startOffsite(t)
	one := w.m.Tree()["a.html"]
	w.Set(manualBase+"p03.html", mirrortest.Status(404))
	wantVerdict(t, w.all(t), mirror.Complete, true)
	two := w.m.Tree()["a.html"]
	for i, want := range []string{one, two, one} {
		w.rollback(t, 1+i%2)
		if got := w.m.Tree()["a.html"]; got != want {
			t.Errorf("back to version %d: %s", 1+i%2, got)
		}
	}
	wantVerdict(t, w.m.Run(), mirror.Complete, true)
	if got := w.m.Tree()["a.html"]; got != two {
		t.Errorf("the run after it has %s", got)
	}
}

// fileOf returns the line of a published file.
func fileOf(t *testing.T, m *mirrortest.Mirror, path string) (out phm.File) {
	t.Helper()
	root := m.Current()
	defer root.Close()
	table, err := root.Open(phm.FilesName)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	for f, err := range phm.Files(table) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Path == path {
			out = *f
		}
	}
	return out
}

// What ends a repair, and what does not begin one.
func TestRepairOfLinksEnds(t *testing.T) {
	for name, c := range map[string]struct {
		then func(*offsiteWorld, *testing.T) // after the link was repaired
		want bool                            // it still is
		text string
	}{
		"nothing":         {func(*offsiteWorld, *testing.T) {}, true, ""},
		"not wanted":      {func(w *offsiteWorld, _ *testing.T) { w.m.Set("repair", "false") }, false, ""},
		"no longer equal": {func(w *offsiteWorld, t *testing.T) { w.unpair(t, "mismatch") }, false, ""},
		"test too old": {func(w *offsiteWorld, t *testing.T) {
			w.at = w.at.Add(31 * 24 * time.Hour)
			w.all(t)
		}, false, ""},
		"copy is gone": {func(w *offsiteWorld, t *testing.T) {
			w.Set(twinBase+"p03.html", mirrortest.Status(404))
			wantVerdict(t, w.runTwin(t), mirror.Complete, true)
		}, false, ""},
		"mirror is written": {func(w *offsiteWorld, t *testing.T) {
			st := reopen(t, w.m.Dir)
			s, err := st.OpenSite("manual")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
		}, true, ""},
		"suspicious": {func(w *offsiteWorld, t *testing.T) {
			w.addRun(t, "manual", "suspicious", mirror.Summary{Requests: 5})
		}, true, "held for review"},
	} {
		t.Run(name, func(t *testing.T) {
			w := startOffsite(t)
			w.Set(manualBase+"p03.html", mirrortest.Status(404))
			wantVerdict(t, w.all(t), mirror.Complete, true)
			if !strings.Contains(w.m.Tree()["a.html"], twinBase) {
				t.Fatal("the link is not repaired")
			}
			c.then(w, t)
			s, err := w.m.RunWith(context.Background(), func(o *mirror.Options) { o.State = reopen(t, w.m.Dir) })
			if err != nil {
				t.Fatal(err)
			}
			if name != "test too old" { // its last run saw it already
				wantVerdict(t, s, mirror.Complete, !c.want)
			}
			if got := strings.Contains(w.m.Tree()["a.html"], twinBase); got != c.want {
				t.Errorf("repaired: %v\n%s", got, mirrortest.Text(s))
			}
			wantText(t, s, c.text)
			wantVerdict(t, w.m.Run(), mirror.Complete, false)
		})
	}
}

func (w *offsiteWorld) unpair(t *testing.T, level string) {
	st := reopen(t, w.m.Dir)
	if err := errors.Join(st.Shared.SavePair(shared.PairRecord{
		Base1:  manualBase,
		Base2:  twinBase,
		Tested: w.at,
		Level:  level,
	}), st.Close()); err != nil {
		t.Fatal(err)
	}
}

// addRun adds a run of another job to the log, at the time of now.
func (w *offsiteWorld) addRun(t *testing.T, name, verdict string, sum mirror.Summary) {
	t.Helper()
	data, err := json.Marshal(sum)
	if err != nil {
		t.Fatal(err)
	}
	st := reopen(t, w.m.Dir)
	if err := errors.Join(st.Shared.AddRun(shared.RunRecord{
		Site:    name,
		Started: w.at,
		Ended:   w.at,
		Verdict: verdict,
		Summary: data,
	}), st.Close()); err != nil {
		t.Fatal(err)
	}
}

// A host that has not answered in any run of a week is broken as a whole; one that did not answer for a night
// is not.
func TestRepairOfLinksToASilentHost(t *testing.T) {
	w := startOffsite(t)
	for p := range handbook(12) {
		w.Remove(manualBase + p[1:])
	}
	for i, want := range []int{0, 0, 0, 0, 4} { // p05.html is not at the twin
		w.at = w.at.Add(2 * 24 * time.Hour)
		if s := w.runManual(t); s.Verdict != mirror.Partial {
			t.Fatalf("the host does not answer\n%s", mirrortest.Text(s))
		}
		wantVerdict(t, w.runTwin(t), mirror.Complete, false)
		s := w.m.Run()
		wantVerdict(t, s, mirror.Complete, want > 0)
		if s.RepairedLinks != want && want > 0 {
			t.Errorf("after %d days: %d links repaired, want %d\n%s", 2*i+2, s.RepairedLinks, want, mirrortest.Text(s))
		}
	}
	if tree := w.m.Tree(); !strings.Contains(tree["b.html"], twinBase+"p06.html") ||
		!strings.Contains(tree["a.html"], manualBase+"p05.html") {
		t.Errorf("%s\n%s", tree["a.html"], tree["b.html"])
	}
}

// What fails in three runs is broken when no client can have it, and not when only the mirror cannot.
func TestRepairOfLinksThatFail(t *testing.T) {
	w := startOffsite(t)
	w.Set(manualBase+"p03.html", mirrortest.Status(403))
	w.Set(manualBase+"p04.html", mirrortest.Status(500))
	for i := range 3 {
		if i > 0 && strings.Contains(w.m.Tree()["a.html"], twinBase) {
			t.Errorf("repaired after %d runs", i)
		}
		w.at = w.at.Add(time.Hour)
		w.all(t)
	}
	if a := w.m.Tree()["a.html"]; strings.Contains(a, twinBase+"p03.html") ||
		!strings.Contains(a, twinBase+"p04.html") {
		t.Error(a)
	}
}

// Without repair, and without tested pairs, no other mirror is looked at, and nothing is noted.
func TestRepairCostsNothingUnlessItIsOn(t *testing.T) {
	w := newOffsiteWorld(t)
	wantVerdict(t, w.m.Run(), mirror.Complete, true)
	w.m.Site(func(s *store.Site) {
		if v, err := s.Notes.Fact("repair"); v != nil || err != nil {
			t.Errorf("noted %s, %v", v, err)
		}
	})
}

// BenchmarkRepairPass publishes a site of 20 000 pages of which one has changed, when the records of broken
// pages has changed too: the links of all documents are read. "known" is the same without news.
func BenchmarkRepairPass(b *testing.B) {
	s := newBigSite(b, 20_000)
	s.job.Repair = true
	w := mirrortest.Start(b)
	for p, page := range handbook(12) {
		w.Set(manualBase+p[1:], page)
		w.Set(twinBase+p[1:], page)
	}
	m := mirrortest.New(b, w, job(""))
	m.Dir = s.st.Dir
	manual := func() { runNamed(b, w, m, "manual", fmt.Sprintf("url = %q\n", manualBase)) }
	manual()
	runNamed(b, w, m, "twin", fmt.Sprintf("url = %q\n", twinBase))
	if err := s.st.Shared.SavePair(samePair(manualBase, twinBase, time.Now())); err != nil {
		b.Fatal(err)
	}
	v := 2
	for _, news := range []bool{false, true} {
		b.Run(map[bool]string{false: "known", true: "news"}[news], func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if news {
					w.Set(manualBase+"p03.html", mirrortest.Status(404))
					if v%2 == 0 {
						w.Set(manualBase+"p03.html", handbook(12)["/p03.html"])
					}
					manual()
				}
				s.change(100+v, v)
				b.StartTimer()
				s.publish(v)
				v++
			}
		})
	}
}
