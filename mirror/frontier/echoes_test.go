// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/relocate"
	"mirrord/site"
)

// linked makes the links of a page.
func linked(u site.URL, refs ...string) (out []relocate.Link) {
	for _, ref := range refs {
		to, _, err := u.Resolve(ref)
		if err != nil {
			panic(err)
		}
		out = append(out, relocate.Link{
			Kind:     relocate.Hyperlink,
			Ref:      []byte(ref),
			URL:      []byte(to.String()),
			Absolute: strings.Contains(ref, "//"),
		})
	}
	return out
}

// Pages that answer ever deeper paths alike are a trap; what lies elsewhere, or what other pages name, is no
// part of it.
func TestEchoes(t *testing.T) {
	for _, c := range []struct {
		name string
		refs func(depth int) []string
		said func(u site.URL, depth int) string
		want bool
	}{
		{"one page", func(int) []string { return []string{"a/", "/"} }, nil, true},
		{"with address and time", func(int) []string { return []string{"a/"} }, func(u site.URL, i int) string {
			return fmt.Sprintf("no page %s at 10:%02d", u.Path(), i)
		}, true},
		{"a tree of files", func(i int) []string {
			return []string{"a/", fmt.Sprintf("file%c.txt", 'a'+rune(i))}
		}, nil, false},
		{"texts", func(int) []string { return []string{"a/"} }, func(_ site.URL, i int) string {
			return "chapter " + string('a'+rune(i))
		}, false},
		{"links that are absolute", func(i int) []string {
			return []string{"http://h/" + strings.Repeat("a/", i+1)}
		}, nil, false},
	} {
		x := NewChains(32, nil)
		at := func(i int) site.URL { return site.Canonical("http://h/" + strings.Repeat("a/", i)) }
		for i := range 12 {
			p := &ChainPage{
				ID:    uint32(i),
				URL:   at(i),
				Said:  func() string { return "there is nothing" },
				Links: linked(at(i), c.refs(i)...),
			}
			if i > 0 {
				p.FromID, p.From = uint32(i), at(i-1)
			}
			if c.said != nil {
				p.Said = func() string { return c.said(at(i), i) }
			}
			x.Learn(p)
		}
		traps := x.Traps()
		if got := x.Refuses(at(13), 11); (got != c.want) || ((len(traps["http://h/…"]) > 0) != c.want) {
			t.Errorf("%s: refused %v, traps %v", c.name, got, traps)
		}
		if x.Refuses(at(13), 0) || x.Refuses(at(0), 11) {
			t.Errorf("%s: refused is what another page names, or what lies elsewhere", c.name)
		}
		// In the next run one page is enough.
		next := NewChains(32, x.Known())
		next.Learn(&ChainPage{
			ID:     5,
			URL:    at(5),
			FromID: 5,
			From:   at(4),
		})
		if got := next.Refuses(at(6), 5); got != c.want {
			t.Errorf("%s: in the next run refused %v", c.name, got)
		}
	}
}
