// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/testing/mirrortest"
)

// Under order = "linked" a run requests what many pages link to before what was found earlier.
func TestLinkedOrder(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	var all strings.Builder
	for i := range 40 {
		fmt.Fprintf(&all, `<a href="/p%02d.html">%d</a> `, i, i)
		w.Set(fmt.Sprintf("%s/p%02d.html", home, i), mirrortest.HTML("Page", fmt.Sprintf(
			`<a href="/">all</a> <a href="/manual.html">manual</a> <a href="/q%02d.html">more</a>`, i)))
		w.Set(fmt.Sprintf("%s/q%02d.html", home, i), mirrortest.HTML("More", fmt.Sprint(i)))
	}
	w.Set(home+"/", mirrortest.HTML("All", all.String()))
	w.Set(home+"/manual.html", mirrortest.HTML("Manual", "<p>How to."))
	for order, want := range map[string]bool{"linked": true, "breadth": false} {
		w.Requests()
		m := mirrortest.New(t, w, job(fmt.Sprintf("order = %q", order), "polite.connections = 1"))
		m.Run()
		requests := w.Requests()
		place := slices.IndexFunc(requests, func(r mirrortest.Request) bool {
			return strings.HasSuffix(r.URL, "/manual.html")
		})
		if early := place >= 0 && place < 40; early != want { // 16 workers may be ahead of what was read
			t.Errorf("%s: the manual was request %d of %d", order, place, len(requests))
		}
	}
}
