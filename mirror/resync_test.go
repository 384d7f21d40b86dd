// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// feed is an RSS feed of articles.
func feed(articles ...string) mirrortest.Page {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>` + home +
		`/</link>`)
	for _, a := range articles {
		fmt.Fprintf(&b, "<item><title>%s</title><link>%s</link></item>", a, home+a)
	}
	b.WriteString("</channel></rss>")
	return mirrortest.Page{Header: map[string]string{"Content-Type": "application/rss+xml"}, Body: b.String()}
}

// What a feed names that is new is asked before any page that is known, so that a run that is cut short has
// it.
func TestFeedsAreAskedFirst(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 30)
	w.Set(home+"/page20.html",
		mirrortest.HTML("Blog",
			`<link rel=alternate type="application/rss+xml" href="/news.rss"><a href="/news.rss">feed</a>`))
	w.Set(home+"/news.rss", feed("/a1.html"))
	w.Set(home+"/a1.html", mirrortest.HTML("One", "1"))
	m := mirrortest.New(t, w, job("polite.connections = 1"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Set(home+"/news.rss", feed("/a3.html", "/a2.html", "/a1.html"))
	w.Set(home+"/a2.html", mirrortest.HTML("Two", "2"))
	w.Set(home+"/a3.html", mirrortest.HTML("Three", "3"))
	w.Requests()
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Added != 2 {
		t.Errorf("%d added, want the 2 new articles", s.Added)
	}
	var order []string
	for _, r := range w.Requests() {
		order = append(order, strings.TrimPrefix(r.URL, home))
	}
	at := func(p string) int { return slices.Index(order, p) }
	known := 0
	for i, p := range order {
		if strings.HasPrefix(p, "/page") && i < max(at("/a2.html"), at("/a3.html")) {
			known++
		}
	}
	// robots.txt; a few audits of validators
	if at("/news.rss") > 1 || at("/a2.html") < 0 || at("/a3.html") < 0 || known > 3 {
		t.Errorf("asked in the order %q, want the feed first and its new URLs before the known pages", order)
	}
}

// interrupted makes a run that is asked to end at a request.
func interrupted(
	t *testing.T, m *mirrortest.Mirror, w *mirrortest.Web, when func(*http.Request) bool,
) *mirror.Summary {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.Hook(func(r *http.Request) {
		if when(r) {
			cancel()
		}
	})
	defer w.Hook(nil)
	s, err := m.RunWith(ctx, func(*mirror.Options) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A clock that was in the future and is set right must not hide a change: neither behind a lifetime that was
// counted from then, nor behind times that are later than now.
func TestClockStepsBack(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 40)
	page := func(i int, text string) {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{Header: map[string]string{
			"Content-Type":  "text/html",
			"Cache-Control": "max-age=86400",
		},
			Body: fmt.Sprintf("<title>Page %d</title>%s", i, text)})
	}
	for i := range 40 {
		page(i, "text")
	}
	m := mirrortest.New(t, w, job("evidence.expiry = true"))
	now := time.Now().Add(365 * 24 * time.Hour)
	m.Now = func() time.Time { return now }
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Stamps()
	now = time.Now()
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if !maps.Equal(m.Stamps(), before) {
		t.Error("the clock alone changed the tree")
	}
	now = now.Add(-24 * time.Hour)
	for i := range 40 {
		page(i, "another text")
	}
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Changed != 40 {
		t.Errorf("%d of 40 pages changed", s.Changed)
	}
	for p, x := range m.Stamps() {
		if x.Time.After(time.Now().Add(time.Minute)) && strings.HasSuffix(p, ".html") && p != "index.html" {
			t.Errorf("%s has the time %v", p, x.Time)
		}
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

func TestValidatorsVanish(t *testing.T) {
	for _, header := range []string{"ETag", "Last-Modified"} {
		t.Run(header, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 10)
			set := func(with bool, text string) {
				h := map[string]string{"Content-Type": "text/html"}
				if with && header == "Last-Modified" {
					h[header] = "Mon, 01 Jan 2024 00:00:00 GMT"
				}
				w.Set(home+"/page03.html", mirrortest.Page{
					Header: h,
					Body:   "<title>3</title>" + text,
					NoTag:  !with || header != "ETag",
				})
			}
			set(true, "first")
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			before := m.Stamps()
			set(false, "first")
			for range 2 {
				wantVerdict(t, m.Run(), mirror.Complete, false)
				if after := m.Stamps(); header == "ETag" && !maps.Equal(after, before) {
					t.Error("the same bytes without validators changed the tree")
				}
			}
			set(false, "second")
			wantVerdict(t, m.Run(), mirror.Complete, true)
			w.Requests()
			wantVerdict(t, m.Run(), mirror.Complete, false)
			for _, r := range w.Requests() {
				if r.URL == home+"/page03.html" && r.Conditional {
					t.Error("a validator that the last answer did not have was sent")
				}
			}
			set(true, "third!")
			wantVerdict(t, m.Run(), mirror.Complete, true)
			if got := m.Tree()["page03.html"]; !strings.Contains(got, "third!") {
				t.Errorf("page03.html is %q", got)
			}
		})
	}
}

func TestPageMovesAndComesBack(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	page := mirrortest.HTML("Page 5", `text <a href="/page06.html">next</a>`)
	w.Set(home+"/page05.html", page)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Tree()
	for range 2 {
		w.Set(home+"/page05.html", mirrortest.Page{
			Status: http.StatusMovedPermanently,
			Header: map[string]string{"Location": "/moved/five.html"},
		})
		w.Set(home+"/moved/five.html", page)
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, true)
		tree := m.Tree()
		if s.Added != 1 || s.Removed != 1 || tree["moved/five.html"] == "" || tree["page05.html"] != "" {
			t.Fatalf("after the move: %q\n%s", slices.Sorted(maps.Keys(tree)), mirrortest.Text(s))
		}
		if !strings.Contains(tree["index.html"], `"moved/five.html"`) {
			t.Errorf("links do not follow the move: %s", tree["index.html"])
		}
		wantVerdict(t, m.Run(), mirror.Complete, false)
		w.Set(home+"/page05.html", page)
		w.Set(home+"/moved/five.html", mirrortest.Page{
			Status: http.StatusMovedPermanently,
			Header: map[string]string{"Location": "/page05.html"},
		})
		wantVerdict(t, m.Run(), mirror.Complete, true)
		if got := m.Tree(); !maps.Equal(got, before) {
			t.Errorf("after it came back the tree is not what it was: %q", slices.Sorted(maps.Keys(got)))
		}
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
}

func TestFileBecomesDirectoryAndBack(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	asFile := func() {
		w.Set(home+"/page00.html", mirrortest.HTML("0", `<a href="/thing">thing</a>`))
		w.Set(home+"/thing", mirrortest.Page{
			Header: map[string]string{"Content-Type": "application/octet-stream"},
			Body:   "a file",
		})
		w.Remove(home + "/thing/")
		w.Remove(home + "/thing/part")
	}
	asDir := func() {
		w.Set(home+"/page00.html", mirrortest.HTML("0", `<a href="/thing/">thing</a>`))
		w.Set(home+"/thing", mirrortest.Redirect("/thing/"))
		w.Set(home+"/thing/", mirrortest.HTML("Thing", `<a href="part">part</a>`))
		w.Set(home+"/thing/part", mirrortest.Page{
			Header: map[string]string{"Content-Type": "application/octet-stream"},
			Body:   "a part",
		})
	}
	asFile()
	m := mirrortest.New(t, w, job("limits.max_delete = 0.2"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	first := m.Tree()
	if first["thing"] != "a file" {
		t.Fatal(m.Paths())
	}
	for range 2 {
		asDir()
		wantVerdict(t, m.Run(), mirror.Complete, true)
		if tree := m.ByURL(); tree[home+"/thing/part"] != "a part" || tree[home+"/thing"] != "" ||
			tree[home+"/thing/"] == "" {
			t.Fatalf("as a directory: %q", m.Paths())
		}
		wantVerdict(t, m.Run(), mirror.Complete, false)
		asFile()
		wantVerdict(t, m.Run(), mirror.Complete, true)
		if tree := m.ByURL(); tree[home+"/thing"] != "a file" || tree[home+"/thing/part"] != "" {
			t.Fatalf("as a file again: %q", m.Paths())
		}
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
}
