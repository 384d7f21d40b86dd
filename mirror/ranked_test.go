// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// A list in the order of views, which each run moves, is unchanged however it moves; what it says is not, nor
// is an order that no number explains.
func TestListInTheOrderOfViews(t *testing.T) {
	w := mirrortest.Start(t)
	views, names := make([]int, 12), make([]string, 12)
	list := `<a href="%s/">hub</a><table id=list>%s</table>`
	swap := false
	for i := range views {
		views[i], names[i] = 40-i, fmt.Sprintf("Thread %c", 'a'+i)
		show := func(rw http.ResponseWriter, _ *http.Request) {
			views[i]++
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(rw, "<title>%s</title><p>%[1]s says so.", names[i])
		}
		w.Set(fmt.Sprintf("%s/t%d.html", home, i), mirrortest.Page{Handle: show})
	}
	w.Set(home+"/", mirrortest.Page{Handle: func(rw http.ResponseWriter, _ *http.Request) {
		order := make([]int, len(views))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(views[b], views[a]) })
		if swap {
			order[2], order[3] = order[3], order[2]
		}
		rows := ""
		for k, i := range order {
			const row = "<tr class=row%d><td><a href=t%d.html>%s</a><td class=v>%d visits</tr>\n"
			rows += fmt.Sprintf(row, k%2, i, names[i], views[i])
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(rw, "<title>Most viewed</title>"+list, home, rows)
	}})
	m := mirrortest.New(t, w, job("[polite]", "connections = 1"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	visit := func(run int) {
		for i := range views {
			views[i] += 1 + (i*5+run*7)%11
		}
	}
	for run := range 8 {
		visit(run)
		if s := m.Run(); run > 1 {
			wantVerdict(t, s, mirror.Complete, false)
		}
	}
	visit(9)
	names[4] = "Thread of news"
	if s := m.Run(); s.Changed != 2 {
		t.Errorf("%d changed, want the page and the list", s.Changed)
	}
	m.Run()
	m.Run()
	swap = true
	if s := m.Run(); s.Changed != 1 {
		t.Errorf("%d changed: an order that no number explains is hidden", s.Changed)
	}
}
