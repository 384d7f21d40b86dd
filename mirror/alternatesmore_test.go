// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// The job names the site without www, which redirects to it: replicas stand for the place where the pages
// are.
func TestAlternatesOfASiteThatRedirects(t *testing.T) {
	const short, www = "http://h.example", "http://www.h.example"
	w := mirrortest.Start(t)
	pages := handbook(24)
	w.SetAll(www, pages)
	w.Set(short+"/", mirrortest.Redirect(www+"/"))
	replicate(w, pages)
	m := mirrortest.New(t, w,
		fmt.Sprintf("url = %q\nscope = \"domain\"\nalternates = [%q]\n", short+"/", copyBase)+replacing)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, copyBase+" was tested and is used when the origin fails (level 1 by 19 of 19 tests")
	for p := range pages {
		w.Remove(www + p)
	}
	there := maps.Clone(pages)
	there["/p03.html"] = newer(mirrortest.HTML("Page 3", "<p>news "+edited(3)))
	replicate(w, there)
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Alternates[copyBase] < 24 || s.Foreign != 1 || s.Changed != 1 {
		t.Errorf("%v, %d foreign, %d changed\n%s", s.Alternates, s.Foreign, s.Changed, mirrortest.Text(s))
	}
	if x := explanation(t, m, www+"/p03.html"); !strings.Contains(strings.Join(x.Rules, "\n"),
		copyBase+"p03.html is used") {
		t.Errorf("explained as %q", x.Rules)
	}
}

// A replica that sends all who ask to another place has to be named by that.
func TestAlternateThatRedirectsElsewhere(t *testing.T) {
	const moved = "http://new.example.net/pub/"
	w := mirrortest.Start(t)
	pages := handbook(24)
	w.SetAll(home, pages)
	for p, page := range pages {
		w.Set(copyBase+p[1:], mirrortest.Redirect(moved+p[1:]))
		w.Set(moved+p[1:], page)
	}
	m := mirrortest.New(t, w, withAlternates())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, copyBase+" redirects to "+moved+
		": nothing is taken from there unless alternates names that place")
	takeDown(w, pages)
	w.Requests()
	s = m.Run()
	if s.Verdict != mirror.Partial || s.Published || len(s.Alternates) != 0 {
		t.Errorf("%v\n%s", s.Alternates, mirrortest.Text(s))
	}
	wantText(t, s, "redirects to "+moved)
}

// Addresses with escapes, queries and letters of other languages are asked of the replica as they are of the
// origin.
func TestAlternatesOfStrangeAddresses(t *testing.T) {
	w := mirrortest.Start(t)
	pages := handbook(12)
	strange := []string{"/a%20b.html", "/x.html?q=1&r=a%2Fb", "/x.html?q=2", "/%C3%BC/%E4.html", "/dir/",
		"/a//b.html", "/~user/;p=1/c.html", "/100%25.html", "/q?"}
	var links strings.Builder
	for i, p := range strange {
		fmt.Fprintf(&links, "<a href=%q>%d</a> ", home+p, i)
		pages[p] = mirrortest.HTML(p, "<p>"+prose(200+i, 0))
	}
	pages["/"] = mirrortest.HTML("Handbook", pages["/"].Body+links.String())
	pages["/dir"] = mirrortest.Redirect(home + "/dir/")
	w.SetAll(home, pages)
	there := maps.Clone(pages)
	there["/dir"] = mirrortest.Redirect(copyBase + "dir/")
	replicate(w, there)
	m := mirrortest.New(t, w, replacing+withAlternates())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	files := len(m.ByURL())
	takeDown(w, pages)
	for i, p := range strange {
		there[p] = newer(mirrortest.HTML(p, "<p>news "+prose(200+i, 0)))
	}
	replicate(w, there)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Foreign != len(strange) || s.Changed != len(strange) || s.Removed != 0 || len(m.ByURL()) != files {
		t.Errorf("%d foreign, %d changed, want %d\n%s", s.Foreign, s.Changed, len(strange), mirrortest.Text(s))
	}
	for u, text := range m.ByURL() {
		if rec := recordOf(t, m, u); rec.Source != "" && (!strings.Contains(text, "news") ||
			strings.TrimPrefix(rec.Source, copyBase) != strings.TrimPrefix(u, home+"/")) {
			t.Errorf("%s is of %s: %.60q", u, rec.Source, text)
		}
	}
}

// A replica that names types and robots rules of its own for the same bytes changes nothing.
func TestAlternateWithOtherHeaders(t *testing.T) {
	pages := handbook(24)
	pages["/p02"] = mirrortest.HTML("Page", `<meta name="robots" content="nofollow"><p>`+prose(60, 0))
	pages["/p03.html"] = mirrortest.HTML("Page 3", `<a href="p02">2</a><p>`+prose(3, 0))
	w, m := replicated(t, pages, replacing)
	before := m.Stamps()
	takeDown(w, pages)
	there := maps.Clone(pages)
	for p, page := range pages {
		page.Header = map[string]string{
			"Content-Type":  "text/plain; charset=iso-8859-1",
			"X-Robots-Tag":  "nofollow",
			"Last-Modified": "Mon, 02 Mar 2026 00:00:00 GMT",
		}
		there[p] = page
	}
	replicate(w, there)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if s.Foreign != 0 || s.AlternatesSame != int64(len(pages)) || !maps.Equal(before, m.Stamps()) {
		t.Errorf("%d foreign, %d as held\n%s", s.Foreign, s.AlternatesSame, mirrortest.Text(s))
	}
	w.SetAll(home, pages)
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if !maps.Equal(before, m.Stamps()) {
		t.Error("the origin is back, and files were touched")
	}

	// New bytes of a replica that knows no types keep theirs, and their place.
	takeDown(w, pages)
	news := there["/p02"]
	news.Body += "<p>news"
	news.Header = maps.Clone(news.Header)
	delete(news.Header, "Last-Modified")
	there["/p02"] = newer(news)
	replicate(w, there)
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Added != 0 || s.Changed != 1 || !strings.Contains(m.Tree()["p02.html"], "news") {
		t.Errorf("%s", mirrortest.Text(s))
	}
}

// Neither credentials nor cookies go to a replica, be it in the domain that a cookie is for.
func TestAlternatesLearnNoSecrets(t *testing.T) {
	const base = "http://mirror.example.org/pub/"
	w := mirrortest.Start(t)
	pages := handbook(24)
	first := pages["/"]
	first.Header = map[string]string{
		"Content-Type": "text/html",
		"Set-Cookie":   "seen=s3cret; Domain=example.org; Path=/",
	}
	pages["/"] = first
	w.SetAll(home, pages)
	for p, page := range pages {
		w.Set(base+p[1:], page)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"password": "s3cret\n",
		"cookies":  ".example.org\tTRUE\t/\tFALSE\t0\tgiven\ts3cret\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := mirrortest.New(t, w,
		job(fmt.Sprintf("alternates = [%q]\nauth.user = \"reader\"\nauth.password_file = %q\nauth.headers = { "+
			"\"X-Token\" = { file = %q } }\nauth.cookies = true\nauth.cookies_file = %q\n"+replacing,
			base, filepath.Join(dir, "password"), filepath.Join(dir, "password"), filepath.Join(dir, "cookies"))))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	takeDown(w, pages)
	for p, page := range pages {
		page.Body += "<!-- news -->"
		w.Set(base+p[1:], newer(page))
	}
	s := m.Run()
	if wantVerdict(t, s, mirror.Complete, true); s.Foreign == 0 {
		t.Errorf("nothing came from the replica\n%s", mirrortest.Text(s))
	}
	told := 0
	for _, r := range w.Requests() {
		if r.Header.Get("X-Token") != "" && r.Header.Get("Authorization") != "" &&
			strings.Contains(r.Header.Get("Cookie"), "given=s3cret") {
			told++
		}
		for name, v := range r.Header {
			if strings.HasPrefix(r.URL, base) && (name == "Authorization" || name == "Cookie" || name == "Referer" ||
				strings.Contains(strings.Join(v, ""), "s3cret")) {
				t.Fatalf("%s was sent %s: %q", r.URL, name, v)
			}
		}
	}
	if told == 0 {
		t.Error("the origin was not sent them either")
	}
}

// A database that is made again from the published version still knows what a replica sent: the origin is
// asked for that without the replica's date.
func TestAlternatesAfterRebuild(t *testing.T) {
	pages := handbook(24)
	dated := func(body string, day int) mirrortest.Page {
		return mirrortest.Page{
			Body:  body,
			NoTag: true,
			Header: map[string]string{"Last-Modified": time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC).Format(
				http.TimeFormat)},
		}
	}
	pages["/notes.txt"] = dated(prose(60, 0), 10)
	pages["/p02.html"] = mirrortest.HTML("Page 2", `<a href="notes.txt">notes</a><p>`+prose(2, 0))
	w, m := replicated(t, pages, replacing)
	takeDown(w, pages)
	w.Set(copyBase+"notes.txt", dated(edited(60), 20))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	st := reopen(t, m.Dir)
	if _, err := st.Rebuild("test"); err != nil {
		t.Fatal(err)
	}
	if rec := recordOf(t, m, home+"/notes.txt"); rec.Source != copyBase+"notes.txt" {
		t.Errorf("made again: of %q", rec.Source)
	}
	w.SetAll(home, pages)
	w.Requests()
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for _, r := range w.Requests() {
		if r.URL == home+"/notes.txt" && r.Conditional {
			t.Error("the origin was asked by a replica's date")
		}
	}
	if got := m.Tree()["notes.txt"]; got != prose(60, 0) {
		t.Errorf("the mirror has the file %s", got)
	}
}
