// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"
)

// mostBetween is how many bytes stand at most between two texts that name a position.
const mostBetween = 64 << 10

// Between returns the position of what stands between two texts, which a profile names. It is for what says
// nothing although two answers of one moment have it in common, because the program keeps it for a day.
func Between(before, after string) (Position, At) {
	return hashOf(0, []byte(before), []byte(after)), At{Kind: Region, Before: before, After: after}
}

// between masks what stands between two texts, and, where that is a gap, notes the references in it.
func (k Positions) between(doc []byte) (m Masked) {
	m.Body = doc
	for _, p := range slices.Sorted(maps.Keys(k)) {
		at := k[p]
		if at.Before == "" {
			continue
		}
		for i := 0; ; {
			from := bytes.Index(m.Body[i:], []byte(at.Before))
			if from < 0 {
				break
			}
			from += i + len(at.Before)
			to := bytes.Index(m.Body[from:min(len(m.Body), from+mostBetween)], []byte(at.After))
			if i = from; to < 0 {
				continue
			}
			value := m.Body[from : from+to]
			if at.Kind == Gap {
				if !once(m.Body, []byte(at.Before)) || !once(m.Body, []byte(at.After)) || 2*to > len(m.Body) {
					break
				}
				d := read(value)
				for _, l := range d.leads {
					m.Named = append(m.Named, value[l.from:l.to])
				}
			}
			m.Hits = append(m.Hits, Sighting{
				Position: p,
				Value:    value,
				Where:    Short([]byte(at.Before)) + "#" + Short([]byte(at.After)),
				kind:     at.Kind,
			})
			m.Body = slices.Concat(m.Body[:from], []byte{mark, byte(at.Kind)}, m.Body[from+to:])
		}
	}
	return m
}

// Parts names the texts, and the tags with attributes, that stand in the gaps of a document.
func (k Positions) Parts(doc []byte) (out []uint64) {
	for _, hit := range k.between(revealed(doc)).Hits {
		if hit.kind != Gap {
			continue
		}
		for rest := hit.Value; len(rest) > 0; {
			n, is := cut(rest)
			if s := rest[:n]; !blank(s) && (is != tag || bytes.IndexByte(s, '=') >= 0) {
				out = append(out, xxh3.Hash(s))
			}
			rest = rest[n:]
		}
	}
	return out
}

// Regions names the texts, and the tags with attributes, that stand in the regions of a document, by
// position. Numbers, tokens and ages do not count but in addresses.
func (k Positions) Regions(doc []byte) map[Position][]uint64 {
	out := map[Position][]uint64{}
	for _, hit := range k.Masked(doc).Hits {
		if hit.kind != Region {
			continue
		}
		d, texts := read(hit.Value), out[hit.Position]
		for i := range d.segs {
			s := &d.segs[i]
			said := d.said(s)
			if !blank(said) && (s.kind != tag || bytes.IndexByte(said, '=') >= 0) {
				texts = append(texts, xxh3.Hash(bytes.TrimSpace(said)))
			}
		}
		slices.Sort(texts)
		out[hit.Position] = slices.Compact(texts)
	}
	return out
}

// once reports whether a document has a text exactly once.
func once(doc, text []byte) bool { return bytes.Count(doc, text) == 1 }

// Some of what two answers of one moment differ in has no element of its own to be named by: items drawn by
// lot into a page without classes, or too many of them. The page has a gap there, between two texts that both
// answers and the stored copy have once each. What is outside of it they have in common.

// Anchors of a gap.
const (
	leastAnchor = 4 // bytes
	mostAnchor  = 200
	mostAnchors = 64 // segments that are tried before and behind a difference
	mostGaps    = 8  // in a page
)

// gap finds the texts around a difference at two segments, and returns the segments behind it: the nearest
// ones in both answers, because a text may be in either by chance.
func (p *pair) gap(i, j int) (x, y int, ok bool) {
	if p.gaps++; p.gaps > mostGaps {
		return 0, 0, false
	}
	from, to := p.a.segs[i].from, p.b.segs[j].from
	before, after, least := -1, -1, 0
	for k := max(i-mostAnchors, p.behind); k < min(i+mostAnchors, len(p.a.segs)); k++ {
		at, s := p.anchor(k), p.a.segs[k]
		switch {
		case at < 0:
		case k < i:
			if at < to {
				before = k
			}
		case at >= to:
			if n := s.from - from + at - to; after < 0 || n < least {
				after, least = k, n
			}
		}
	}
	if before < 0 || after < 0 {
		return 0, 0, false
	}
	first, last := p.a.segs[before], p.a.segs[after]
	at := At{Kind: Gap}
	at.Before, at.After = string(p.a.doc[first.from:first.to]), string(p.a.doc[last.from:last.to])
	old, now := span{first.to, last.from}, span{p.anchor(before) + len(at.Before), p.anchor(after)}
	for _, s := range [...]span{old, now} {
		if n := s.to - s.from; n < 0 || n > mostBetween || 2*n > min(len(p.a.doc), len(p.b.doc)) {
			return 0, 0, false
		}
	}
	name := []byte(Short([]byte(at.Before)) + " # " + Short([]byte(at.After)))
	p.content(at, hashOf(0, []byte(at.Before), []byte(at.After)), name, old, now)
	p.behind = after
	return after, p.b.segAt(now.to), true
}

// anchor returns where a segment of the first answer is in the second one, when each body has it once; else
// -1.
func (p *pair) anchor(i int) int {
	s := p.a.segs[i]
	text := p.a.doc[s.from:s.to]
	if len(bytes.TrimSpace(text)) < leastAnchor || len(text) > mostAnchor || !once(p.a.doc, text) ||
		!once(p.b.doc, text) || (p.stored != nil && !once(p.stored, text)) {
		return -1
	}
	return bytes.Index(p.b.doc, text)
}
