// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"math"
	"slices"
	"strings"

	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/record"
)

// Basis is what a version is planned from.
type Basis struct {
	Table  urls.Settled
	Links  func(f func(id uint32, targets []byte) error) error // the stored lists of targets of documents
	Covers func(u site.URL) bool                               // the scope of the job
	Live   *record.Version                                     // the published version; nil without one
	Damage TreeDamage                                          // of the published tree
	Rescan bool                                                // the job's rules are not those of Live
	Seeds  []site.URL
	Meta   phm.Meta // what phm.json says that neither the plan nor the files do

	// Repaired are the documents of which other links are repaired than in the published version.
	Repaired []uint32
}

// VersionPlan says what the next version of a mirror has.
type VersionPlan struct {
	Table urls.Settled
	Live  *record.Version
	Files []uint32 // the resources with a file in the version, by mirror path
	Entry string   // mirror path of the page to open; "" when none exists, and nothing may be published
	Meta  phm.Meta

	moved bool            // a URL entered, left or moved
	again record.Bits     // documents that are rendered again although their bodies are as they were
	wrong map[string]bool // mirror paths of published files that are damaged
	lost  bool            // the published files cannot be checked
}

// NewPlan plans a version. It changes nothing.
func NewPlan(b Basis) (*VersionPlan, error) {
	t := b.Table
	p := &VersionPlan{
		Table: t,
		Live:  b.Live,
		Files: inOrder(t),
		Meta:  b.Meta,
		again: make(record.Bits, t.Len()/64+1),
		wrong: b.Damage.Wrong,
		lost:  b.Damage.Lost != nil,
	}
	for _, id := range b.Repaired {
		p.again.Add(id)
	}
	if err := p.affected(&b); err != nil {
		return nil, err
	}
	if p.lost || len(p.wrong) > 0 {
		for _, id := range p.Files {
			if p.lost || p.wrong[t.Path(id)] {
				p.again.Add(id)
			}
		}
	}
	if id, ok := t.Entry(b.Seeds); ok {
		p.Entry = t.Path(id)
		if !slices.ContainsFunc(p.Files, func(id uint32) bool { return t.URL(id).Origin() == p.Meta.Primary }) {
			// The site has moved as a whole: an archive may not be named after an origin of which it has no
			// file.
			p.Meta.Primary = t.URL(id).Origin()
		}
		p.Meta.Entry = p.Entry
	}
	for _, u := range b.Seeds {
		p.Meta.Origins = append(p.Meta.Origins, u.String())
	}
	return p, nil
}

// Nothing reports whether the published version is as the plan wants the next one.
func (p *VersionPlan) Nothing() bool {
	return p.Live != nil && !p.moved && !slices.ContainsFunc(p.Files, p.Dirty)
}

// Dirty reports whether the published file of a resource may not be taken over as it is.
func (p *VersionPlan) Dirty(id uint32) bool { return p.Table.State(id).Dirty() || p.again.Has(id) }

// Damaged reports whether published files are damaged.
func (p *VersionPlan) Damaged() bool { return len(p.wrong) > 0 }

// inOrder returns what has a file, by mirror path.
func inOrder(t urls.Settled) []uint32 {
	var ids []uint32
	for id, s := range t.All() {
		if s.InSet() && !s.Shares() {
			ids = append(ids, id)
		}
	}
	return urls.Sorted(ids, t.Path, strings.Compare)
}

// affected finds the documents that link to a URL that entered, left or moved, by one sequential pass over
// the links.
func (p *VersionPlan) affected(b *Basis) error {
	t := p.Table
	all := b.Live == nil || b.Rescan
	for id, s := range t.All() {
		if !s.Moved() {
			continue
		}
		p.moved = true
		// A URL out of scope has no number while no document needs it, so the lists cannot tell who links
		// to it.
		if s.Requisite() && !b.Covers(t.URL(id)) {
			all = true
		}
	}
	if all {
		for i := range p.again {
			p.again[i] = math.MaxUint64
		}
		return nil
	}
	if !p.moved {
		return nil
	}
	return b.Links(func(id uint32, targets []byte) error {
		if id >= t.Len() || !t.State(id).InSet() || p.Dirty(id) {
			return nil
		}
		record.Targets(targets, func(to uint32) bool {
			if to == record.Unnumbered || leadsToMoved(t, to&^(record.Mention|record.Guess)) {
				p.again.Add(id)
				return false
			}
			return true
		})
		return nil
	})
}

// leadsToMoved reports whether a URL, or one to which it redirects, entered, left or moved.
func leadsToMoved(t urls.Settled, id uint32) bool {
	for range urls.MaxHops {
		if id >= t.Len() {
			return false
		}
		s := t.State(id)
		if s.Moved() {
			return true
		}
		if s.Target() == 0 {
			return false
		}
		id = s.Target() - 1
	}
	return false
}
