// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mirrord/internal/volatile"
)

// Of what each answer draws, few items or most, nothing is an edit in 40 looks. A text that each of them has
// is one in the end, sooner where the page is due and requested more than once; so is one that none has any
// longer, of the page or of the items that are often drawn.
func TestEditsAmongWhatIsDrawn(t *testing.T) {
	const before, after = "<p>See also", "<p>End of it"
	gap, at := volatile.Between(before, after)
	at.Kind = volatile.Gap
	false2, late, kept := 0, 0, 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		drawn := []int{2, 3, 6, 9}[seed/2%4]
		gone := -1
		page := func(edit string) []byte {
			out := "<h1>Page</h1>" + before
			for _, k := range random.Perm(12)[:drawn] {
				if k != gone {
					out += fmt.Sprintf("<p><a href=/%d>item %d</a>", k, k)
				}
			}
			return []byte(out + edit + after + fmt.Sprintf("%0600d", 1))
		}
		p := NewNoise(2)
		p.given[gap] = at
		p.publish()
		u := addressOf(t, "1.html")
		const always = "<p>Open on Sundays."
		stored := page(always)
		look := func(edit string, due bool) bool {
			a := PageAnswer{URL: u, Body: page(edit), At: noon}
			a.Was = stored
			found := p.Edited(a, due)
			p.asked = 0
			for q, ok := p.Question("", 0, noon); ok && due; q, ok = p.Question("", 0, noon) {
				p.Answered(q, PageAnswer{URL: u, Body: page(edit), At: noon.Add(time.Second)})
			}
			fact, err := p.Fact()
			if err != nil {
				t.Fatal(err)
			}
			p = NewNoise(3)
			p.given[gap] = at
			p.publish()
			if err := p.Read(fact); err != nil {
				t.Fatal(err)
			}
			return found
		}
		for range 40 {
			if look(always, seed%2 == 0) {
				false2++
			}
		}
		looks := 1
		for !look(always+"<p>Closed on Mondays.", seed%2 == 0) && looks < 50 {
			looks++
		}
		if looks > map[int]int{2: 12, 3: 12, 6: 22, 9: 48}[drawn] {
			late++
		}
		if seed >= 24 {
			continue
		}
		p.parts, p.lots.drawn, stored = map[string]*partFact{}, nil, page(always)
		for range 20 {
			if look(always, false) {
				false2++
			}
		}
		without, rest := 1, always
		if gone = 0; drawn < 9 || !bytes.Contains(stored, []byte("item 0<")) {
			gone, rest = -1, ""
		}
		for !look(rest, seed%2 == 0) && without < 20 {
			without++
		}
		if without > map[bool]int{true: 16, false: 8}[rest != ""] {
			kept++
		}
		t.Log(seed, drawn, seed%2 == 0, looks, without, rest != "", len(p.lots.drawn))
	}
	if false2 > 0 || late > 0 || kept > 0 {
		t.Errorf("%d edits that were none, %d found late, %d removals late", false2, late, kept)
	}
}
