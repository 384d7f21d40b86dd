// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// lists is a site of which each page has a list that marks another item in each answer, and says the same in
// all once these are over, and a box with three of 40 items drawn by lot.
type lists struct {
	w       *mirrortest.Web
	answers int
	random  *rand.Rand
	items   []string
	first   bool
	label   string
}

func newLists(t *testing.T, pages int) *lists {
	l := &lists{
		w:      mirrortest.Start(t),
		random: rand.New(rand.NewPCG(3, 5)), //nolint:gosec // a test
		items:  []string{"lamp", "oil", "wick", "flame", "smoke"},
		first:  true,
		label:  "See also",
	}
	hub(l.w, pages)
	for i := range pages {
		l.w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
			Handle: func(rw http.ResponseWriter, _ *http.Request) {
				l.answers++
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				fmt.Fprintf(rw, "<!DOCTYPE html><title>%d</title><h1>Lists</h1><p>%s<ul id=thumbs>", i,
					strings.Repeat("and so on ", 60))
				for k, item := range l.items {
					if l.first && k == l.answers%5 {
						item += " <b>new</b>"
					}
					fmt.Fprintf(rw, "<li><a href=#%c>%s</a>", 'a'+k, item)
				}
				fmt.Fprintf(rw, "</ul><div class=box><p>%s", l.label)
				for _, k := range l.random.Perm(40)[:3] {
					fmt.Fprintf(rw, "<p>thing %c%c", 'a'+k%8, 'a'+k/8)
				}
				fmt.Fprint(rw, "</div><hr>foot\n")
			},
		})
	}
	return l
}

// An edit in a list that counts as drawn by lot, because it differed in two answers of the first run, is
// found at once, also one that only takes an item out; so is one beside items that are drawn.
func TestEditInARegion(t *testing.T) {
	for name, edit := range map[string]func(*lists){
		"a word":       func(l *lists) { l.items[2] = "kettle" },
		"another item": func(l *lists) { l.items = append(l.items, "kettle") },
		"an item less": func(l *lists) { l.items = slices.Delete(l.items, 1, 2) },
		"a heading":    func(l *lists) { l.label = "Things like this" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLists(t, 6)
			m := mirrortest.New(t, l.w, job("[polite]", "connections = 1"))
			wantVerdict(t, m.Run(), mirror.Complete, true)
			l.first = false
			for range 2 { // it finds that the list says less than the copy
				m.Run()
			}
			for range 2 {
				n := requests(l.w, func() { wantVerdict(t, m.Run(), mirror.Complete, false) })
				if n > 7+4 {
					t.Errorf("%d requests for 7 pages", n)
				}
			}
			edit(l)
			if s := m.Run(); s.Changed == 0 {
				t.Error("the edit is hidden")
			}
			for range 2 {
				m.Run()
			}
			wantVerdict(t, m.Run(), mirror.Complete, false)
			for i := range 6 {
				body := m.Tree()[fmt.Sprintf("page%02d.html", i)]
				if name == "a heading" && i > 0 {
					break
				}
				for _, item := range append(slices.Clone(l.items), l.label) {
					if !strings.Contains(body, item) {
						t.Errorf("page %d lacks %q", i, item)
					}
				}
				if strings.Count(body, "<li>") != len(l.items) {
					t.Errorf("page %d: %s", i, body)
				}
			}
		})
	}
}
