// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// A program names its pages also by short addresses, which redirect, and its tags also with a space behind
// them: both are learned, and cost no request in later runs. Where one redirects elsewhere all do again.
func TestOtherAddresses(t *testing.T) {
	w := mirrortest.Start(t)
	moved := false
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		tag, item := strings.TrimSpace(r.URL.Query().Get("tag")), strings.TrimPrefix(r.URL.Path, "/item/")
		switch q := r.URL.RawQuery; {
		case strings.HasPrefix(q, "id") && moved:
			http.Redirect(rw, r, "/item/"+q[:2]+"1", http.StatusFound)
			return
		case strings.HasPrefix(q, "id"):
			http.Redirect(rw, r, "/item/"+q, http.StatusFound)
			return
		case tag != "":
			item = tag
		}
		rw.Header().Set("Content-Type", "text/html")
		seed := uint32(0)
		for _, c := range []byte(item) {
			seed = seed*131 + uint32(c)
		}
		fmt.Fprintf(rw, "<title>%s</title><h1>%[1]s</h1>%s", item, mirrortest.Words(seed, 30))
		for i := range 40 {
			fmt.Fprintf(rw, "<p><a href='/?id%d'>short</a> <a href='/item/id%d'>item</a>", i, i)
			fmt.Fprintf(rw, "<p><a href='/?tag=t%d'>tag</a> <a href='/?tag=t%d+'>tag</a>", i, i)
		}
	}})
	m := mirrortest.New(t, w, job())
	m.Rests = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	m.Run()
	for range 3 {
		n := requests(w, func() { wantVerdict(t, m.Run(), mirror.Complete, false) })
		if n > 1+40+40+8 {
			t.Errorf("%d requests of a quiet run for 81 pages", n)
		}
	}
	page := m.Tree()["index.html"]
	for i := range 40 {
		if strings.Count(page, fmt.Sprintf("item/id%d.html", i)) != 2 {
			t.Errorf("the short address of item %d does not lead to it", i)
		}
	}
	moved = true
	for range 70 {
		if n := requests(w, func() { m.Run() }); n > 1+40+40+30 {
			return
		}
	}
	t.Error("that short addresses lead elsewhere is not found")
}
