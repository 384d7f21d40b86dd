// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// within fails the test when f takes very long even for a busy machine: that tells work in proportion from
// work squared.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if d := time.Since(start); d > 20*time.Minute {
		t.Errorf("%s took %v", what, d)
	}
}

// A sitemap of 50 MB, the largest that the protocol allows, with locations that are all known. Without
// MIRRORD_LONG it is just above the default limit for documents.
func TestLargeSitemap(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 100)
	var b strings.Builder
	b.WriteString(
		`<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := 0; b.Len() < sized(17, 50)<<20; i++ {
		fmt.Fprintf(&b,
			"<url><loc>%s/page%02d.html</loc><lastmod>2024-03-01T12:00:00Z</lastmod><!-- %s --></url>\n", home, i%100,
			strings.Repeat("x", 300))
	}
	b.WriteString("</urlset>")
	w.Set(home+"/robots.txt", mirrortest.Page{Body: "Sitemap: /map.xml\n"})
	w.Set(home+"/map.xml", mirrortest.Page{
		Header: map[string]string{"Content-Type": "application/xml"},
		Body:   b.String(),
	})
	m := mirrortest.New(t, w, job(`limits.max_document = "64MB"`))
	within(t, "two runs", func() {
		wantVerdict(t, m.Run(), mirror.Complete, true)
		wantVerdict(t, m.Run(), mirror.Complete, false)
	})
	w.Requests()
	within(t, "the third run", func() {
		if s := m.Run(); s.Spared["sitemap"] < 90 {
			t.Errorf("spared %v", s.Spared)
		}
	})
	for u, n := range w.Asked() {
		if n > 1 {
			t.Errorf("%s was asked %d times", u, n)
		}
	}
	// A sitemap that is over the limit of documents is stored as it came, which is a gap; its pages are asked as
	// if there were none.
	m.Set("limits.max_document", `"1MB"`)
	w.Set(home+"/page42.html", mirrortest.HTML("42", "changed"))
	s := m.Run()
	wantVerdict(t, s, mirror.Gaps, true)
	wantCut(t, s, home+"/map.xml", "limits.max_document")
	if s.Changed != 1 {
		t.Errorf("%d changed", s.Changed)
	}
}

// Indexes of sitemaps that name themselves and one another are asked once in a run.
func TestSitemapLoops(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 10)
	index := func(maps ...string) mirrortest.Page {
		var b strings.Builder
		b.WriteString(`<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for _, x := range maps {
			fmt.Fprintf(&b, "<sitemap><loc>%s%s</loc></sitemap>", home, x)
		}
		b.WriteString("</sitemapindex>")
		return mirrortest.Page{Header: map[string]string{"Content-Type": "application/xml"}, Body: b.String()}
	}
	w.Set(home+"/robots.txt", mirrortest.Page{Body: "Sitemap: /a.xml\n"})
	w.Set(home+"/a.xml", index("/a.xml", "/b.xml", "/c.xml"))
	w.Set(home+"/b.xml", index("/a.xml", "/b.xml", "/gone.xml"))
	w.Set(home+"/c.xml", mirrortest.Page{
		Status: http.StatusFound,
		Header: map[string]string{"Location": "/a.xml"},
	})
	m := mirrortest.New(t, w, job())
	for i := range 4 {
		w.Requests()
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, i == 0)
		for u, n := range w.Asked() {
			if n > 1 {
				t.Errorf("run %d: %s was asked %d times", i+1, u, n)
			}
		}
	}
	if n := len(m.Paths()); n < 11 {
		t.Errorf("%d files", n)
	}
}

// A lastmod that is in the future, no time at all, or long past while the page changes every day spares
// nothing that has changed.
func TestWrongLastmod(t *testing.T) {
	for _, lastmod := range []string{
		time.Now().Add(24 * 365 * time.Hour).UTC().Format(time.RFC3339), time.Now().UTC().Format(time.DateOnly),
		"9999-99-99", "yesterday", "", "0001-01-01", "2024-02-30", "1700000000",
		"2024-03-01T12:00:00Z<!-- -->", "2024-03-01T12:00:00+99:99", strings.Repeat("9", 5000),
	} {
		name := lastmod
		if len(name) > 30 {
			name = name[:30]
		}
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			site := func(text string) {
				hub(w, 20)
				var b strings.Builder
				b.WriteString(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
				for i := range 20 {
					fmt.Fprintf(&b, "<url><loc>%s/page%02d.html</loc><lastmod>%s</lastmod></url>", home, i, lastmod)
					w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.HTML(fmt.Sprint("Page ", i), text))
				}
				b.WriteString("</urlset>")
				w.Set(home+"/robots.txt", mirrortest.Page{Body: "Sitemap: /map.xml\n"})
				w.Set(home+"/map.xml", mirrortest.Page{
					Header: map[string]string{"Content-Type": "application/xml"},
					Body:   b.String(),
				})
			}
			site("first")
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			wantVerdict(t, m.Run(), mirror.Complete, false)
			site("second, and the sitemap does not say so")
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.Changed != 20 {
				t.Errorf("%d of 20 changed; spared %v", s.Changed, s.Spared)
			}
		})
	}
}
