// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mirrord/replica/text"
)

// A collection whose pages are split into two, or of which two are joined on one, is the same collection; one
// with other pages of the same template is not.
func TestSplitAndJoinedPages(t *testing.T) {
	const pages = 40
	words := func(seed uint64, n int) []string {
		r, out := rand.New(rand.NewPCG(seed, 5)), make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("w%d", r.IntN(6000))
		}
		return out
	}
	chapter := func(i int) []string { return words(uint64(i), 200+i%5*60) }
	s := text.NewSketcher(text.SketchOptions{})
	for _, c := range []struct {
		name string
		copy func(i int) map[string][]string // pages of chapter i, by name
		want bool
	}{
		{"split in the middle", func(i int) map[string][]string {
			all := chapter(i)
			half := len(all) / 2
			return map[string][]string{fmt.Sprintf("c%d-1", i): all[:half], fmt.Sprintf("c%d-2", i): all[half:]}
		}, true},
		{"split in two parts of any size, the first under the old name", func(i int) map[string][]string {
			all := chapter(i)
			n := len(all) * (30 + i) / 100
			return map[string][]string{fmt.Sprintf("c%d", i): all[:n], fmt.Sprintf("c%d-more", i): all[n:]}
		}, true},
		{"two on one", func(i int) map[string][]string {
			if i%2 > 0 {
				return nil
			}
			return map[string][]string{fmt.Sprintf("part%d", i/2): append(chapter(i), chapter(i+1)...)}
		}, true},
		{"half of other chapters", func(i int) map[string][]string {
			return map[string][]string{
				fmt.Sprintf("c%d", i): append(chapter(i)[:len(chapter(i))/3], words(uint64(i)+900, 200)...),
			}
		}, false},
		{"other chapters of the same template", func(i int) map[string][]string {
			return map[string][]string{fmt.Sprintf("c%d", i): append(words(77, 150), words(uint64(i)+900, 100)...)}
		}, false},
	} {
		var at []Address
		var digests []text.ContentDigest
		for i := range pages {
			at = append(at, Address{"whole.test", fmt.Sprintf("/book/c%d.html", i)})
			says := chapter(i)
			if strings.Contains(c.name, "template") {
				says = append(words(77, 150), says[:100]...)
			}
			digests = append(digests, s.Plain([]byte(strings.Join(says, " "))))
			for name, says := range c.copy(i) {
				at = append(at, Address{"copy.test", "/pub/book/" + name + ".html"})
				digests = append(digests, s.Plain([]byte(strings.Join(says, " "))))
			}
		}
		found := findAll(t, at, digests).pairs
		if got := len(found) > 0; got != c.want {
			t.Errorf("%s: %v", c.name, found)
		}
	}
}
