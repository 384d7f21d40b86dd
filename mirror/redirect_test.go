// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// TestCircleKeepsTheOldCopy: pages that come to redirect to themselves, or to one another, are failures run
// after run; the copies stay, with what only they link to, and no request is wasted on a second look.
func TestCircleKeepsTheOldCopy(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	hub(w, 12)
	page := func(name string) mirrortest.Page {
		return mirrortest.HTML(name, fmt.Sprintf("<p>%s <a href=%s-child.html>child</a>", name, name))
	}
	for _, name := range []string{"page00", "page01", "page02", "page03"} {
		w.Set(home+"/"+name+".html", page(name))
		w.Set(home+"/"+name+"-child.html", mirrortest.HTML(name+" child", "child"))
	}
	m := mirrortest.New(t, w, job(`limits.max_delete = "100%"`))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Tree()
	w.Set(home+"/page00.html", mirrortest.Redirect("page00.html#top"))
	w.Set(home+"/page01.html", mirrortest.Redirect("/page02.html"))
	w.Set(home+"/page02.html", mirrortest.Redirect("/page01.html"))
	w.Set(home+"/page03.html", mirrortest.Redirect("/page01.html")) // leads into the circle
	for run := 2; run <= 5; run++ {
		w.Asked()
		s := m.Run()
		if s.Verdict != mirror.Complete {
			t.Fatalf("run %d: %s", run, mirrortest.Text(s))
		}
		asked := w.Asked()
		for _, name := range []string{"page00", "page01", "page02"} {
			if asked[home+"/"+name+".html"] != 1 {
				t.Errorf("run %d asked %s %d times", run, name, asked[home+"/"+name+".html"])
			}
			for _, p := range []string{name + ".html", name + "-child.html"} {
				if got := m.Tree()[p]; got != before[p] {
					t.Errorf("run %d: %s is %q, want %q", run, p, got, before[p])
				}
			}
		}
		outcomes := m.Outcomes()
		for name, want := range map[string]string{
			"page00": "failed: status 302 to itself",
			"page01": "failed: redirects in a circle: ",
			"page02": "failed: redirects in a circle: ",
		} {
			if got := outcomes[home+"/"+name+".html"]; !strings.Contains(got, want) {
				t.Errorf("run %d: %s is %q, want %q", run, name, got, want)
			}
		}
		if !strings.Contains(m.Tree()["index.html"], `<a href="page01.html">3</a>`) {
			t.Errorf("run %d: the link to page03 does not lead to page01: %s", run, m.Tree()["index.html"])
		}
	}
	for _, name := range []string{"page00", "page01", "page02", "page03"} {
		w.Set(home+"/"+name+".html", page(name))
	}
	m.Run()
	for p, want := range before {
		if got := m.Tree()[p]; got != want && strings.HasSuffix(p, ".html") {
			t.Errorf("%s came back as %q, want %q", p, got, want)
		}
	}
}

// TestCircleUnderNewRules: the copy of a page that redirects in a circle is read again when the rules of the
// job change, as that of any page that fails, and what it links to is requested in the same run.
func TestCircleUnderNewRules(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	hub(w, 12)
	w.Set(home+"/page01.html", mirrortest.HTML("One", "<p>one <a rel=nofollow href=held-back.html>x</a>"))
	w.Set(home+"/held-back.html", mirrortest.HTML("Held back", "x"))
	m := mirrortest.New(t, w, job(`obey_nofollow = true`))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if m.Tree()["held-back.html"] != "" {
		t.Fatal("nofollow is not obeyed")
	}
	w.Set(home+"/page01.html", mirrortest.Redirect("/page02.html"))
	w.Set(home+"/page02.html", mirrortest.Redirect("/page01.html"))
	m.Set("obey_nofollow", "false")
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	tree := m.Tree()
	if tree["held-back.html"] == "" || !strings.Contains(tree["page01.html"], `href=held-back.html`) {
		t.Errorf("files %q, page01 %q: %s", m.Paths(), tree["page01.html"], mirrortest.Text(s))
	}
	for _, name := range []string{"page01", "page02"} {
		if got, want := m.Outcomes()[home+"/"+name+".html"],
			"failed: redirects in a circle: "; !strings.Contains(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestCookieWalls: with auth.cookies a page that is known and now redirects to a checkpoint, which sets a
// cookie and redirects back, is asked once more. TestRedirects of package process has what one answer results
// in, TestRetrieve of package crawl which circles are asked again.
func TestCookieWalls(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	hub(w, 12)
	m := mirrortest.New(t, w, job("auth.cookies = true"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for i := range 3 {
		p := fmt.Sprintf("/page%02d.html", i)
		w.Set(home+p, mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			if c, err := r.Cookie("seen"); err == nil && c.Value == "yes" {
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(rw, "<title>Page %d</title><p>behind the wall", i)
				return
			}
			http.Redirect(rw, r, "/check?back="+p, http.StatusFound)
		}})
		w.Set(home+"/check?back="+p, mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			http.SetCookie(rw, &http.Cookie{Name: "seen", Value: "yes", Path: "/"})
			http.Redirect(rw, r, p, http.StatusFound)
		}})
	}
	w.Asked()
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	asked, tree := w.Asked(), m.Tree()
	for i := range 3 {
		p := fmt.Sprintf("page%02d.html", i)
		if n := asked[home+"/"+p]; n > 2 || !strings.Contains(tree[p], "behind the wall") {
			t.Errorf("%s was asked %d times: %s", p, n, tree[p])
		}
	}
	if s.Failed > 0 {
		t.Errorf("%s", mirrortest.Text(s))
	}
}

// TestRedirectFragment: the fragment that a redirect names is where a browser lands, for any fragment of
// the link (RFC 9110, section 10.2.2); one that names none keeps that of the redirect before, or of the
// link. Another fragment of the same target is a change, and older versions keep theirs.
func TestRedirectFragment(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	links := `<a href="/old">1</a> <a href='/old#own'>2</a> <a href=/old#own>3</a> <a href="/a#own">4</a> ` +
		`<a href="/plain#own">5</a> <a href="/b#own">6</a> <a href="/new#own">7</a> <img srcset="/old 2x, /old#own 3x">`
	w.Set(home+"/", mirrortest.HTML("Home", links))
	w.Set(home+"/old", mirrortest.Redirect("/new#part"))
	w.Set(home+"/plain", mirrortest.Redirect("/new"))
	w.Set(home+"/a", mirrortest.Redirect("/plain#it's"))
	w.Set(home+"/b", mirrortest.Redirect("/old#lost"))
	w.Set(home+"/new", mirrortest.HTML("New", "<p id=part>new"))
	m := mirrortest.New(t, w, job(""))
	want := `<a href="new.html#part">1</a> <a href='new.html#part'>2</a> <a href=new.html#own>3</a> ` +
		`<a href="new.html#it&#39;s">4</a> <a href="new.html#own">5</a> <a href="new.html#part">6</a> ` +
		`<a href="new.html#own">7</a> <img srcset="new.html#part 2x, new.html#own 3x">`
	versions := []map[string]string{nil}
	for i, to := range []string{"/new#part", "/new#part", "/new#other", "/new"} {
		w.Set(home+"/old", mirrortest.Redirect(to))
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, i != 1)
		if i == 1 {
			continue
		}
		switch to {
		case "/new#other":
			want = strings.ReplaceAll(want, "#part", "#other")
		case "/new":
			want = strings.NewReplacer(
				`"new.html#other">1`, `"new.html">1`,
				`'new.html#other'`, `'new.html#own'`,
				`"new.html#other">6`, `"new.html#lost">6`,
				`new.html#other 2x`, `new.html 2x`,
			).Replace(want)
		}
		if got := m.Tree()["index.html"]; !strings.Contains(got, want) {
			t.Errorf("it redirects to %s:\n%s\nwant\n%s", to, got, want)
		}
		versions = append(versions, allFiles(t, m))
	}
	withSite(t, m, func(st *store.State, s *store.Site) {
		for n := 1; n < len(versions); n++ {
			wantPast(t, st, s, n, versions[n])
		}
	})
}
