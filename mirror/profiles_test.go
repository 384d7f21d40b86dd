// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"mirrord/mirror"
	"mirrord/site/profile"
	"mirrord/testing/mirrortest"
)

// setWiki makes a wiki of so many articles, each with a form and a history.
func setWiki(w *mirrortest.Web, articles int, head string) {
	page := func(title, text string) mirrortest.Page { return mirrortest.HTML(title, head+text) }
	var links strings.Builder
	for i := range articles {
		at := fmt.Sprintf("/wiki/Quay_%d", i)
		fmt.Fprintf(&links, "<a href=%s>Quay %d</a> ", at, i)
		w.Set(home+at, page(fmt.Sprint("Quay ", i), fmt.Sprintf(
			"<p>Quay %d has %d bollards.</p><a href='%s?action=edit'>edit</a> "+
				"<a href='%s?action=history'>history</a>",
			i, 7*i, at, at)))
		for _, form := range []string{"edit", "history"} {
			w.Set(home+at+"?action="+form, page(form, fmt.Sprintf("%s of quay %d", form, i)))
		}
	}
	w.Set(home+"/", page("Quays", links.String()))
}

// forms counts the pages of a mirror that are no articles.
func forms(m *mirrortest.Mirror) (n int) {
	for u := range m.ByURL() {
		if strings.Contains(u, "action=") {
			n++
		}
	}
	return n
}

const ofMediaWiki = `<meta name="generator" content="MediaWiki 1.43.0">`

// The first page of a wiki tells its program: what its profile leaves is never requested, links to the
// origin, and is in the summary.
func TestProfileOfProgram(t *testing.T) {
	w := mirrortest.Start(t)
	setWiki(w, 6, ofMediaWiki)
	m := mirrortest.New(t, w, job())
	for run := range 2 {
		s := m.Run()
		if n := len(m.ByURL()); forms(m) != 0 || n != 7 {
			t.Fatalf("run %d: %d pages, %d of them forms", run+1, n, forms(m))
		}
		left := 0
		for _, n := range s.Notes {
			if strings.HasPrefix(n.What, "profile mediawiki leaves ") {
				left += n.Count
			}
		}
		if run == 0 && left != 12 {
			t.Errorf("%d addresses are said to be left", left)
		}
		for _, r := range w.Requests() {
			if strings.Contains(r.URL, "action=") {
				t.Errorf("run %d requested %s", run+1, r.URL)
			}
		}
	}
	page := m.Tree()["wiki/Quay_3.html"]
	if want := home + "/wiki/Quay_3?action=edit"; !strings.Contains(page, want) {
		t.Errorf("no link to %s in %q of %v", want, page, m.Paths())
	}
}

// A mirror that has what a profile leaves keeps it; only the name of a profile in the job takes it out, which
// needs no review, and older versions keep it. Without a profile all is there again.
func TestProfileOfOldMirror(t *testing.T) {
	w := mirrortest.Start(t)
	setWiki(w, 6, "")
	m := mirrortest.New(t, w, job())
	m.Run()
	if forms(m) != 12 {
		t.Fatalf("%d forms of a program that nothing tells", forms(m))
	}
	setWiki(w, 7, ofMediaWiki)
	m.Run()
	if n := forms(m); n != 12 {
		t.Errorf("with a profile that was found later: %d forms", n)
	}
	if paths := m.ByURL(); paths[home+"/wiki/Quay_6"] == "" {
		t.Errorf("a new article is not there: %v", paths)
	}
	for range 2 { // each report of a run says what the name would do
		note := notesWith(m.Run(), `profile = "mediawiki" in the job file would take out`)
		if note.Count != 12 || !strings.Contains(note.Examples[0], "action=") {
			t.Errorf("12 forms would leave: %+v", note)
		}
	}
	m.Set("profile", "mediawiki")
	s := m.Run()
	if !s.Published || forms(m) != 0 || notesWith(s, "would take out").Count > 0 {
		t.Errorf("named: %d forms, published %v, %v, %v", forms(m), s.Published, s.Reasons, s.Notes)
	}
	m.Set("profile", "none")
	if m.Run(); forms(m) != 14 {
		t.Errorf("without a profile: %d forms", forms(m))
	}
}

// notesWith returns the note of a report that has a text.
func notesWith(s *mirror.Summary, text string) (found mirror.Note) {
	for _, n := range s.Notes {
		if strings.Contains(n.What, text) {
			found = n
		}
	}
	return found
}

// A profile that was changed, or removed, counts from the next run on: what the mirror has it keeps, and what
// is left no longer it gets, although no page changed that names it.
func TestProfileChanged(t *testing.T) {
	w := mirrortest.Start(t)
	setWiki(w, 6, ofMediaWiki)
	m := mirrortest.New(t, w, job())
	use := func(text string) {
		t.Helper()
		var errs []error
		files := fstest.MapFS{"mediawiki.toml": {Data: []byte("generator = ['MediaWiki']\n" + text)}}
		if m.Job.Profiles, errs = profile.Known().With(files); len(errs) > 0 {
			t.Fatal(errs)
		}
	}
	for _, c := range []struct {
		text        string
		forms, kept int
	}{
		{"left = ['?action=edit', '?action=history']", 0, 0},
		{"left = ['?action=edit']", 6, 0},
		{"left = ['?action']", 6, 6},
		{"left = []", 12, 0},
	} {
		use(c.text)
		s := m.Run()
		kept := notesWith(s, "would take out").Count
		if forms(m) != c.forms || kept != c.kept || s.Verdict != mirror.Complete {
			t.Errorf("%s: %d forms, %d would leave; %s", c.text, forms(m), kept, mirrortest.Text(s))
		}
	}
}

// What a profile names as noise makes no version, also where two answers of one moment have it in common.
func TestNoiseOfProfile(t *testing.T) {
	w := mirrortest.Start(t)
	made := func(report string) string { return ofMediaWiki + "<!-- NewPP limit report\n" + report + " -->" }
	setWiki(w, 6, made("Cached time: 20261128120000\n100.00% -total"))
	m := mirrortest.New(t, w, job())
	m.Run()
	setWiki(w, 6, made("Cached time: 20261129150000\n 60.00% Template:Boat"))
	if s := m.Run(); s.Published {
		t.Errorf("a version is published for %d pages", s.Changed)
	}
	setWiki(w, 7, made("Cached time: 20261130150000"))
	if s := m.Run(); !s.Published || s.Added != 1 || s.Changed != 1 {
		t.Errorf("an edit: %d added, %d changed", s.Added, s.Changed)
	}
}

// scope.include takes in what a profile leaves.
func TestProfileAndInclude(t *testing.T) {
	w := mirrortest.Start(t)
	setWiki(w, 4, ofMediaWiki)
	m := mirrortest.New(t, w, job()+`include = '**/Quay_*\?action=history'`)
	if m.Run(); forms(m) != 4 {
		t.Errorf("%d forms: %v", forms(m), m.Paths())
	}
}

// A code browser whose pages all say nofollow is one page, which the run says, until the job follows what its
// profile wants.
func TestNofollowByProfile(t *testing.T) {
	w := mirrortest.Start(t)
	page := func(body string) mirrortest.Page {
		return mirrortest.HTML("Files", "<meta name=robots content='index, nofollow'>"+body+
			"<img src=/static/hglogo.png alt=mercurial>")
	}
	w.Set(home+"/", page("<a href=/file>files</a> <a href=/annotate/tip/a.txt>blame</a> "+
		"<a href=/rev/0f3a>change</a>"))
	w.Set(home+"/file", page("<a href=/file/tip/a.txt>a.txt</a> <a href=/file/0f3a/a.txt>old</a>"))
	for _, p := range []string{"/file/tip/a.txt", "/file/0f3a/a.txt", "/annotate/tip/a.txt", "/rev/0f3a"} {
		w.Set(home+p, page("text of "+p))
	}
	m := mirrortest.New(t, w, job())
	s := m.Run()
	if text := mirrortest.Text(s); !strings.Contains(text, "obey_nofollow") || len(m.ByURL()) != 1 {
		t.Errorf("%d pages; the summary says nothing of it: %s", len(m.ByURL()), text)
	}
	m.Set("obey_nofollow", `"profile"`)
	s = m.Run()
	var got []string
	for u := range m.ByURL() {
		got = append(got, strings.TrimPrefix(u, home))
	}
	slices.Sort(got)
	if want := "[/ /file /file/tip/a.txt /rev/0f3a]"; fmt.Sprint(got) != want || len(s.Reasons) > 0 {
		t.Errorf("%v, want %s; %v", got, want, s.Reasons)
	}
}

// A profile of the user: its program shows itself by a cookie, URLs are asked without a parameter that does
// not matter, and the page of edits comes first in later runs.
func TestProfileOfUser(t *testing.T) {
	set, errs := profile.Known().With(fstest.MapFS{"tidewiki.toml": {Data: []byte(
		"cookie = ['tide']\nsame = ['tideid']\nleft = ['?form']\nedits = ['/news.xml']\n")}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	w := mirrortest.Start(t)
	entry := mirrortest.HTML("Tides", "<a href='/a?tideid=7'>a</a> <a href='/a?tideid=9&form=1'>b</a>"+
		"<a href=/news.xml>news</a>")
	entry.Header["Set-Cookie"] = "TideSession=8f; path=/"
	w.Set(home+"/", entry)
	w.Set(home+"/a", mirrortest.HTML("A", "text of a"))
	w.Set(home+"/news.xml", mirrortest.Page{Body: "<rss version='2.0'><channel></channel></rss>"})
	m := mirrortest.New(t, w, job())
	m.Job.Profiles = set
	m.Run()
	asked := w.Asked()
	if asked[home+"/a"] != 1 || asked[home+"/a?tideid=7"]+asked[home+"/a?tideid=9&form=1"] > 0 {
		t.Errorf("requests: %v", asked)
	}
	got := m.Tree()["index.html"]
	if !strings.Contains(got, "href='a.html'") || !strings.Contains(got, home+"/a?") {
		t.Errorf("links: %s", got)
	}
	if got := explain(t, m, home+"/news.xml"); !strings.Contains(got, "priority: it comes first") {
		t.Errorf("the page of edits: %s", got)
	}
	if got := explain(t, m, home+"/a?tideid=3"); !strings.Contains(got, "asked as "+home+"/a\n") {
		t.Errorf("the parameter: %s", got)
	}
}

// The tables of miniserve, in an order with each link, are one request for each directory.
func TestOrdersOfMiniserve(t *testing.T) {
	w := mirrortest.Start(t)
	list := func(dir string, names ...string) {
		for _, query := range []string{"", "?sort=name&order=asc", "?sort=date&order=asc"} {
			var rows strings.Builder
			for _, name := range names {
				mark, carry := "file", query
				if strings.HasSuffix(name, "/") {
					mark = "directory"
				} else {
					carry = ""
				}
				fmt.Fprintf(&rows, `<tr><td><p><a class="%s" href="%s%s%s">%s</a></p></td><td></td></tr>`, mark, dir,
					name, carry, name)
			}
			w.Set(home+dir+query, mirrortest.HTML("Index of "+dir, `<table><thead><th class="name"><span>`+
				`<a href="?sort=name&amp;order=asc">Name</a></span></th><th class="date"><a `+
				`href="?sort=date&amp;order=asc">Last modification</a></th></thead><tbody>`+rows.String()+
				`</tbody></table><div class="footer"><div class="version">`+
				`<a href="https://github.com/svenstaro/miniserve">miniserve</a>/0.29.0</div></div>`))
		}
	}
	list("/", "a/", "b/")
	list("/a/", "x.html")
	list("/b/", "y.html")
	for _, page := range []string{"/a/x.html", "/b/y.html"} {
		w.Set(home+page, mirrortest.HTML(page, "text of "+page))
	}
	m := mirrortest.New(t, w, job())
	m.Run()
	if n := len(m.ByURL()); n != 5 {
		t.Errorf("%d files: %v", n, m.Paths())
	}
	for u, n := range w.Asked() {
		if strings.Contains(u, "?") || n > 1 {
			t.Errorf("%s is requested %d times", u, n)
		}
	}
}
