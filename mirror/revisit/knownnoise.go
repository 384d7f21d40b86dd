// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"maps"

	"mirrord/internal/volatile"
	"mirrord/site"
)

// knownNoise are the positions that are believed.
type knownNoise struct {
	site  volatile.Positions
	pages map[string]volatile.Positions // by URL, of pages that have more of their own, with those of the site
	clock bool                          // some address is another one in each answer, because it holds the time
	tags  map[uint64]bool               // templates whose ETags are new in each answer
}

// publish makes the learned positions known. A position that is the same on most pages is known for those on
// which it differed, words of a text only when they did so twice, or in their order.
func (p *Noise) publish() {
	known := &knownNoise{
		site:  maps.Clone(p.given),
		pages: map[string]volatile.Positions{},
		tags:  map[uint64]bool{},
	}
	for _, s := range p.shapes {
		if s.Tags {
			known.tags[s.Shape] = true
		}
	}
	for at, f := range p.positions {
		if f.IsSure() {
			known.site[at], known.clock = f.At, known.clock || f.Clock
		}
	}
	for at, f := range p.positions {
		for i, u := range f.On {
			once := f.Prose && f.Kind != volatile.Order && !hasTwice(f.On[:i+1], u)
			if f.IsSure() || f.Wide || once {
				continue
			}
			if known.pages[u] == nil {
				known.pages[u] = maps.Clone(known.site)
			}
			known.pages[u][at] = f.At
		}
	}
	p.known.Store(known)
}

// Known returns the positions that are known for a page. The caller does not change them.
func (p *Noise) Known(u site.URL) volatile.Positions {
	known := p.known.Load()
	if known == nil {
		return nil
	}
	if own := known.pages[u.String()]; own != nil {
		return own
	}
	return known.site
}

// HasNewTags reports whether the pages of a template are known to have another ETag in each answer.
func (p *Noise) HasNewTags(u site.URL, body []byte) bool {
	known := p.known.Load()
	return known != nil && len(known.tags) > 0 && known.tags[shapeOf(u, body)]
}
