// SPDX-License-Identifier: Apache-2.0

package find

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Weights of a page among those that have all words. How often a page has a word counts as in BM25, with less
// for each further time and for long pages; that a word is in the title counts as much as any number of times
// in the text.
const (
	saturation = 1.2
	usual      = 600 // words of a page
	titleHas   = 3.0 // for each word that the title has
	titleIs    = 3.0 // the title has all of them, and little else
	together   = 1.5 // the words stand in one excerpt
	forLinks   = 0.15
	forCopies  = 0.1
	hasGone    = 0.4
	mostTerm   = 64 << 10 // bytes of a text that are read to rank it
)

// rank sorts pages, the best first. The texts of so many are read as time allows, those first that are
// likely to be good.
func (r *reading) rank(pages []FoundPage) error {
	terms := r.q.terms()
	f := newFolder()
	for i := range pages {
		pages[i].score = aside(&pages[i]) * (0.5 + inTitle(f, pages[i].Title, terms))
	}
	best := func(a, b FoundPage) int { return cmp.Compare(b.score, a.score) }
	slices.SortStableFunc(pages, best)
	read := 0
	for i := range pages[:min(len(pages), mostRanked)] {
		p := &pages[i]
		if err := r.readText(p); err != nil {
			return err
		}
		text := cut(p.text, mostTerm)
		p.score = aside(p) * (inText(f, text, terms) + inTitle(f, p.Title, terms))
		if read += len(p.text); read > mostReading {
			break
		}
	}
	slices.SortStableFunc(pages, best)
	return nil
}

// aside is the weight of a page by its kind, apart from its text.
func aside(p *FoundPage) float64 {
	w := 1 + forLinks*math.Log2(1+float64(p.Linked))
	if c := p.Collection; c != nil {
		w *= 1 + forCopies*math.Log2(float64(1+len(c.Replicas)))
	}
	if p.Gone {
		w *= hasGone
	}
	return w
}

// inTitle is the weight of the words of a title.
func inTitle(f *folder, title string, terms []term) float64 {
	n, words := 0, 0
	has := make([]bool, len(terms))
	f.pieces(title, func(p piece) bool {
		words++
		for i := range terms {
			if !has[i] && terms[i].begins(p) {
				has[i] = true
				n++
			}
		}
		return true
	})
	w := titleHas * float64(n)
	if n == len(terms) && words <= n+2 {
		w += titleIs
	}
	return w
}

// inText is the weight of the words of a text.
func inText(f *folder, text string, terms []term) (w float64) {
	hits, words := hitsIn(f, text, terms)
	times := make([]int, len(terms))
	for _, h := range hits {
		times[h.term]++
	}
	long := saturation * (0.25 + 0.75*float64(words)/usual)
	for _, n := range times {
		w += float64(n) * (saturation + 1) / (float64(n) + long)
	}
	if _, n := densest(hits, len(terms)); len(terms) > 1 {
		w += together * float64(n) / float64(len(terms))
	}
	return w
}

// begins says whether a piece of a text is the first word of a term, or has it.
func (t *term) begins(p piece) bool {
	switch {
	case t.grams != p.grams:
		return false
	case t.grams:
		return strings.Contains(p.folded, t.words[0])
	case t.prefix && len(t.words) == 1:
		return strings.HasPrefix(p.folded, t.words[0])
	}
	return p.folded == t.words[0]
}

// hit is a place of a text that has a term.
type hit struct{ start, end, term int }

// hitsIn finds the terms in a text, and counts its words.
func hitsIn(f *folder, text string, terms []term) (out []hit, words int) {
	started := make([]hit, len(terms)) // a phrase of which some words were read
	read := make([]int, len(terms))
	f.pieces(text, func(p piece) bool {
		words++
		for i := range terms {
			t := &terms[i]
			switch {
			case t.grams && p.grams:
				out = appendRuns(out, f, text, p, t.words[0], i)
				continue
			case t.grams != p.grams:
				read[i] = 0
				continue
			}
			n := read[i]
			if n > 0 && !t.isWord(p, n) {
				n = 0
			}
			if n == 0 {
				if !t.isWord(p, 0) {
					read[i] = 0
					continue
				}
				started[i] = hit{start: p.start, term: i}
			}
			if read[i] = n + 1; read[i] == len(t.words) {
				started[i].end = p.end
				out = append(out, started[i])
				read[i] = 0
			}
		}
		return true
	})
	return out, words
}

// isWord says whether a piece is the word number n of a term.
func (t *term) isWord(p piece, n int) bool {
	if t.prefix && n == len(t.words)-1 {
		return strings.HasPrefix(p.folded, t.words[n])
	}
	return p.folded == t.words[n]
}

// appendRuns finds a run of characters in a piece.
func appendRuns(out []hit, f *folder, text string, p piece, run string, term int) []hit {
	var at []int // where the characters of the folded piece are in the text
	for from := 0; ; {
		i := strings.Index(p.folded[from:], run)
		if i < 0 {
			return out
		}
		if at == nil {
			at = f.places(text, p)
		}
		i += from
		out = append(out, hit{
			start: at[i],
			end:   at[i+len(run)],
			term:  term,
		})
		_, size := utf8.DecodeRuneInString(p.folded[i:])
		from = i + size
	}
}

// places says for each byte of a folded piece, and its end, where it is in the text. Where folding has joined
// characters all of it is at the beginning, and its end at the end.
func (o *folder) places(text string, p piece) []int {
	out := make([]int, 0, len(p.folded)+1)
	var whole []byte
	for i, r := range text[p.start:p.end] {
		part := o.fold(string(r))
		whole = append(whole, part...)
		for range len(part) {
			out = append(out, p.start+i)
		}
	}
	if string(whole) != p.folded {
		out = make([]int, len(p.folded))
		for i := range out {
			out[i] = p.start
			if i > 0 {
				out[i] = p.end
			}
		}
	}
	return append(out, p.end)
}
