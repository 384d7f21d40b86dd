// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/mirror/report"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// harm is one way in which a file of a published tree goes wrong.
type harm struct {
	name string
	do   func(b []byte) []byte // nil: the file is missing
}

func harms() []harm {
	return []harm{
		{"bit flip", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }},
		{"cut", func(b []byte) []byte { return b[:len(b)/2] }},
		{"missing", func([]byte) []byte { return nil }},
		{"zeroed", func(b []byte) []byte { clear(b); return b }},
	}
}

// treeCase is one damage of a published tree.
type treeCase struct {
	name   string
	damage func(t *testing.T, site string)
	silent bool // only who reads the bytes can know
}

// treeCases damages what readers see: each kind of file, with its time as it was or new, the tree as a whole,
// and the link to it.
func treeCases() (out []treeCase) {
	for _, file := range []string{"page01.html", "img/logo.png", phm.FilesName, phm.MetaName} {
		for _, h := range harms() {
			for _, quiet := range []bool{true, false} {
				same := h.name == "bit flip" || h.name == "zeroed" // in size
				if (quiet != same) && quiet {
					continue
				}
				name := file + " " + h.name
				if same && !quiet {
					name += " with a new time"
				}
				out = append(out, treeCase{name, func(t *testing.T, site string) {
					harmFile(t, filepath.Join(site, "current", file), h, quiet)
				},
					(quiet && strings.Contains(file, "/")) || (quiet && strings.HasSuffix(file, ".html"))})
			}
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, site string) { must(t, os.RemoveAll(filepath.Join(site, name))) }
	}
	relink := func(to string) func(*testing.T, string) {
		return func(t *testing.T, site string) {
			link := filepath.Join(site, "current")
			must(t, errors.Join(os.Remove(link), os.Symlink(to, link)))
		}
	}
	return append(out,
		treeCase{"trees missing", remove("trees"), false},
		treeCase{"current missing", remove("current"), false},
		treeCase{"current dangling", relink("trees/c"), false},
		treeCase{"current points to the tree before", relink("trees/000001"), false},
		treeCase{"the tree before is missing", remove("trees/000001"), false},
		treeCase{"the table before is missing", remove("trees/000001/" + phm.FilesName), false},
		treeCase{"the table before is cut", func(t *testing.T, site string) {
			harmFile(t, filepath.Join(site, "trees/000001", phm.FilesName), harms()[1], true)
		}, false},
		treeCase{"a page of the tree before is missing", remove("trees/000001/page02.html"), false},
		treeCase{"a folder instead of a page", func(t *testing.T, site string) {
			remove("current/page01.html")(t, site)
			must(t, os.MkdirAll(filepath.Join(site, "current/page01.html/sub"), 0o755))
		}, false},
		treeCase{"a file instead of a folder", func(t *testing.T, site string) {
			remove("current/img")(t, site)
			must(t, os.WriteFile(filepath.Join(site, "current/img"), []byte("x"), 0o644))
		}, false},
	)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// harmFile damages one name of a file: the tree has other bytes then, and no other tree or blob. quiet keeps
// its time.
func harmFile(t *testing.T, name string, h harm, quiet bool) {
	t.Helper()
	fi, err := os.Stat(name)
	must(t, err)
	b, err := os.ReadFile(name)
	must(t, err)
	must(t, os.Remove(name))
	if b = h.do(b); b == nil {
		return
	}
	must(t, os.WriteFile(name, b, 0o644))
	at := time.Now().Add(time.Minute)
	if quiet {
		at = fi.ModTime()
	}
	must(t, os.Chtimes(name, at, at))
}

// published is what readers of a mirror see: all files, and the file table.
func published(m *mirrortest.Mirror, t *testing.T) map[string]string {
	t.Helper()
	out := m.Tree()
	table, err := m.Current().ReadFile(phm.FilesName)
	must(t, err)
	out[phm.FilesName] = string(table)
	return out
}

// wantSame compares what readers of two mirrors see.
func wantSame(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	for p := range want {
		if got[p] != want[p] {
			t.Errorf("%s: %s is %.200q, want %.200q", when, p, got[p], want[p])
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("%s: %s should not be there", when, p)
		}
	}
}

// twins are two mirrors of one site: one that is damaged, and one that is not.
type twins struct {
	t          *testing.T
	web        *mirrortest.Web
	hurt, well *mirrortest.Mirror
	changes    int
	loose      bool // they have made different numbers of runs, so that other resources are audited
}

func twinsOf(t *testing.T, w *mirrortest.Web) *twins {
	return &twins{
		t:    t,
		web:  w,
		hurt: mirrortest.New(t, w, job()),
		well: mirrortest.New(t, w, job()),
	}
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	tw := pictured(t)
	tw.run("first", true)
	tw.change()
	tw.run("second", true) // both trees have files now
	return tw
}

// pictured are twins of a site with pictures that have made no run.
func pictured(t *testing.T) *twins {
	t.Helper()
	w := mirrortest.Start(t)
	hub(w, 5)
	w.Set(home+"/page03.html", mirrortest.HTML("Three", `<img src="img/logo.png"><img src="img/other.png">`))
	w.SetAll(home, map[string]mirrortest.Page{
		"/img/logo.png":  {Body: "the picture of the logo"},
		"/img/other.png": {Body: "another picture"},
	})
	return twinsOf(t, w)
}

func (tw *twins) site() string { return filepath.Join(tw.hurt.Dir, "sites/test") }

func (tw *twins) change() {
	tw.changes++
	tw.web.Set(home+"/page04.html",
		mirrortest.HTML("Four", fmt.Sprint("changed for the time number ", tw.changes)))
}

// run makes a run of both mirrors, which must ask for the same and show the same.
func (tw *twins) run(when string, publishes bool) *mirror.Summary {
	tw.t.Helper()
	tw.web.Requests()
	wantVerdict(tw.t, tw.well.Run(), mirror.Complete, publishes)
	want := tw.requests()
	s := tw.hurt.Run() // the helper verifies afterwards
	wantVerdict(tw.t, s, mirror.Complete, publishes)
	if got := tw.requests(); !slices.Equal(got, want) {
		tw.t.Errorf("%s: requests\n%q, want\n%q", when, got, want)
	}
	wantSame(tw.t, when, published(tw.hurt, tw.t), published(tw.well, tw.t))
	return s
}

func (tw *twins) requests() (out []string) {
	for _, r := range tw.web.Requests() {
		out = append(out, fmt.Sprint(r.URL, " ", r.Conditional || tw.loose))
	}
	slices.Sort(out)
	return out
}

// verify notes damage for the next run, and reports whether it found something.
func (tw *twins) verify() (found bool) {
	tw.t.Helper()
	tw.hurt.Site(func(s *store.Site) {
		st, err := report.Verify(tw.t.Context(), s, nil)
		must(tw.t, err)
		found = st.Problems > 0
	})
	return found
}

func (tw *twins) rollback(m *mirrortest.Mirror, number int) {
	tw.t.Helper()
	st, err := store.OpenState(m.Dir, store.Options{Volatile: true, Wait: 10 * time.Second})
	must(tw.t, err)
	defer st.Close()
	s, err := st.OpenSite("test")
	must(tw.t, err)
	defer s.Close()
	sum, err := mirror.Rollback(tw.t.Context(), mirror.Options{
		Job:   m.Job,
		State: st,
		Site:  s,
		Hosts: new(fetch.Hosts),
	}, number)
	if err != nil || !sum.Published {
		tw.t.Errorf("rollback: %+v, %v", sum, err)
	}
}

// past reads a kept version, from the stored records.
func (tw *twins) past(m *mirrortest.Mirror, number int) map[string]string {
	tw.t.Helper()
	out := map[string]string{}
	st, err := store.OpenState(m.Dir, store.Options{Volatile: true, Wait: 10 * time.Second})
	must(tw.t, err)
	defer st.Close()
	s, err := st.ViewSite("test")
	must(tw.t, err)
	defer s.Close()
	p, err := render.OpenPast(render.MaterialOf(st, s), number)
	if err != nil {
		tw.t.Errorf("version %d: %v", number, err)
		return out
	}
	names := []string{phm.FilesName}
	for _, f := range p.Files() {
		names = append(names, f.Path)
	}
	for _, name := range names {
		f, err := p.Open(name)
		if err != nil {
			tw.t.Errorf("version %d: %v", number, err)
			continue
		}
		b, err := io.ReadAll(f)
		must(tw.t, errors.Join(err, f.Close()))
		out[name] = string(b)
	}
	return out
}

// Any file of the published tree that is missing, cut or wrong is made again from the stored bodies by the
// run that meets it: without a request more than an undisturbed mirror makes, with the same bytes, and later
// versions are published as if nothing had been. What only the bytes show is found by Verify, and made again
// by the run after it.
func TestDamagedTreeIsMendedInBulk(t *testing.T) {
	t.Parallel()
	actions := []struct {
		name string
		do   func(tw *twins, c *treeCase)
	}{
		{"run", func(tw *twins, c *treeCase) {
			if c.silent {
				tw.verify()
			}
			tw.run("no change", false)
		}},
		{"run with a change", func(tw *twins, c *treeCase) {
			if c.silent {
				tw.verify()
			}
			tw.change()
			tw.run("a change", true)
		}},
		{"verify and run", func(tw *twins, c *treeCase) {
			if !tw.verify() && !strings.Contains(c.name, "before is") && !strings.Contains(c.name, "table before") {
				tw.t.Error("Verify found nothing")
			}
			tw.run("after Verify", false)
		}},
		{"export", func(tw *twins, c *treeCase) {
			for n := 1; n <= 2; n++ {
				wantSame(tw.t, fmt.Sprint("version ", n), tw.past(tw.hurt, n), tw.past(tw.well, n))
			}
			if c.silent {
				tw.verify()
			}
		}},
		{"rollback", func(tw *twins, c *treeCase) {
			if c.silent {
				tw.verify()
			}
			tw.rollback(tw.well, 1)
			tw.rollback(tw.hurt, 1)
			wantSame(tw.t, "rolled back", published(tw.hurt, tw.t), published(tw.well, tw.t))
		}},
	}
	for i, c := range treeCases() {
		for j, a := range actions {
			if !long() && (i%4 != 0 || (i/4+j)%len(actions) != 0) {
				continue // a sample
			}
			t.Run(c.name+"/"+a.name, func(t *testing.T) {
				tw := newTwins(t)
				c.damage(t, tw.site())
				a.do(tw, &c)
				for range 2 { // in each of the trees
					tw.change()
					tw.run("later", true)
				}
				tw.run("at the end", false)
				for n := 1; n <= 3; n++ {
					wantSame(t, fmt.Sprint("version ", n), tw.past(tw.hurt, n), tw.past(tw.well, n))
				}
			})
		}
	}
}

// What cannot be made again, because the stored body is damaged as well, is requested again by the run that
// meets it.
func TestDamagedTreeAndBody(t *testing.T) {
	for _, c := range []struct {
		name, page string
		damage     func(t *testing.T, tw *twins)
	}{
		{"a page", "page01.html", func(t *testing.T, tw *twins) {
			must(t, os.Remove(filepath.Join(tw.site(), "current/page01.html")))
			harmFrame(t, tw.hurt, home+"/page01.html")
		}},
		{"an image, through all its names", "img/logo.png", func(t *testing.T, tw *twins) {
			must(t, os.WriteFile(filepath.Join(tw.site(), "current/img/logo.png"),
				[]byte("the picture of the LOGO"), 0o644))
			at := time.Now().Add(time.Minute)
			must(t, os.Chtimes(filepath.Join(tw.site(), "current/img/logo.png"), at, at))
		}},
	} {
		for _, change := range []bool{false, true} {
			if change && !long() {
				continue
			}
			t.Run(fmt.Sprint(c.name, ", change ", change), func(t *testing.T) {
				tw := newTwins(t)
				c.damage(t, tw)
				tw.hurt.Damaged = true
				if change {
					tw.change()
				}
				tw.web.Requests()
				wantVerdict(t, tw.hurt.Run(), mirror.Complete, change)
				again := 0
				for _, r := range tw.web.Requests() {
					if r.URL == home+"/"+c.page && !r.Conditional {
						again++
					}
				}
				if again != 1 {
					t.Errorf("requested %d times, want once", again)
				}
				wantVerdict(t, tw.well.Run(), mirror.Complete, change)
				tw.loose = true
				wantSame(t, "repaired", published(tw.hurt, t), published(tw.well, t))
				tw.change()
				tw.run("later", true)
				tw.change()
				tw.run("later", true)
			})
		}
	}
}

// harmFrame flips a bit of the stored body of a document.
func harmFrame(t *testing.T, m *mirrortest.Mirror, url string) {
	t.Helper()
	var at record.Place
	m.Site(func(s *store.Site) {
		must(t, s.Records.Resources(func(r *record.Resource) error {
			if r.URL.String() == url {
				at = r.At
			}
			return nil
		}))
	})
	name := filepath.Join(m.Dir, "sites/test/packs", fmt.Sprintf("%06d.pack", at.Pack))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	var b [1]byte
	off := at.Off + int64(at.Len) - 8
	_, err = f.ReadAt(b[:], off)
	must(t, err)
	b[0] ^= 1
	_, err = f.WriteAt(b[:], off)
	must(t, errors.Join(err, f.Close()))
}

// Without the file table, and without the bodies to make it again, the next version is published whole; so is
// it for a mirror that was imported.
func TestLostTable(t *testing.T) {
	tw := newTwins(t)
	must(t, os.Remove(filepath.Join(tw.site(), "current", phm.FilesName)))
	harmFrame(t, tw.hurt, home+"/page01.html")
	tw.hurt.Damaged = true
	tw.hurt.Run() // finds the body damaged
	s := tw.hurt.Run()
	wantVerdict(t, tw.well.Run(), mirror.Complete, false)
	tw.loose = true
	wantSame(t, "made again", published(tw.hurt, t), published(tw.well, t))
	if s.Version != 3 {
		t.Errorf("version %d", s.Version)
	}
	tw.change()
	tw.run("later", true)
}

// Who looks at a no-change run after a repair sees that no file was touched.
func TestMendedTreeStaysUntouched(t *testing.T) {
	tw := newTwins(t)
	must(t, os.Remove(filepath.Join(tw.site(), "current/page01.html")))
	before := tw.hurt.Stamps()
	s := tw.run("repairs", false)
	wantText(t, s, "damage of the published tree was repaired", "page01.html")
	after := tw.hurt.Stamps()
	for p, was := range before {
		if p != "page01.html" && after[p] != was {
			t.Errorf("%s: %v, was %v", p, after[p], was)
		}
	}
	s = tw.run("has nothing to mend", false)
	if strings.Contains(mirrortest.Text(s), "repaired") {
		t.Error(mirrortest.Text(s))
	}
	for p, was := range after {
		if now := tw.hurt.Stamps()[p]; now != was {
			t.Errorf("%s: %v, was %v", p, now, was)
		}
	}
}
