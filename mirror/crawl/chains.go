// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"mirrord/replica/text"
	"mirrord/site"
)

// A program may answer an endless chain of pages, each of which links to the next: the months of a calendar,
// a list beyond its end. The URLs of a chain have one path and one set of parameters. A chain is a trap when
// so many of its pages in a row (limits.max_stale) brought nothing new:
//
//   - growth: only pages count that a page of the chain leads to, itself or through others, and that are
//     not in the mirror yet. What an index or sitemap names is no chain;
//   - text: fewer than 4 words of letters, and at most 30 series of five words, that no page of the chain had
//     before. A page with exactly the words of an earlier one counts four times;
//   - links: to no new URL but those of this chain, or of others that bring nothing new either.
//
// An archive of numbered pages brings new text with each page, and is never cut, however long it is.

const (
	freshWords    = 4
	freshShingles = 30
	shingleWords  = 5
	repeatWeight  = 4
	dullAfter     = 8    // stale pages after which links to a chain are nothing new
	mostSeen      = 8192 // words and series that are remembered of a chain
	mostChains    = 64   // that are watched
	retestPages   = 4    // stale pages after which a chain that was a trap in the run before is one again
)

// Chains finds endless chains of pages. It is safe for concurrent use; nil finds none.
type Chains struct {
	limit int // limits.max_stale

	mu    sync.Mutex
	of    map[string]*chain
	grown map[uint32]bool // pages that a chain led to
}

// chain is what is known of the URLs of one pattern.
type chain struct {
	seen  map[uint64]struct{}
	stale int      // weight of the pages in a row that brought nothing new
	pages []uint32 // these pages
	cut   bool
}

// NewChains returns a Chains. known is what Known returned in the run before; nil when limit is 0.
func NewChains(limit int64, known map[string][]byte) *Chains {
	if limit <= 0 {
		return nil
	}
	c := &Chains{limit: int(limit), of: map[string]*chain{}, grown: map[uint32]bool{}}
	for p, seen := range known {
		k := &chain{seen: map[uint64]struct{}{}, stale: max(0, c.limit-retestPages)}
		for ; len(seen) >= 8; seen = seen[8:] {
			k.seen[binary.LittleEndian.Uint64(seen)] = struct{}{}
		}
		c.of[p] = k
	}
	return c
}

// PatternOf names the URLs that differ from u in the values of their query only; "" for a URL without one.
func PatternOf(u site.URL) string {
	q, ok := u.Query()
	if !ok || (q == "") {
		return ""
	}
	var names []string
	for _, pair := range strings.FieldsFunc(q, func(r rune) bool { return (r == '&') || (r == ';') }) {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name+"=…")
	}
	slices.Sort(names)
	return u.Origin() + u.Path() + "?" + strings.Join(slices.Compact(names), "&")
}

// Refuses reports whether u belongs to a trap.
func (c *Chains) Refuses(u site.URL) bool {
	if c == nil {
		return false
	}
	p := PatternOf(u)
	if p == "" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of[p]
	return (k != nil) && k.cut
}

// ChainPage is a page that was read and is new in the mirror.
type ChainPage struct {
	ID      uint32
	URL     site.URL
	FromID  uint32 // of the page that first named it, plus one
	From    site.URL
	Said    func() string // its text; nil: it is as it was when its chain was a trap
	Entered []site.URL    // new URLs that it leads to
}

// Learn takes a page. It is called before the URLs that the page leads to are requested.
func (c *Chains) Learn(p *ChainPage) {
	if c == nil {
		return
	}
	pattern := PatternOf(p.URL)
	c.mu.Lock()
	defer c.mu.Unlock()
	grown := (p.FromID > 0) && (c.grown[p.FromID-1] || ((pattern != "") && PatternOf(p.From) == pattern))
	if grown {
		c.grown[p.ID] = true
	}
	if pattern == "" {
		return
	}
	k := c.of[pattern]
	if k == nil {
		if len(c.of) >= mostChains {
			return
		}
		k = &chain{seen: map[uint64]struct{}{}}
		c.of[pattern] = k
	}
	fresh, weight := false, 1
	if p.Said != nil {
		fresh, weight = k.take(text.Tokens(p.Said()))
	}
	if fresh || c.leadsOn(pattern, p.Entered) {
		k.stale, k.pages = 0, nil
		return
	}
	if !grown {
		return
	}
	k.stale += weight
	k.pages = append(k.pages, p.ID)
	k.cut = k.cut || (k.stale >= c.limit)
}

// leadsOn reports whether some URLs are something new. The caller holds mu.
func (c *Chains) leadsOn(pattern string, urls []site.URL) bool {
	return slices.ContainsFunc(urls, func(u site.URL) bool {
		p := PatternOf(u)
		k := c.of[p]
		dull := (k != nil) && (k.cut || (k.stale >= dullAfter))
		return (p != pattern) && !dull
	})
}

// take adds the words of a page. It reports whether enough of them are new, and else how much the page
// counts.
func (k *chain) take(words []string) (fresh bool, weight int) {
	if len(k.seen) > mostSeen {
		clear(k.seen)
	}
	isNew := func(s string) bool {
		h := xxh3.HashString(s)
		_, old := k.seen[h]
		k.seen[h] = struct{}{}
		return !old
	}
	letters, series := 0, 0
	for i, w := range words {
		if isNew(w) && !strings.ContainsAny(w, "0123456789") {
			letters++
		}
		if i+shingleWords <= len(words) && isNew(strings.Join(words[i:i+shingleWords], " ")) {
			series++
		}
	}
	if weight = 1; !isNew("whole\x00" + strings.Join(words, " ")) {
		weight = repeatWeight
	}
	return (letters >= freshWords) || (series > freshShingles), weight
}

// Traps returns the traps by pattern, each with its pages that were requested and brought nothing new.
func (c *Chains) Traps() map[string][]uint32 {
	out := map[string][]uint32{}
	if c == nil {
		return out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, k := range c.of {
		if k.cut {
			out[p] = k.pages
		}
	}
	return out
}

// Known returns what NewChains needs in the next run: the patterns of traps, also of those that this run did
// not request, each with hashes of what its pages said.
func (c *Chains) Known() map[string][]byte {
	out := map[string][]byte{}
	if c == nil {
		return out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, k := range c.of {
		if !k.cut && (k.stale < max(1, c.limit-retestPages)) {
			continue
		}
		var seen []byte
		for _, h := range slices.Sorted(maps.Keys(k.seen)) {
			seen = binary.LittleEndian.AppendUint64(seen, h)
		}
		out[p] = seen
	}
	return out
}
