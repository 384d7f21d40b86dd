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
	for _, c := range []struct {
		name   string
		body   PageBody
		shared hash.Set
		want   bool
	}{
		{"the same", page(held), shared, true},
		{"a word more", page(held + "more"), shared, true},
		{"ten words more", page(held + ownWords(8, 10)), shared, true},
		{"another product", page(ownWords(9, 60)), shared, false},
		// which is why the template must be known
		{"another product, template unknown", page(ownWords(9, 60)), nil, true},
		{"nothing of its own", page(""), shared, false},
		{"no text", binary, shared, false},
	} {
		if got := page(held).Agrees(c.body, c.shared, 0.4); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if !page("").Agrees(page(""), shared, 0.4) || !binary.Agrees(binary, nil, 0.4) {
		t.Error("equal bodies do not agree")
	}
}
