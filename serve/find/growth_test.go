// SPDX-License-Identifier: Apache-2.0

package find

import (
	"fmt"
	"testing"

	"mirrord/testing/growth"
)

// TestGrowthInBulk holds that twice the pages are at most 2.3 times the work: to take them in, and to find a
// word that all have.
func TestGrowthInBulk(t *testing.T) {
	pages := func(n int) map[string]PageText {
		out := map[string]PageText{}
		for i := range n {
			url := fmt.Sprintf("http://h.test/%d", i)
			out[url] = PageText{
				Path:  fmt.Sprint(i),
				Title: "common title",
				Said:  fmt.Sprintf("common words of page %d", i),
				Links: []uint32{LinkHash("http://h.test/0")},
			}
		}
		return out
	}
	one, two := pages(1000), pages(2000)
	take := func(all map[string]PageText) func() {
		return func() {
			x, _ := newIndex(t)
			put(t, x, "j", all)
		}
	}
	growth.Check(t, "taking in", take(one), take(two))
	ask := func(all map[string]PageText) func() {
		x, _ := newIndex(t)
		put(t, x, "j", all)
		return func() { urls(t, x, TextSearch{Words: "common"}) }
	}
	growth.Check(t, "search", ask(one), ask(two))
}
