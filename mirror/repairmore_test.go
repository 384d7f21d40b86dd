// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/mirrortest"
)

// Damage elsewhere keeps no mirror from being published.
func TestRepairWithADamagedNeighbour(t *testing.T) {
	w := startOffsite(t)
	w.Set(manualBase+"p03.html", mirrortest.Status(404))
	wantVerdict(t, w.all(t), mirror.Complete, true)
	if err := os.WriteFile(filepath.Join(w.m.Dir, "sites/twin/site.db"),
		[]byte(strings.Repeat("no database", 10_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	w.Set(home+"/b.html", mirrortest.HTML("B", `news <a href="`+manualBase+`p03.html">3</a>`))
	s := w.m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "the mirror of twin cannot be read now")
	if b := w.m.Tree()["b.html"]; !strings.Contains(b, `news <a href="`+twinBase+`p03.html">`) {
		t.Errorf("links do not stay as they are: %s", b)
	}
}

// A site that copies another one does not decide on the paths that the other loses, unless a job
// names it.
func TestRepairByACopyThatWasAnother(t *testing.T) {
	for _, c := range [][2]bool{{false, false}, {false, true}, {true, false}} {
		named, compacted := c[0], c[1]
		t.Run(fmt.Sprintf("named %v, compacted %v", named, compacted), func(t *testing.T) {
			w := startOffsite(t)
			near := handbook(12)["/p04.html"]
			near.Body = strings.Replace(near.Body, "</body>", "<p>A word of the copy.</body>", 1)
			w.Set(twinBase+"p04.html", near)
			w.Set(twinBase+"p05.html", mirrortest.HTML("Log in", "<p>Your password, please."))
			w.Set(twinBase+"p06.html", mirrortest.HTML("Page 6", "<p>"+prose(77, 3)))
			for _, p := range []string{"p03", "p04", "p05", "p06"} {
				w.Set(manualBase+p+".html", mirrortest.Status(404))
			}
			same := samePair(manualBase, twinBase, w.at)
			same.Named = named
			st := reopen(t, w.m.Dir)
			if err := errors.Join(st.Shared.SavePair(same), st.Close()); err != nil {
				t.Fatal(err)
			}
			w.runManual(t)
			if w.at = w.at.Add(time.Hour); compacted { // what garbage is collected of is known from the kept versions
				w.compact(t, "manual")
			}
			wantVerdict(t, w.runTwin(t), mirror.Complete, true)
			wantVerdict(t, w.m.Run(), mirror.Complete, true)
			tree := w.m.Tree()
			for p, want := range map[string]bool{"p03": true, "p04": true, "p05": named, "p06": named} {
				if got := strings.Contains(tree["a.html"]+tree["b.html"], twinBase+p+".html"); got != want {
					t.Errorf("the link to %s is repaired: %v", p, got)
				}
			}
		})
	}
}

// compact collects the garbage of another job's mirror.
func (w *offsiteWorld) compact(t *testing.T, name string) {
	t.Helper()
	st := reopen(t, w.m.Dir)
	s, err := st.OpenSite(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Compact(context.Background(), false)
	if err := errors.Join(err, s.Close(), st.Close()); err != nil {
		t.Fatal(err)
	}
}

// What one mirror saw broken another one has seen well since.
func TestRepairOfWhatCameBack(t *testing.T) {
	w := startOffsite(t)
	w.Set(manualBase+"p03.html", mirrortest.Status(404))
	wantVerdict(t, w.all(t), mirror.Complete, true)
	w.Set(manualBase+"p03.html", handbook(12)["/p03.html"])
	w.at = w.at.Add(time.Hour)
	wantVerdict(t, runNamed(t, w.Web, w.m, "again", fmt.Sprintf("url = %q\n", manualBase)),
		mirror.Complete, true)
	wantVerdict(t, w.m.Run(), mirror.Complete, true)
	if a := w.m.Tree()["a.html"]; strings.Contains(a, twinBase) {
		t.Error(a)
	}
}

// What failed long ago, and was not asked since, is not known to be broken.
func TestRepairOfWhatIsNotAskedAnyMore(t *testing.T) {
	w := startOffsite(t)
	w.Set(manualBase+"p04.html", mirrortest.Status(500))
	for range 3 {
		w.at = w.at.Add(time.Hour)
		w.all(t)
	}
	if a := w.m.Tree()["a.html"]; !strings.Contains(a, twinBase+"p04.html") {
		t.Fatal(a)
	}
	for i := range 50 {
		w.addRun(t, "manual", "complete", mirror.Summary{Run: 10 + i, Requests: 5, Fetched: 5})
	}
	wantVerdict(t, w.m.Run(), mirror.Complete, true)
	if a := w.m.Tree()["a.html"]; strings.Contains(a, twinBase) {
		t.Error(a)
	}
}

// A host that is silent for a week is, however often it is asked in that time.
func TestRepairOfLinksToASilentHostThatIsAskedOften(t *testing.T) {
	w := startOffsite(t)
	for i := range 8 * 24 {
		w.at = w.at.Add(time.Hour)
		w.addRun(t, "manual", "partial", mirror.Summary{
			Run:      10 + i,
			Requests: 5,
			Down:     []string{"manual.example.org"},
		})
		if i == 100 {
			wantVerdict(t, w.m.Run(), mirror.Complete, false)
		}
	}
	wantVerdict(t, w.runTwin(t), mirror.Complete, false)
	wantVerdict(t, w.m.Run(), mirror.Complete, true)
	if b := w.m.Tree()["b.html"]; !strings.Contains(b, twinBase+"p06.html") {
		t.Error(b)
	}
}

// Of many copies of one site, and of directories within directories, the best pair cures, and records are
// read once.
func TestRepairByNestedPairs(t *testing.T) {
	w := startOffsite(t)
	for i, p := range []shared.PairRecord{
		{Base1: "http://manual.example.org/", Base2: "http://twin.example.org/copies/", Level: "2"},
		{Base1: "http://nowhere.example.org/m/", Base2: manualBase, Level: "1"},
	} {
		p.Tested, p.Mirrors, p.Confident, p.Equal, p.Named = w.at, true, true, true, true
		st := reopen(t, w.m.Dir)
		if err := errors.Join(st.Shared.SavePair(p), st.Close()); err != nil {
			t.Fatal(i, err)
		}
	}
	w.unpair(t, "mismatch")
	w.Set(manualBase+"p03.html", mirrortest.Status(404))
	wantVerdict(t, w.all(t), mirror.Complete, true)
	if a := w.m.Tree()["a.html"]; !strings.Contains(a, twinBase+"p03.html") {
		t.Error(a)
	}
}

// The site's author repairs one of two links as the mirror did: the page has the same bytes as before, but of
// another source, and its version is to be made again of that.
func TestRepairOfAPageThatWasMendedInPart(t *testing.T) {
	w := startOffsite(t)
	page := func(first string) mirrortest.Page {
		return mirrortest.HTML("B", `<a href="`+first+`p03.html">3</a> <a href="`+manualBase+`p06.html">6</a>`)
	}
	w.Set(home+"/b.html", page(manualBase))
	w.Set(manualBase+"p03.html", mirrortest.Status(404))
	w.Set(manualBase+"p06.html", mirrortest.Status(404))
	wantVerdict(t, w.all(t), mirror.Complete, true)
	before := w.m.Tree()["b.html"]
	w.Set(home+"/b.html", page(twinBase))
	w.Set(home+"/", mirrortest.HTML("Home", `news <a href="a.html">a</a> <a href="b.html">b</a>`))
	s := w.m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	w.m.Site(func(site *store.Site) {
		st := reopen(t, w.m.Dir)
		for version := 2; version <= s.Version; version++ {
			p, err := render.OpenPast(render.MaterialOf(st, site), version)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := fs.ReadFile(p, "b.html"); string(b) != before {
				t.Errorf("version %d has %s, %v", version, b, err)
			}
		}
	})
	wantVerdict(t, w.m.Run(), mirror.Complete, false)
}

// A version that comes back has its repaired links, though the copy at the target of one of them has become a
// file of the mirror since, or was one.
func TestRollbackOfALinkToWhatIsKnownSince(t *testing.T) {
	w := startOffsite(t)
	w.Set(manualBase+"logo.png", mirrortest.Status(404))
	w.Set(home+"/b.html", mirrortest.HTML("B", `<a href="`+manualBase+`logo.png">the logo</a>`))
	wantVerdict(t, w.all(t), mirror.Complete, true)
	two := w.m.Tree()["b.html"]
	if !strings.Contains(two, twinBase+"logo.png") {
		t.Fatal(two)
	}
	w.m.Set("requisites", "any")
	w.Set(home+"/", mirrortest.HTML("Home", `<a href="a.html">a</a> <a href="b.html">b</a> <img src="`+twinBase+
		`logo.png">`))
	w.Set(home+"/b.html", mirrortest.HTML("B", `news <a href="`+manualBase+`logo.png">the logo</a>`))
	wantVerdict(t, w.m.Run(), mirror.Complete, true)
	w.rollback(t, 2)
	if b := w.m.Tree()["b.html"]; b != two {
		t.Errorf("back to version 2: %s\nwas %s", b, two)
	}
	wantVerdict(t, w.m.Run(), mirror.Complete, false) // the rollback holds
	wantVerdict(t, w.m.Accept(), mirror.Complete, true)
}

// A mirror that is being written is read as of its last commit.
func TestRepairWhileOneMirrorIsWritten(t *testing.T) {
	const guide, guideCopy = "http://guide.example.org/", "http://copy.example.org/g/"
	w := startOffsite(t)
	for p, page := range handbook(6) {
		w.Set(guide+p[1:], page)
		w.Set(guideCopy+p[1:], page)
	}
	guides := func() {
		runNamed(t, w.Web, w.m, "guide", fmt.Sprintf("url = %q\nlimits.max_delete = 1.0\n", guide))
		runNamed(t, w.Web, w.m, "guide-copy", fmt.Sprintf("url = %q\n", guideCopy))
	}
	st := reopen(t, w.m.Dir)
	if err := errors.Join(st.Shared.SavePair(samePair(guide, guideCopy, w.at)), st.Close()); err != nil {
		t.Fatal(err)
	}
	w.Set(home+"/b.html",
		mirrortest.HTML("B", `<a href="`+guide+`p02.html">2</a> <a href="`+guide+`p03.html">3</a>`))
	w.Set(manualBase+"p03.html", mirrortest.Status(404))
	w.Set(guide+"p03.html", mirrortest.Status(404))
	guides()
	wantVerdict(t, w.all(t), mirror.Complete, true)
	w.Set(manualBase+"p03.html", handbook(12)["/p03.html"])
	w.Set(manualBase+"p04.html", mirrortest.Status(404))
	w.Set(guide+"p03.html", handbook(6)["/p03.html"])
	w.Set(guide+"p02.html", mirrortest.Status(404))
	w.runManual(t)
	guides()
	for _, busy := range []string{"manual", "twin", ""} {
		st := reopen(t, w.m.Dir)
		done := st.Close
		if busy != "" {
			s, err := st.OpenSite(busy)
			if err != nil {
				t.Fatal(err)
			}
			done = func() error { return errors.Join(s.Close(), st.Close()) }
		}
		s, err := w.m.RunWith(context.Background(), func(o *mirror.Options) { o.State = reopen(t, w.m.Dir) })
		if err := errors.Join(err, done()); err != nil {
			t.Fatal(err)
		}
		wantVerdict(t, s, mirror.Complete, busy == "manual") // nothing has changed since
		tree := w.m.Tree()
		for link, want := range map[string]bool{
			guideCopy + "p02": true,
			guideCopy + "p03": false,
			twinBase + "p03":  false,
			twinBase + "p04":  true,
		} {
			if got := strings.Contains(tree["a.html"]+tree["b.html"], link); got != want {
				t.Errorf("while %q is written: a link to %s: %v\n%s", busy, link, got, mirrortest.Text(s))
			}
		}
	}
}

// A line of the file table holds so many repaired links; a page that has more is published all the
// same.
func TestRepairOfManyLinksOfOnePageInBulk(t *testing.T) {
	const links = 25_000
	w := startOffsite(t)
	w.Set(manualBase+"p03.html", mirrortest.Status(404))
	w.Set(home+"/b.html", mirrortest.HTML("B", strings.Repeat(`<a href="`+manualBase+`p03.html">3</a>`, links)))
	s := w.all(t)
	wantVerdict(t, s, mirror.Complete, true)
	b := w.m.Tree()["b.html"]
	if n := strings.Count(b, twinBase); (n < 1000) || (n == links) || (n+2 != s.RepairedLinks) {
		t.Errorf("%d links of the page are repaired, in all %d\n%s", n, s.RepairedLinks, mirrortest.Text(s))
	}
	w.Set(home+"/", mirrortest.HTML("Home", `news <a href="a.html">a</a> <a href="b.html">b</a>`))
	wantVerdict(t, w.m.Run(), mirror.Complete, true)
	w.m.Site(func(site *store.Site) {
		p, err := render.OpenPast(render.MaterialOf(reopen(t, w.m.Dir), site), 2)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := fs.ReadFile(p, "b.html"); string(got) != b {
			t.Errorf("version 2 has %d bytes, had %d: %v", len(got), len(b), err)
		}
	})
}

// A shop of the same template has other products at the paths that the first one loses.
func TestRepairByAnotherProduct(t *testing.T) {
	w := startOffsite(t)
	frame := mirrortest.Words(7, 400)
	for i := range 8 {
		p, own := fmt.Sprintf("p%02d.html", i), mirrortest.Words(uint32(i+1)*7919, 60)
		w.Set(manualBase+p, product(frame, own))
		if i != 4 {
			own = mirrortest.Words(uint32(i+1)*104729, 60)
		}
		w.Set(twinBase+p, product(frame, own+" of this shop"))
	}
	w.runManual(t)
	wantVerdict(t, w.runTwin(t), mirror.Complete, true)
	for _, p := range []string{"p03", "p04"} {
		w.Set(manualBase+p+".html", mirrortest.Status(404))
	}
	for range 2 {
		w.at = w.at.Add(time.Hour)
		w.runManual(t)
	}
	wantVerdict(t, w.m.Run(), mirror.Complete, true)
	tree := w.m.Tree()
	for p, want := range map[string]bool{"p03": false, "p04": true} {
		if got := strings.Contains(tree["a.html"]+tree["b.html"], twinBase+p+".html"); got != want {
			t.Errorf("the link to %s is repaired: %v", p, got)
		}
	}
}

// product is a page of a shop, whose template is frame.
func product(frame, own string) mirrortest.Page {
	return mirrortest.HTML("Product", "<div>"+frame[:len(frame)/2]+"</div><main>"+own+"</main><div>"+
		frame[len(frame)/2:]+"</div>")
}
