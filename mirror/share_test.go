// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// indexPages is a site on which directories are linked by both of their names.
func indexPages(title string) map[string]mirrortest.Page {
	home := mirrortest.HTML("Home",
		`<a href="/">root</a> <a href="index.html">index</a> <a href="a/">a</a> <a href="a/index.html#part">a index</a> <a href="b.html">b</a>`)
	a := mirrortest.HTML(title, `<a href="../">up</a> <a href="index.html">self</a> <a href="./">also self</a>`)
	return map[string]mirrortest.Page{
		"/": home, "/index.html": home, "/a/": a, "/a/index.html": a,
		"/b.html": mirrortest.HTML("B",
			`<a href="/a/">slash</a> <a href="/a/index.html">index</a> <a href="/index.html">home</a>`),
	}
}

// alsoOf reads which URLs share the file at a path.
func alsoOf(t *testing.T, m *mirrortest.Mirror, path string) []string {
	t.Helper()
	table, err := m.Current().Open(phm.FilesName)
	must(t, err)
	defer table.Close()
	for f, err := range phm.Files(table) {
		must(t, err)
		if f.Path == path {
			return f.Also()
		}
	}
	t.Errorf("no file %s", path)
	return nil
}

func wantFiles(t *testing.T, when string, m *mirrortest.Mirror, want ...string) {
	t.Helper()
	got := m.Paths()
	if !slices.Equal(got, want) {
		t.Errorf("%s: files %q, want %q", when, got, want)
	}
}

// The same bytes under a directory and under the name of its index are one file, to which links to both lead.
// That stays so over later versions, and in old ones; a no-change run changes nothing.
func TestIndexIsOneFile(t *testing.T) {
	w := mirrortest.Start(t)
	w.SetAll(home, indexPages("A"))
	m := mirrortest.New(t, w, job())
	m.Set("scope.learn_sessions", "false") // else the two are a pair soon, of which one is requested
	wantVerdict(t, m.Run(), mirror.Complete, true)
	one := []string{"a/index.html", "b.html", "index.html"}
	wantFiles(t, "first", m, one...)
	if got, want := alsoOf(t, m, "a/index.html"), []string{home + "/a/index.html"}; !slices.Equal(got, want) {
		t.Errorf("shared by %q, want %q", got, want)
	}
	for _, want := range []string{`<a href="a/index.html">slash</a> <a href="a/index.html">index</a> <a href="index.html">home</a>`} {
		if got := m.Tree()["b.html"]; !strings.Contains(got, want) {
			t.Errorf("b.html is %q, want %q", got, want)
		}
	}
	stamps := m.Stamps()
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if got := m.Stamps(); !maps.Equal(got, stamps) {
		t.Errorf("a no-change run changed files: %v, were %v", got, stamps)
	}

	// Both change together.
	first := m.Tree()
	w.SetAll(home, indexPages("A, changed"))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantFiles(t, "changed together", m, one...)
	if s.Changed != 1 || s.Added+s.Removed != 0 {
		t.Errorf("changes: %s", mirrortest.Text(s))
	}

	// One of the two fails or is not looked at: it is not known whether they differ.
	w.Set(home+"/a/", mirrortest.HTML("A, changed once more", "x"))
	w.Set(home+"/a/index.html", mirrortest.Status(500))
	m.Set("limits.max_failures", "1.0")
	m.Run()
	wantFiles(t, "one failed", m, one...)
	w.Set(home+"/a/index.html", mirrortest.HTML("A, changed once more", "x"))
	m.Run()
	wantFiles(t, "well again", m, one...)

	// They come to differ: each has a file now, for good.
	w.Set(home+"/a/index.html", mirrortest.HTML("A of its own", "x"))
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	two := m.Paths()
	if len(two) != 4 || two[1] != "a/index~"+strings.TrimPrefix(two[1], "a/index~") ||
		alsoOf(t, m, "a/index.html") != nil {
		t.Errorf("files %q", two)
	}
	if got, want := m.Tree()["b.html"], `<a href="a/index.html">slash</a> <a href="`+two[1]+
		`">index</a>`; !strings.Contains(got, want) {
		t.Errorf("b.html is %q, want %q", got, want)
	}
	w.Set(home+"/a/index.html", mirrortest.HTML("A, changed once more", "x"))
	m.Run()
	wantFiles(t, "equal again", m, two...)
	wantVerdict(t, m.Run(), mirror.Complete, false)

	// The first version is what it was.
	tw := &twins{t: t}
	old := tw.past(m, 1)
	delete(old, phm.FilesName)
	wantSame(t, "version 1", old, first)
	tw.rollback(m, 1)
	wantSame(t, "rolled back", m.Tree(), first)
}

// Whichever name comes first has the path; the other one shares it from the run on that meets it, and takes
// it over when the first one leaves.
func TestIndexComesLater(t *testing.T) {
	page := mirrortest.HTML("A", "the same")
	for _, c := range []struct{ first, second string }{{"/a/", "/a/index.html"}, {"/a/index.html", "/a/"}} {
		t.Run(c.second+" later", func(t *testing.T) {
			w := mirrortest.Start(t)
			link := func(to ...string) mirrortest.Page {
				var b strings.Builder
				for _, u := range to {
					b.WriteString(`<a href="` + u + `">x</a> `)
				}
				return mirrortest.HTML("Home", b.String())
			}
			w.SetAll(home, map[string]mirrortest.Page{
				"/":           link(c.first),
				c.first:       page,
				"/other.html": link("/a/", "/a/index.html"),
			})
			m := mirrortest.New(t, w, job())
			m.Set("limits.max_delete", "1.0")
			m.Run()
			wantFiles(t, "one name", m, "a/index.html", "index.html")
			w.SetAll(home, map[string]mirrortest.Page{"/": link(c.first, c.second, "/other.html"), c.second: page})
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			wantFiles(t, "both", m, "a/index.html", "index.html", "other.html")
			if got := alsoOf(t, m, "a/index.html"); !slices.Equal(got, []string{home + c.second}) {
				t.Errorf("shared by %q", got)
			}
			wantVerdict(t, m.Run(), mirror.Complete, false)

			w.Set(home+c.first, mirrortest.Redirect(home+c.second))
			s = m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			wantFiles(t, "the first one redirects", m, "a/index.html", "index.html", "other.html")
			if got := alsoOf(t, m, "a/index.html"); got != nil {
				t.Errorf("shared by %q", got)
			}
			wantVerdict(t, m.Run(), mirror.Complete, false)
			w.Set(home+c.first, page)
			m.Run()
			wantFiles(t, "it is back", m, "a/index.html", "index.html", "other.html")
			if got := alsoOf(t, m, "a/index.html"); !slices.Equal(got, []string{home + c.first}) {
				t.Errorf("shared by %q", got)
			}
			w.Remove(home + c.second) // the owner is gone, and links to it lead to the site
			m.Run()
			m.Run()
			wantFiles(t, "the owner is gone", m, "a/index.html", "index.html", "other.html")
			wantVerdict(t, m.Run(), mirror.Complete, false)
		})
	}
}

// The name to which nothing links now is dropped from the line of the file in the same run.
func TestIndexLosesAName(t *testing.T) {
	w := mirrortest.Start(t)
	page := mirrortest.HTML("A", "the same")
	w.SetAll(home, map[string]mirrortest.Page{
		"/": mirrortest.HTML("Home", `<a href="a/">a</a> <a href="a/index.html">index</a>`), "/a/": page,
		"/a/index.html": page,
	})
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := alsoOf(t, m, "a/index.html"); len(got) != 1 {
		t.Fatalf("shared by %q", got)
	}
	w.Set(home+"/", mirrortest.HTML("Home", `<a href="a/">a</a>`))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := alsoOf(t, m, "a/index.html"); got != nil {
		t.Errorf("shared by %q, to which nothing links", got)
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
	w.Set(home+"/a/", mirrortest.HTML("A", "other"))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Changed != 1 || s.Added+s.Removed != 0 {
		t.Errorf("changes: %s", mirrortest.Text(s))
	}
}

// A mirror in which the index has a file of its own from before keeps it.
func TestIndexKeepsItsPath(t *testing.T) {
	w := mirrortest.Start(t)
	pages := indexPages("A")
	w.SetAll(home, pages)
	w.Set(home+"/a/index.html", mirrortest.HTML("Other", "bytes"))
	m := mirrortest.New(t, w, job())
	m.Run()
	before := m.Paths()
	if len(before) != 4 {
		t.Fatalf("files %q", before)
	}
	w.Set(home+"/a/index.html", pages["/a/"])
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantFiles(t, "the same bytes now", m, before...)
	records := 0
	m.Site(func(s *store.Site) {
		must(t, s.Records.Resources(func(r *record.Resource) error {
			if r.InSet && r.Path != "" {
				records++
			}
			return nil
		}))
	})
	if records != 4 {
		t.Errorf("%d records with a path", records)
	}
}
