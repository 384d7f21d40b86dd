// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"testing"

	"mirrord/relocate"
	"mirrord/site"
)

// A list that says by what it is sorted says the same in each order: what a value of the part adds or takes
// away is the same on each page, and was seen on two. Anything else is a text of its own.
func TestFramesOfValues(t *testing.T) {
	text := func(i int) string {
		return fmt.Sprintf("<p>letters of %cmy and what %[1]cmy was told of lamps", 'a'+rune(i))
	}
	plain := func(i int) string { return text(i) + " in threads" }
	for name, c := range map[string]struct {
		pages int
		says  map[string]func(i int) string // by value, on pages that have it
		want  bool
	}{
		"sorted": {12, map[string]func(int) string{
			"thread": plain,
			"date":   func(i int) string { return text(i) + " by dates" },
		}, true},
		"too few": {3, map[string]func(int) string{
			"thread": plain,
			"date":   func(i int) string { return text(i) + " by dates" },
		}, false},
		"seen once": {12, map[string]func(int) string{
			"thread": plain,
			"date": func(i int) string {
				if i > 0 {
					return ""
				}
				return text(i) + " by dates"
			},
		}, false},
		"one differs": {12, map[string]func(int) string{
			"thread": plain,
			"date": func(i int) string {
				if i == 7 {
					return text(i) + " by dates and a word"
				}
				return text(i) + " by dates"
			},
		}, false},
		"another text": {12, map[string]func(int) string{
			"thread": plain,
			"date":   func(i int) string { return fmt.Sprintf("<p>what %c wrote yesterday evening", 'k'+rune(i)) },
		}, false},
		"another text under a value of its own, after the proof": {12, map[string]func(int) string{
			"thread": plain,
			"late": func(i int) string {
				if i < 11 {
					return ""
				}
				return text(i) + " and a whole story that no other page tells"
			},
		}, false},
		"a text a value": {12, byValue(mostFrames+2, text), false},
	} {
		t.Run(name, func(t *testing.T) {
			home := site.Canonical("http://h/")
			page := func(i int) site.URL { return site.Canonical(fmt.Sprintf("http://h/p%d", i)) }
			under := func(i int, value string) site.URL { return site.Canonical(page(i).String() + "?sort=" + value) }
			var all, bare []site.URL
			for i := range c.pages + 1 {
				all, bare = append(all, page(i)), append(bare, page(i))
				for value := range c.says {
					all = append(all, under(i, value))
				}
			}
			s := NewSessionIDs(nil, 1, newTable(append(bare, home)...), true)
			read := func(u site.URL, body string) { s.Read(u, nil, func() []byte { return []byte(body) }, nil) }
			s.Answer(0, home, all)
			for i := range c.pages {
				read(page(i), plain(i))
			}
			for i := range c.pages {
				for value, says := range c.says {
					if body := says(i); body != "" {
						read(under(i, value), body)
					}
				}
			}
			for value := range c.says {
				main, _ := s.Main(under(c.pages, value))
				if got := main == page(c.pages); got != c.want {
					t.Errorf("?sort=%s of a page does not matter: %t, want %t", value, got, c.want)
				}
			}
		})
	}
}

// A page that names the page without the part as itself counts as two: four such pairs suffice.
func TestCanonicalIsAVote(t *testing.T) {
	for _, named := range []bool{true, false} {
		page := func(i int) site.URL { return site.Canonical(fmt.Sprintf("http://h/p%d", i)) }
		under := func(i int) site.URL { return site.Canonical(page(i).String() + "?from=feed") }
		var all []site.URL
		known := []site.URL{page(9)}
		for i := range alikePairs / 2 {
			all, known = append(all, page(i), under(i)), append(known, page(i))
		}
		s := NewSessionIDs(nil, 1, newTable(known...), true)
		s.Answer(0, page(9), all)
		for i := range alikePairs / 2 {
			plain := func() []byte { return fmt.Appendf(nil, "<p>letters of %cmy and what was told", 'a'+i) }
			s.Read(page(i), nil, plain, nil)
			link := relocate.Link{Kind: relocate.Reference, URL: []byte(page(i).String())}
			if !named {
				link.Kind = relocate.Hyperlink
			}
			s.Read(under(i), nil, plain, []relocate.Link{link})
		}
		if main, _ := s.Main(under(9)); (main == page(9)) != named {
			t.Errorf("named %t: %s", named, main)
		}
	}
}

// byValue are so many values of which each adds a word of its own.
func byValue(n int, text func(int) string) map[string]func(int) string {
	out := map[string]func(int) string{}
	for v := range n {
		word := string([]byte{' ', 'w', 'o', 'r', 'd', 'a' + byte(v)})
		out[fmt.Sprint("v", v)] = func(i int) string { return text(i) + word }
	}
	return out
}
