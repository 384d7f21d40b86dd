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

// TestRedirectTurnsAround: a redirect whose target changes places with it is no circle, whichever is asked
// first.
func TestRedirectTurnsAround(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", "<a href=/a>a</a> <a href=/b>b</a>"))
	w.Set(home+"/a", mirrortest.Redirect("/b"))
	w.Set(home+"/b", mirrortest.HTML("B", "b"))
	m := mirrortest.New(t, w, job(`limits.max_delete = "100%"`))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantPaths(t, m, "b.html", "index.html")
	w.Set(home+"/b", mirrortest.Redirect("/a"))
	w.Set(home+"/a", mirrortest.HTML("A", "a"))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantPaths(t, m, "a.html", "index.html")
	if strings.Contains(mirrortest.Text(s), "failed") {
		t.Errorf("%s", mirrortest.Text(s))
	}
}

// TestCookieWalls: with auth.cookies a page that redirects to itself, or to a checkpoint that leads back, and
// sets a cookie is asked once more; at the first run and when the wall comes up around pages that are known.
// Without it is a failure. TestRedirects of package process has what one answer results in.
func TestCookieWalls(t *testing.T) {
	t.Parallel()
	const pages = 3
	wall := func(checkpoint bool, body string) mirrortest.Page {
		return mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			c, err := r.Cookie("seen")
			if err == nil && c.Value == "yes" {
				rw.Header().Set("Content-Type", "text/html")
				fmt.Fprint(rw, body)
				return
			}
			to := r.URL.Path
			if checkpoint {
				to = "/check?back=" + to
			} else {
				http.SetCookie(rw, &http.Cookie{Name: "seen", Value: "yes", Path: "/"})
			}
			rw.Header().Set("Location", to)
			rw.WriteHeader(http.StatusFound)
		}}
	}
	check := mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "seen", Value: "yes", Path: "/"})
		rw.Header().Set("Location", r.URL.Query().Get("back"))
		rw.WriteHeader(http.StatusFound)
	}}
	body := func(i int) string { return fmt.Sprintf("<title>Page %d</title><p>%d behind the wall", i, i) }
	for _, c := range []struct {
		name                string
		cookies, checkpoint bool
	}{
		{"itself", true, false},
		{"checkpoint", true, true},
		{"checkpoint, no cookies kept", false, true},
	} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, known %t", c.name, known), func(t *testing.T) {
				t.Parallel()
				w := mirrortest.Start(t)
				hub(w, 12)
				m := mirrortest.New(t, w,
					job(fmt.Sprintf("auth.cookies = %t\nlimits.max_failures = \"100%%\"", c.cookies)))
				for i := range pages {
					w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
						Header: map[string]string{"Content-Type": "text/html"},
						Body:   body(i),
					})
				}
				if known {
					wantVerdict(t, m.Run(), mirror.Complete, true)
				}
				for i := range pages {
					p := fmt.Sprintf("/page%02d.html", i)
					w.Set(home+p, wall(c.checkpoint, body(i)))
					w.Set(home+"/check?back="+p, check)
				}
				w.Asked()
				s := m.Run()
				if s.Verdict != mirror.Complete {
					t.Fatalf("%s", mirrortest.Text(s))
				}
				asked := w.Asked()
				for i := range pages {
					u := fmt.Sprintf("%s/page%02d.html", home, i)
					if n := asked[u]; n > 2 || (n > 1 && !c.cookies) {
						t.Errorf("%s was asked %d times", u, n)
					}
					has := strings.Contains(m.Tree()[fmt.Sprintf("page%02d.html", i)], "behind the wall")
					if has != (c.cookies || known) {
						t.Errorf("%s is in the mirror: %t", u, has)
					}
					if failed := strings.Contains(m.Outcomes()[u], "failed"); failed == c.cookies {
						t.Errorf("%s: %s", u, m.Outcomes()[u])
					}
				}
				if got := int(s.Failed); (got > 0) != (known && !c.cookies) {
					t.Errorf("%d failures: %s", got, mirrortest.Text(s))
				}
			})
		}
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
