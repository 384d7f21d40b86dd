// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/testing/mirrortest"
)

// giant is an encyclopedia of two million articles, with sitemaps that list them or without.
func giant(sitemaps bool, asked *atomic.Int64) http.Handler {
	const articles, maps, listed = 2_000_000, 4000, 500
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		n := 0
		switch {
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /w/\n")
			if sitemaps {
				fmt.Fprintf(w, "Sitemap: http://%s/sitemap.xml\n", r.Host)
			}
		case r.URL.Path == "/sitemap.xml" && sitemaps:
			w.Header().Set("Content-Type", "application/xml")
			io.WriteString(w, `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for i := range maps {
				fmt.Fprintf(w, "<sitemap><loc>http://%s/sitemap-%d.xml</loc></sitemap>", r.Host, i)
			}
			io.WriteString(w, `</sitemapindex>`)
		case strings.HasPrefix(r.URL.Path, "/sitemap-") && sitemaps:
			fmt.Sscanf(r.URL.Path, "/sitemap-%d.xml", &n)
			w.Header().Set("Content-Type", "application/xml")
			io.WriteString(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for i := range listed {
				fmt.Fprintf(w, "<url><loc>http://%s/wiki/%d</loc></url>", r.Host, n*listed+i)
			}
			io.WriteString(w, `</urlset>`)
		default:
			if _, err := fmt.Sscanf(r.URL.Path, "/wiki/%d", &n); err != nil {
				n = 1
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>Article %d</title><p>%d, %s", n, n, strings.Repeat("words ", 3000))
			for i := range 150 {
				fmt.Fprintf(w, `<a href="/wiki/%d">%[1]d</a> `, (n*7919+i*104729)%articles)
			}
		}
	})
}

// All of an encyclopedia: the estimate says what it would take, and the quota refuses it with the reason.
func TestGiantSite(t *testing.T) {
	for _, sitemaps := range []bool{false, true} {
		var asked atomic.Int64
		srv := httptest.NewServer(giant(sitemaps, &asked))
		t.Cleanup(srv.Close)
		s := newShop(t, func(o *Options) {
			a := *o.App
			a.Network = mirrortest.OneServer{At: srv.Listener.Addr().String()}
			o.App = &a
		})
		s.fast()
		w := quick("http://encyclopedia.example/")
		w.Scope = "host"
		w.Files, w.Size = 2000, 500e6
		x := s.draft(ann, w)
		if n := asked.Load(); n > 20 {
			t.Errorf("%d requests", n)
		}
		if least := map[bool]int64{true: 500_000, false: 2001}[sitemaps]; x.Look.Least < least {
			t.Errorf("sitemaps %v: %s files, want at least %d", sitemaps, x.Look.Range(), least)
		}
		if sitemaps && (x.Look.Least > 2_000_000 || x.Look.Most < 1_000_000 || x.Look.Most > 4_000_000) {
			t.Errorf("%s files of two millions", x.Look.Range())
		}
		err := s.PlaceOrder(x.OrderID, ann, false)
		if err == nil || !strings.Contains(err.Error(), "files, which are ") ||
			!strings.Contains(err.Error(), "the order is for at most 2000: choose a smaller part") {
			t.Errorf("sitemaps %v: %v", sitemaps, err)
		}
		whole := w
		whole.Files = 3_000_000
		x = s.draft(ann, whole)
		err = s.PlaceOrder(x.OrderID, ann, false)
		if err == nil || !strings.Contains(err.Error(), "of 2000 a day") {
			t.Errorf("sitemaps %v, all of it: %v", sitemaps, err)
		}
	}
}
