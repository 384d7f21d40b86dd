package mirror_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mirrord/internal/mirrortest"
	"mirrord/mirror"
)

// feed is an RSS feed of articles.
func feed(articles ...string) mirrortest.Page {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>` + home + `/</link>`)
	for _, a := range articles {
		fmt.Fprintf(&b, "<item><title>%s</title><link>%s</link></item>", a, home+a)
	}
	b.WriteString("</channel></rss>")
	return mirrortest.Page{Header: map[string]string{"Content-Type": "application/rss+xml"}, Body: b.String()}
}

// What a feed names that is new is asked before any page that is known, so that a run that is cut short has it.
func TestFeedsAreAskedFirst(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 30)
	w.Set(home+"/page20.html", mirrortest.HTML("Blog", `<link rel=alternate type="application/rss+xml" href="/news.rss"><a href="/news.rss">feed</a>`))
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
	if at("/news.rss") > 1 || at("/a2.html") < 0 || at("/a3.html") < 0 || known > 3 { // robots.txt; a few audits of validators
		t.Errorf("asked in the order %q, want the feed first and what is new in it before the known pages", order)
	}
}

// interrupted makes a run that is told to end when a request is asked.
func interrupted(t *testing.T, m *mirrortest.Mirror, w *mirrortest.Web, when func(*http.Request) bool) *mirror.Summary {
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
