// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"bytes"
	"slices"

	"github.com/zeebo/xxh3"

	"mirrord/replica/text"
)

// Mention is a place in a document that names a URL.
type Mention struct {
	At int32 // of the reference, in bytes
	ID uint32
}

// PageFact is what a document says of a URL that it names.
type PageFact struct {
	ID    uint32
	Texts []uint64 // hashes of the texts beside the links to it
}

const (
	// In a block with more links than this, what stands beside a link is the text up to the next one; else it is
	// that of the block, such as a row with a title, an author and a date.
	sharedBlock = 4
	// So many blocks without links count for the link before them: the date and the summary below a headline.
	followers = 4
)

// Sayings reads what a document says of the URLs that it names, in the order in which it first names them.
// mentions are in the order of the document. In a feed a block is an entry; in a page a row, an item of a
// list, a paragraph, a headline or another block.
func Sayings(body []byte, feed bool, mentions []Mention) []PageFact {
	r := sayings{at: map[uint32]int{}}
	blank, start := 0, 0
	for start < len(body) {
		end := nextBlock(body, start, feed)
		n := 0
		for n < len(mentions) && int(mentions[n].At) < end {
			n++
		}
		switch block := mentions[:n]; {
		case n > 0:
			r.open, blank = r.open[:0], 0
			r.block(body[start:end], start, block)
		case blank < followers:
			blank++
			r.add(r.open, body[start:end])
		}
		mentions, start = mentions[n:], end
	}
	return r.out
}

// sayings are being read.
type sayings struct {
	out  []PageFact
	at   map[uint32]int // by URL: where it is in out
	open []uint32       // of what text without links is said
}

// block reads a block with links, which begins at start of the document.
func (r *sayings) block(b []byte, start int, mentions []Mention) {
	if len(mentions) <= sharedBlock {
		for _, m := range mentions {
			r.open = append(r.open, m.ID)
		}
		r.add(r.open, b)
		return
	}
	from := 0
	for i, m := range mentions {
		to := len(b)
		if i+1 < len(mentions) {
			next := int(mentions[i+1].At) - start
			if to = bytes.LastIndexByte(b[:next], '<'); to < from {
				to = next
			}
		}
		r.open = append(r.open[:0], m.ID)
		r.add(r.open, b[from:to])
		from = to
	}
}

// add takes markup that stands beside links to some URLs.
func (r *sayings) add(ids []uint32, markup []byte) {
	said := text.Extract(markup)
	hash := xxh3.HashString(said)
	for _, id := range ids {
		i, ok := r.at[id]
		if !ok {
			i = len(r.out)
			r.at[id] = i
			r.out = append(r.out, PageFact{ID: id})
		}
		if said != "" {
			r.out[i].Texts = append(r.out[i].Texts, hash)
		}
	}
}

// nextBlock is where the next block after a place begins.
func nextBlock(b []byte, from int, feed bool) int {
	name := make([]byte, 0, longestName)
	for i := from + 1; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			break
		}
		i += n
		if isBlock(tagName(b[i+1:], name[:0]), feed) {
			return i
		}
	}
	return len(b)
}

// longestName is the length of the longest name of a tag that matters, and one.
const longestName = 8

// tagName appends the name of the tag that begins there, in lower case.
func tagName(b, name []byte) []byte {
	for _, c := range b[:min(len(b), longestName)] {
		switch {
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		case ('a' <= c && c <= 'z') || ('0' <= c && c <= '9'):
		default:
			return name
		}
		name = append(name, c)
	}
	return name
}

func isBlock(name []byte, feed bool) bool {
	switch string(name) {
	case "entry", "item":
		return feed
	case "li", "tr", "p", "div", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "article", "section", "header",
		"footer", "nav", "main", "ul", "ol", "dl", "table", "br", "hr", "body":
		return !feed
	}
	return false
}

// News are the URLs of which a document says something that it did not say before: that it did not name
// before, of which it says a text that is new, or that came forward past others.
func News(before, now []PageFact) (ids []uint32) {
	was := make(map[uint32]int, len(before))
	for i, s := range before {
		was[s.ID] = i
	}
	var both []int // where they were, in the order of now
	for _, s := range now {
		if i, ok := was[s.ID]; ok {
			both = append(both, i)
		}
	}
	stays := rising(both)
	n := 0
	for _, s := range now {
		i, ok := was[s.ID]
		isNew := func(text uint64) bool { return !slices.Contains(before[i].Texts, text) }
		if !ok || slices.ContainsFunc(s.Texts, isNew) {
			ids = append(ids, s.ID)
		} else if !stays[n] && cameForward(both, n) {
			ids = append(ids, s.ID)
		}
		if ok {
			n++
		}
	}
	return ids
}

// cameForward reports whether one stands before more than half of those that it stood behind.
func cameForward(was []int, n int) bool {
	ahead := 0 // now before it
	for _, w := range was[:n] {
		if w < was[n] {
			ahead++
		}
	}
	behind := 0 // were before it
	for _, w := range was {
		if w < was[n] {
			behind++
		}
	}
	return behind > 0 && 2*ahead < behind
}

// rising says which elements are in a longest rising subsequence: those that kept their order.
func rising(a []int) []bool {
	last := make([]int, 0, len(a)) // by length: the element that ends the best one
	up := make([]int, len(a))      // the element before, plus one
	for i, v := range a {
		lo, hi := 0, len(last)
		for lo < hi {
			if mid := (lo + hi) / 2; a[last[mid]] < v {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if lo > 0 {
			up[i] = last[lo-1] + 1
		}
		if lo == len(last) {
			last = append(last, i)
		} else {
			last[lo] = i
		}
	}
	in := make([]bool, len(a))
	if len(last) > 0 {
		for i := last[len(last)-1] + 1; i > 0; i = up[i-1] {
			in[i-1] = true
		}
	}
	return in
}
