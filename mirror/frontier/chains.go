// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/site"
)

// A program may answer an endless chain of pages, each of which links to the next: the months of a calendar,
// a list beyond its end. The URLs of a chain have one pattern, see PatternOf. A chain is a trap when so many
// of its pages in a row (limits.traps) had nothing new:
//
//   - growth: only pages count that a page of the chain links to, itself or through others, and that are
//     not in the mirror yet. What an index or sitemap names, too, is no chain, nor what a page of the chain
//     names that links to three or more new ones;
//   - text: all but 2 of its series of five words stood in earlier pages of the chain, and so did all of the
//     text. The numbers of the URL and the days of a month do not count. A page with exactly the words of an
//     earlier one, numbers as well, counts four times. A page with a little more that is new takes one page
//     back from the count: pages of data have that always, a calendar has it with each new month of the year.
//     Four new words of letters, or more than 30 series, end the count;
//   - links: to no new URL but those of this chain, of others that bring nothing new either, or known ones to
//     which the page hands its parameters on; no picture that no page of the chain had before, and no link of
//     another pattern than theirs.
//
// A chain whose pages link to those of a trap, as the months of a calendar link to its days, is a trap
// after a quarter of that.
//
// An archive of numbered pages has new text on each page, and is never left out, however long it is.
// Pages whose relative links lead ever deeper are the other kind of trap, see echoes.

const (
	freshWords   = 4    // new words of letters that end the count
	freshSeries  = 30   // more new series do as well
	fewSeries    = 2    // so many new series are nothing new
	seriesWords  = 5    // of one series
	repeatWeight = 4    // of a page with exactly the words of an earlier one, and of an echo
	indexLinks   = 3    // new pages of its own pattern that an index links to, at least
	dullAfter    = 8    // stale pages after which links to a chain are nothing new
	mostWords    = 2000 // of a page that are compared by series; of a longer one all must be as before
	mostSeen     = 8192 // words, series and links that are remembered of a chain
	mostChains   = 64   // that are watched
	retestPages  = 4    // stale pages after which a chain that was a trap in the run before is one again
	leadsToTrap  = 4    // part of the limit, for a chain that links to a trap
)

// Chains finds endless chains of pages. It is safe for concurrent use; nil finds none.
type Chains struct {
	limit    int          // limits.traps
	cuts     atomic.Int32 // traps
	doubtful atomic.Bool  // some pattern may be a trap

	mu      sync.Mutex
	of      map[string]*chain // by pattern
	turn    int               // counts the pages that were learned
	grown   urls.IDSet        // pages that a chain links to
	indexes urls.IDSet        // pages that lead to several of their own pattern
	named   map[uint32]int    // of Load: by pages, how many of their own pattern they named before
	vouch   urls.IDSet        // pages that others name, too
	echoes  echoes
}

// chain describes the pages of one kind.
type chain struct {
	seen  map[uint64]struct{}
	stale int      // weight of the pages in a row that had nothing new
	pages []uint32 // these pages
	cut   bool
	known bool            // it was a trap in the run before
	above map[string]bool // patterns of other chains that link to it
	short bool            // it links to a trap
	used  int             // the turn in which it had a page
}

// NewChains returns a Chains. known is what Known returned in the run before; nil when limit is 0.
func NewChains(limit int64, known map[string][]byte) *Chains {
	if limit <= 0 {
		return nil
	}
	c := &Chains{
		limit:  int(limit),
		of:     map[string]*chain{},
		echoes: echoes{parents: map[uint32]uint64{}, kinds: map[uint64]*echo{}, of: map[uint32]*echo{}},
	}
	c.doubtful.Store(len(known) > 0)
	for p, seen := range known {
		k := &chain{
			seen:  map[uint64]struct{}{},
			stale: max(0, c.limit-retestPages),
			known: true,
			above: map[string]bool{},
		}
		for ; len(seen) >= 8; seen = seen[8:] {
			k.seen[binary.LittleEndian.Uint64(seen)] = struct{}{}
		}
		if dir, ok := strings.CutSuffix(p, echoMark); ok && strings.HasSuffix(dir, "/") {
			c.echoes.restore(dir, k)
		} else {
			c.of[p] = k
		}
	}
	return c
}

// Load takes what was named before and is not in the mirror: what an interrupted or limited run left. Pages
// that an index named are no chain because they are requested later.
func (c *Chains) Load(t urls.Settled) {
	if c == nil {
		return
	}
	named := map[uint32]int{}
	for _, s := range t.All() {
		if s.Given() && !s.InSet() && (s.Referrer() > 0) && !s.WasAsked() {
			named[s.Referrer()-1] = 0
		}
	}
	if len(named) == 0 {
		return
	}
	for id, s := range t.All() {
		if !s.Given() || (s.Referrer() == 0) {
			continue
		}
		from := s.Referrer() - 1
		if n, some := named[from]; some && (n < indexLinks) && sameKind(t.URL(id), t.URL(from)) {
			named[from]++
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.named = named
	for from, n := range named {
		c.indexes.Put(from, n >= indexLinks)
	}
}

// sameKind reports whether two URLs have one pattern.
func sameKind(a, b site.URL) bool {
	p := PatternOf(a)
	return (p != "") && (p == PatternOf(b))
}

// Doubts reports whether there may be a trap, so that Vouch matters.
func (c *Chains) Doubts() bool { return (c != nil) && c.doubtful.Load() }

// Vouch takes a page that is not in the mirror yet, and one that names it. When that is no page of the chain,
// the page is no part of a trap.
func (c *Chains) Vouch(id uint32, u site.URL, byID uint32, by site.URL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := PatternOf(u); (p != "") && (p != PatternOf(by)) && !c.grown.Has(byID) {
		c.vouch.Put(id, true)
	}
}

// Refuses reports whether u, which the page of that number names, belongs to a trap. What another page names
// as well is not refused to that one.
func (c *Chains) Refuses(u site.URL, from uint32) bool {
	if (c == nil) || (c.cuts.Load() == 0) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.echoes.refuses(u, from) {
		return true
	}
	if !c.grown.Has(from) {
		return false
	}
	k := c.of[PatternOf(u)]
	return (k != nil) && k.cut
}

// ChainPage is a page that was read, of which Reread takes ID, URL and Entered.
type ChainPage struct {
	ID      uint32
	URL     site.URL
	FromID  uint32 // of the page that first named it, plus one
	From    site.URL
	Above   site.URL            // of the page that first named From; it matters if From has a pattern
	Said    func() string       // its text; nil: it is as it was when it left the mirror as part of a trap
	Links   []relocate.Link     // of the page
	Entered []site.URL          // URLs that enter the frontier because of it
	Had     func(site.URL) bool // whether one of these was answered in an earlier run, as a dead link was
	Knows   func(site.URL) bool // whether a URL has a number
	handsOn map[site.URL]bool   // see hands
}

// hands finds the links of a page that differ from a known URL only in parameters that the page has, too.
func (p *ChainPage) hands() {
	if q, _ := p.URL.Query(); (q == "") || (p.Knows == nil) {
		return
	}
	p.handsOn = map[site.URL]bool{}
	links := slices.Clone(p.Entered)
	for l := range p.links() {
		links = append(links, site.Canonical(string(l.URL)))
	}
	for _, u := range links {
		bare := without(u, p.URL)
		p.handsOn[u] = (bare != u) && p.Knows(bare)
	}
}

// Recall takes a page that is in the mirror already, and the one that first named it: pages that a chain
// linked to before still count as linked from it.
func (c *Chains) Recall(id uint32, u, from site.URL) {
	if (c == nil) || !sameKind(u, from) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grown.Put(id, true)
}

// Reread takes a page that is in the mirror already and was read again.
func (c *Chains) Reread(p *ChainPage) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index(p)
}

// Learn takes a page that is new in the mirror. It is called before the URLs that the page links to are
// requested.
func (c *Chains) Learn(p *ChainPage) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	if c.echoes.learn(p, c.limit) {
		c.cuts.Add(1)
		c.doubtful.Store(true)
	}
	pattern := c.index(p)
	if (p.FromID == 0) || c.vouch.Has(p.ID) || !c.ledOn(p, pattern) {
		return
	}
	c.grown.Put(p.ID, true)
	if pattern == "" {
		return
	}
	c.mu.Unlock()
	p.hands() // the table asks Refuses while it is locked
	c.mu.Lock()
	k := c.chain(pattern)
	if k == nil {
		return
	}
	if from := PatternOf(p.From); (from != pattern) && (from != "") {
		k.above[from] = true
	}
	if c.count(k, pattern, p) {
		c.cuts.Add(1)
		for from := range k.above {
			if up := c.of[from]; up != nil {
				up.short = true
			}
		}
	}
}

// ledOn reports whether a page of a chain links to a page.
func (c *Chains) ledOn(p *ChainPage, pattern string) bool {
	from := PatternOf(p.From)
	switch {
	case (pattern != "") && (from == pattern):
		return !c.indexes.Has(p.FromID - 1)
	case c.grown.Has(p.FromID - 1):
		return true
	}
	return (from != "") && (from == PatternOf(p.Above))
}

// index notes whether a page links to several new ones of its own pattern: a chain continues by one, or by
// one in each direction. It returns the pattern.
func (c *Chains) index(p *ChainPage) (pattern string) {
	if pattern = PatternOf(p.URL); pattern == "" {
		return ""
	}
	n := c.named[p.ID]
	for _, u := range p.Entered {
		if PatternOf(u) == pattern {
			n++
		}
	}
	if n >= indexLinks {
		c.indexes.Put(p.ID, true)
	}
	return pattern
}

// chain returns the chain of a pattern; nil when too many chains may be traps.
func (c *Chains) chain(pattern string) *chain {
	k := c.of[pattern]
	if k == nil {
		if len(c.of) >= mostChains && !c.forget() {
			return nil
		}
		k = &chain{seen: map[uint64]struct{}{}, above: map[string]bool{}}
		c.of[pattern] = k
	}
	k.used = c.turn
	return k
}

// forget gives up the chain that had no page for longest, of those that may not be traps.
func (c *Chains) forget() bool {
	oldest := ""
	for p, k := range c.of {
		if (k.stale == 0) && !k.cut && ((oldest == "") || (k.used < c.of[oldest].used)) {
			oldest = p
		}
	}
	delete(c.of, oldest)
	return oldest != ""
}

// count takes a page into its chain. It reports whether the chain is a trap from now on.
func (c *Chains) count(k *chain, pattern string, p *ChainPage) (cut bool) {
	words, weight := newSome, 1
	if p.Said == nil {
		words = newNothing
	} else {
		words, weight = k.take(p.words(pattern))
	}
	links := c.leadsOn(k, pattern, p)
	switch {
	case k.cut: // the page was under way
		k.pages = append(k.pages, p.ID)
		return false
	case (words == newMuch) || links:
		k.stale, k.pages = 0, nil
		return false
	case (words == newSome) && !k.known:
		if k.stale = max(0, k.stale-1); k.stale == 0 {
			k.pages = nil
			return false
		}
		weight = 0
	}
	k.stale += weight
	k.pages = append(k.pages, p.ID)
	k.cut = (k.stale >= c.limit) || (k.short && (k.stale >= c.limit/leadsToTrap))
	if k.stale >= dullAfter {
		c.doubtful.Store(true)
	}
	return k.cut
}

// leadsOn reports whether a page has links to something new. It remembers all of them.
func (c *Chains) leadsOn(k *chain, pattern string, p *ChainPage) (on bool) {
	isDull := func(p string) bool {
		other := c.of[p]
		return (p == pattern) || ((other != nil) && (other.cut || (other.stale >= dullAfter)))
	}
	for _, u := range p.Entered {
		on = on || !(isDull(PatternOf(u)) || p.handsOn[u] || ((p.Had != nil) && p.Had(u)))
	}
	for l := range p.links() {
		u := site.Canonical(string(l.URL))
		what := PatternOf(u)
		if (l.Kind == relocate.Hyperlink) && (isDull(what) || p.handsOn[u]) {
			continue
		}
		if (what == "") || (l.Kind != relocate.Hyperlink) {
			what = u.String()
		}
		on = k.isNew("link\x00"+what) || on
	}
	return on
}

// words returns the words of a page, also without the numbers of its URL and of the next ones.
func (p *ChainPage) words(pattern string) (all, plain []string) {
	numbers := map[string]bool{}
	numbersOf(p.URL.String(), numbers)
	for i := range p.Links {
		if l := &p.Links[i]; (l.URL != nil) && (l.Kind == relocate.Hyperlink) {
			if u := site.Canonical(string(l.URL)); PatternOf(u) == pattern {
				numbersOf(u.String(), numbers)
			}
		}
	}
	all = text.Tokens(p.Said())
	return all, withoutNumbers(all, numbers)
}

// novelty is how much of a text is new.
type novelty uint8

const (
	newNothing novelty = iota
	newSome
	newMuch
)

// take adds the words of a page. It reports how much of them is new, and how much the page counts when
// nothing is.
func (k *chain) take(all, plain []string) (n novelty, weight int) {
	if len(k.seen) > mostSeen {
		clear(k.seen)
	}
	if weight = 1; !k.isNew("whole\x00" + strings.Join(all, " ")) {
		weight = repeatWeight
	}
	same := !k.isNew("plain\x00" + strings.Join(plain, " "))
	if len(plain) > mostWords {
		if same {
			return newNothing, weight
		}
		return newMuch, weight
	}
	letters, series := 0, 0
	for i, w := range plain {
		if k.isNew(w) && !strings.ContainsAny(w, digits) {
			letters++
		}
		if (i+seriesWords <= len(plain)) && k.isNew(strings.Join(plain[i:i+seriesWords], " ")) {
			series++
		}
	}
	switch {
	case (letters >= freshWords) || (series > freshSeries):
		return newMuch, weight
	case (series > fewSeries) || !same:
		return newSome, weight
	}
	return newNothing, weight
}

func (k *chain) isNew(s string) bool {
	h := xxh3.HashString(s)
	_, old := k.seen[h]
	k.seen[h] = struct{}{}
	return !old
}

// Traps returns the traps by pattern, each with its pages that were requested and had nothing new.
func (c *Chains) Traps() map[string][]uint32 {
	out := map[string][]uint32{}
	if c == nil {
		return out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, k := range c.all() {
		if k.cut {
			out[p] = append(out[p], k.pages...)
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
	for p, k := range c.all() {
		if !k.cut && (k.stale < max(1, c.limit-retestPages)) {
			continue
		}
		for _, h := range slices.Sorted(maps.Keys(k.seen)) {
			out[p] = binary.LittleEndian.AppendUint64(out[p], h)
		}
	}
	return out
}
