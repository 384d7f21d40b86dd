// SPDX-License-Identifier: Apache-2.0

package find

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// How long an excerpt is, in bytes, and how much of it stands before the first word that was looked for.
const (
	excerptLength = 260
	excerptBefore = 60
)

// densest returns the first of the hits where most of the terms stand in one excerpt, and how many these are.
func densest(hits []hit, terms int) (first, most int) {
	for i := range hits {
		has, n := make([]bool, terms), 0
		for _, h := range hits[i:] {
			if h.end-hits[i].start > excerptLength-excerptBefore {
				break
			}
			if !has[h.term] {
				has[h.term] = true
				n++
			}
		}
		if n > most {
			first, most = i, n
		}
		if most == terms {
			break
		}
	}
	return first, most
}

// excerpt is the part of a text where most of the terms stand together, with the places that have them.
func excerpt(text string, terms []term) []Excerpt {
	hits, _ := hitsIn(newFolder(), text, terms)
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	start := 0
	if len(hits) > 0 {
		i, _ := densest(hits, len(terms))
		start = wordStart(text, max(0, hits[i].start-excerptBefore), hits[i].start)
	}
	end := wordEnd(text, start+excerptLength)
	out := []Excerpt{}
	add := func(s string, is bool) {
		if s = strings.ReplaceAll(s, "\n", " "); s != "" {
			out = append(out, Excerpt{Text: s, Hit: is})
		}
	}
	if start > 0 {
		out = append(out, Excerpt{Text: "… "})
	}
	at := start
	for _, h := range hits {
		if h.start < at || h.end > end {
			continue
		}
		add(text[at:h.start], false)
		add(text[h.start:h.end], true)
		at = h.end
	}
	add(text[at:end], false)
	if end < len(text) {
		out = append(out, Excerpt{Text: " …"})
	}
	return out
}

// wordStart is where a word begins, from a place on, but not behind most.
func wordStart(text string, from, most int) int {
	if from == 0 {
		return 0
	}
	if i := strings.IndexAny(text[from:most], " \n"); i >= 0 {
		return from + i + 1
	}
	for from < most && !utf8.RuneStart(text[from]) {
		from++
	}
	return from
}

// wordEnd is where a word ends, before a place.
func wordEnd(text string, to int) int {
	part := cut(text, to)
	if i := strings.LastIndexAny(part, " \n"); len(part) < len(text) && i > to-40 {
		return i
	}
	return len(part)
}
