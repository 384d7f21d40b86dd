// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

const (
	sortedLists = 12
	sortColumns = 7
	topOrders   = 30
	ordersKept  = 4 // that say how a list is sorted, which no list does, or are requested once more
)

// orderedSite serves lists whose column headings are links to other orders of them, and one list each order
// of which shows other things.
func orderedSite(w *mirrortest.Web) {
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		say := func(format string, a ...any) { fmt.Fprintf(rw, format, a...) }
		q := r.URL.Query()
		switch r.URL.Path {
		case "/":
			say("<title>All</title><a href=/top>top</a> ")
			for i := range sortedLists {
				say("<a href='/list?open=1&amp;tag=t%d'>list %d</a> ", i, i)
			}
		case "/list":
			tag := q.Get("tag")
			say("<title>%s</title><table><tr>", tag)
			for c := range sortColumns {
				url := fmt.Sprintf("/list?tag=%s&open=1&order=c%d", tag, c)
				say("<th><a href=%q>column %d</a> <a href=%q>v</a>", url, c, url+"&desc=1")
			}
			rows := make([]string, 8)
			for i := range rows {
				rows[i] = mirrortest.Words(uint32(100*number(tag)+i), 9)
			}
			if order := q.Get("order"); order != "" {
				slices.SortFunc(rows, func(a, b string) int { // by a word of its own
					at := int(order[1] - '0')
					return strings.Compare(strings.Fields(a)[at], strings.Fields(b)[at])
				})
				say("<caption>sorted by %s</caption>", order)
			}
			for _, row := range rows {
				say("<tr><td>%s", strings.Join(strings.Fields(row), "<td>"))
			}
		case "/top":
			say("<title>Top</title>")
			for i := range topOrders {
				say("<a href='/top?sort=by%d'>%d</a> ", i, i)
			}
			if by := q.Get("sort"); by != "" {
				say("<p>%s", mirrortest.Words(uint32(5000+number(by)), 20))
			}
		default:
			http.NotFound(rw, r)
		}
	}})
}

// The orders of a list are requested until they are known to say nothing new. Then the list stands for them.
// Orders that show other things stay.
func TestOrdersOfListsAreLeft(t *testing.T) {
	w := mirrortest.Start(t)
	orderedSite(w)
	m := mirrortest.New(t, w, job())
	asked := func() (orders, top int) {
		for _, r := range w.Requests() {
			switch {
			case strings.Contains(r.URL, "order="):
				orders++
			case strings.Contains(r.URL, "sort="):
				top++
			}
		}
		return orders, top
	}
	s, lists := m.Run(), 0
	wantVerdict(t, s, mirror.Complete, true)
	if orders, top := asked(); orders > 45 || top < topOrders {
		t.Errorf("%d requests for orders of lists, %d for others:\n%s", orders, top, mirrortest.Text(s))
	}
	if want := 2 + sortedLists + topOrders; s.Files < want || s.Files > want+ordersKept {
		t.Errorf("%d files, want %d:\n%s", s.Files, want, mirrortest.Text(s))
	}
	wantText(t, s, "orders of lists that say no more than the lists")
	explains(t, m, home+"/list?tag=t3&open=1&order=c5", "the same in another order")
	for path, page := range m.Tree() {
		if strings.Contains(page, "<th>") && !strings.Contains(path, "order=") {
			if n := strings.Count(page, home+"/list?"); n > 0 {
				t.Errorf("%s: %d links to orders lead to the origin: %.900s", path, n, page)
			}
			lists++
		}
	}
	if lists != sortedLists {
		t.Errorf("%d lists in the copy", lists)
	}
	for range 2 {
		before, _ := asked()
		s = m.Run()
		wantVerdict(t, s, mirror.Complete, false)
		if orders, _ := asked(); orders > before+ordersKept {
			t.Errorf("%d requests for orders in a later run:\n%s", orders-before, mirrortest.Text(s))
		}
	}
}

// number is the number at the end of a word.
func number(s string) (n int) {
	fmt.Sscan(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz"), &n)
	return n
}
