// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// impossible matches the path that cannot exist.
var impossible = regexp.MustCompile(`^` + regexp.QuoteMeta(home) + `/[0-9a-f]{16}\.html$`)

// probes counts the requests for a path that cannot exist since the last call.
func probes(w *mirrortest.Web) (n int) {
	for _, r := range w.Requests() {
		if impossible.MatchString(r.URL) {
			n++
		}
	}
	return n
}

// sorry is an error page that a site answers with status 200; it has a token, so that no two have the same
// bytes.
func sorry() mirrortest.Page {
	var n atomic.Int64
	return mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<!DOCTYPE html>\n<title>Sorry</title>\n"+
			"<p>Something went wrong. Incident %08d. <a href=/>Home</a>\n", n.Add(1))
	}}
}

// Pages that become what the site answers to a path that cannot exist are never published, and the site is
// asked for that path once, in runs that request everything. TestProbeSections of package crawl has when.
func TestSoft404(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	hub(w, 40)
	m := mirrortest.New(t, w, job("polite.connections = 1"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Stamps()
	page := sorry()
	w.Set("*", page)
	for i := range 6 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), page)
	}
	for _, look := range []string{"", "still held for review"} { // other bytes each time, and never published
		w.Requests()
		s := m.Run()
		wantVerdict(t, s, mirror.Suspicious, false)
		wantText(t, s, look, "6 of 41 pages, such as "+home+"/page", "a path that cannot exist")
		if n := probes(w); (n == 1) != (look == "") {
			t.Errorf("%d requests for what cannot exist", n)
		}
		if !maps.Equal(m.Stamps(), before) {
			t.Fatal("the published tree changed")
		}
	}
	w.Clear()
	hub(w, 40)
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if !maps.Equal(m.Stamps(), before) {
		t.Error("after recovery the tree is not what it was")
	}
}

// A run that was cut off remembers what it saw.
func TestSoft404AfterInterruption(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 40)
	m := mirrortest.New(t, w, job("polite.connections = 1"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	page := sorry()
	w.Set("*", page)
	for i := range 6 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), page)
	}
	s := interrupted(t, m, w, func(r *http.Request) bool { return r.URL.Path == "/page30.html" })
	wantVerdict(t, s, mirror.Partial, false)
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
}
