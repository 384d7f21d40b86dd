// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/site"
)

// A site may answer every path below a directory with one page, mostly an error page with status 200. When
// its links are relative, each of these pages links to others that lie deeper, without end:
// /shop/shop/about/. Such a page is an echo: it lies below the page that links to it, it spells its links in
// the same way, and it has the text of the other echoes but for their own address. No honest site has eight
// of these.

// echoMark ends the name of a refused group.
const echoMark = "…"

// mostParents is how many pages are remembered that may have echoes.
const mostParents = 1 << 16

// echoes are the pages that say the same ever deeper. The lock of Chains guards them.
type echoes struct {
	parents map[uint32]uint64 // pages with links to what lies below them: hash of their links
	kinds   map[uint64]*echo  // by links and text
	of      map[uint32]*echo
}

type echo struct {
	chain
	dir string // URL of the directory that all of them lie below
}

// restore takes what a run before knew.
func (e *echoes) restore(dir string, k *chain) {
	for h := range k.seen {
		e.kinds[h] = &echo{chain: chain{seen: map[uint64]struct{}{h: {}}, stale: k.stale}, dir: dir}
	}
}

// learn takes a page. It reports whether a trap was found.
func (e *echoes) learn(p *ChainPage, limit int) (cut bool) {
	k := e.kindOf(p)
	if k == nil {
		return false
	}
	e.of[p.ID] = k
	k.pages = append(k.pages, p.ID)
	k.stale += repeatWeight
	cut = !k.cut && (k.stale >= limit)
	k.cut = k.cut || cut
	return cut
}

// kindOf returns the kind of echo that a page is, nil for none.
func (e *echoes) kindOf(p *ChainPage) *echo {
	if p.Said == nil { // an echo of the run before that is still the same
		return e.above(p.URL)
	}
	if !p.leadsDeeper() {
		return nil
	}
	refs := p.refs()
	if len(e.parents) < mostParents {
		e.parents[p.ID] = refs
	}
	same := false
	if p.FromID > 0 {
		parent, ok := e.parents[p.FromID-1]
		same = ok && (parent == refs) && isBelow(p.URL, dirOf(p.From))
	}
	if !same && e.above(p.URL) == nil {
		return nil
	}
	h := xxh3.HashStringSeed(ownText(p.Said(), p.URL), refs)
	k := e.kinds[h]
	switch {
	case (k == nil) && same && (len(e.kinds) < mostChains):
		k = &echo{chain: chain{seen: map[uint64]struct{}{h: {}}}, dir: dirOf(p.From)}
		e.kinds[h] = k
	case (k != nil) && same:
		k.dir = commonDir(k.dir, dirOf(p.From))
	case (k != nil) && !isBelow(p.URL, k.dir):
		return nil
	}
	return k
}

// above returns a kind of echo in whose directory a URL lies, nil for none.
func (e *echoes) above(u site.URL) *echo {
	for _, k := range e.kinds {
		if isBelow(u, k.dir) {
			return k
		}
	}
	return nil
}

// refuses reports whether a page is an echo that links to u below it.
func (e *echoes) refuses(u site.URL, from uint32) bool {
	k := e.of[from]
	return (k != nil) && k.cut && isBelow(u, k.dir)
}

// leadsDeeper reports whether a link of a page leads below it.
func (p *ChainPage) leadsDeeper() bool {
	dir := []byte(dirOf(p.URL))
	for l := range p.links() {
		if rest, below := bytes.CutPrefix(l.URL, dir); below && !l.Absolute && bytes.IndexByte(rest, '/') >= 0 {
			return true
		}
	}
	return false
}

// refs returns a hash of how the links of a page are spelled, without their queries.
func (p *ChainPage) refs() uint64 {
	var x xxh3.Hasher
	for l := range p.links() {
		ref, _, _ := bytes.Cut(l.Ref, []byte{'?'})
		x.Write(ref)
		x.Write([]byte{'\n'})
	}
	return x.Sum64()
}

// links returns the links of a page that browsers follow or load.
func (p *ChainPage) links() iter.Seq[*relocate.Link] {
	return func(yield func(*relocate.Link) bool) {
		for i := range p.Links {
			if l := &p.Links[i]; (l.URL != nil) && (l.Kind <= relocate.Requisite) && !yield(l) {
				return
			}
		}
	}
}

// ownText is what a page says but for its address and for words with digits, such as the time.
func ownText(said string, u site.URL) string {
	said = strings.ReplaceAll(said, u.String(), " ")
	if len(u.Path()) > 1 {
		said = strings.ReplaceAll(said, u.Path(), " ")
	}
	words := slices.DeleteFunc(text.Tokens(said), func(w string) bool { return strings.ContainsAny(w, digits) })
	return strings.Join(words, " ")
}

// commonDir is the directory that holds two.
func commonDir(a, b string) string {
	for !strings.HasPrefix(b, a) {
		a = a[:strings.LastIndexByte(a[:len(a)-1], '/')+1]
	}
	return a
}

// all returns the chains and echoes by the pattern that names them.
func (c *Chains) all() iter.Seq2[string, *chain] {
	return func(yield func(string, *chain) bool) {
		for p, k := range c.of {
			if !yield(p, k) {
				return
			}
		}
		for _, k := range c.echoes.kinds {
			if !yield(k.dir+echoMark, &k.chain) {
				return
			}
		}
	}
}
