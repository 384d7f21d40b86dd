// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/replica/hash"
)

// words returns n words that depend on a seed.
func ownWords(seed, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%dx%d ", seed, i*i%9973)
	}
	return b.String()
}

// Pages of one template agree when they are the same page, and not because of the template.
func TestAgreesWithoutTheTemplate(t *testing.T) {
	page := func(own string) PageBody {
		return NewBody([]byte("<p>"+ownWords(1, 400)+"<p>"+own), true, true, 4)
	}
	var others []PageBody
	for i := range 5 {
		others = append(others, page(ownWords(100+i, 60)))
	}
	shared := Shared(others, 2)
	held := ownWords(7, 60)
	binary := NewBody([]byte("\x89PNG\x00"), false, false, 4)
	words := strings.Fields(held)
	longer := ownWords(7, 300)
	cut := func(share float64) PageBody {
		all := "<p>" + ownWords(1, 200) + "<p>" + longer + "<p>" + ownWords(1, 400)
		return NewBody([]byte(all[:int(share*float64(len(all)))]), true, true, 4)
	}
	whole, part := cut(1), NewBody([]byte("<p>"+ownWords(1, 300)), true, true, 4)
	dated := func(on string) PageBody {
		return NewBody([]byte("<p>"+longer+"<p>last changed on "+on+" by the keepers"), true, true, 4)
	}
	for _, c := range []struct {
		name   string
		held   PageBody
		came   PageBody
		shared hash.Set
		want   Kinship
	}{
		{"the same", page(held), page(held), shared, Alike},
		{"a word more", page(held), page(held + "more"), shared, Alike},
		{"ten words more", page(held), page(held + ownWords(8, 10)), shared, Grown},
		{"ten words fewer", page(held), page(strings.Join(words[:50], " ")), shared, Cut},
		{"ten words edited", page(held), page(strings.Join(words[:50], " ") + ownWords(8, 10)), shared, Alike},
		{"another product", page(held), page(ownWords(9, 60)), shared, Unlike},
		// which is why the template must be known
		{"another product, template unknown", page(held), page(ownWords(9, 60)), nil, Alike},
		{"another word, and nothing else of its own", page("blue"), page("red"), shared, Unlike},
		{"nothing of its own", page(held), page(""), shared, Unlike},
		{"nothing but the template, or a part of it", page(""), part, shared, Empty},
		{"no text", page(held), binary, shared, Unlike},
		{"cut off at 95 %", whole, cut(0.95), nil, Cut},
		{"cut off at 75 %", whole, cut(0.75), nil, Cut},
		{"cut off at 40 %", whole, cut(0.4), nil, Cut},
		{"another date at the end", dated("12 May 2024"), dated("3 March 2019"), nil, Alike},
		{"a sentence of it", whole, cut(0.05), nil, Unlike},
		{"what was cut off is whole again", cut(0.75), whole, nil, Grown},
	} {
		if got := c.held.Kin(c.came, c.shared, 0.4); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if page("").Kin(page(""), shared, 0.4) != Alike || binary.Kin(binary, nil, 0.4) != Alike {
		t.Error("equal bodies do not agree")
	}
}
