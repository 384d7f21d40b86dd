// SPDX-License-Identifier: Apache-2.0

package spare

import (
	"mirrord/mirror/ledger"
	"mirrord/policy"
)

// Hint takes note that a kind of evidence says something new of a URL.
func (p *Planner) Hint(id uint32, k ledger.EvidenceKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hinted.list = append(p.hinted.list, hint{id, fromKind(k)})
}

// Weighs reports whether the plan weighs what sources do not show.
func (p *Planner) Weighs() bool {
	if p == nil {
		return false
	}
	_, weighs := p.plan.(policy.Doubter)
	return weighs
}

// Doubt takes URLs of which a source shows nothing new that hides this share of all changes.
func (p *Planner) Doubt(ids []uint32, hidden float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, weighs := p.plan.(policy.Doubter); weighs {
		units := make([]policy.ID, len(ids))
		for i, id := range ids {
			units[i] = policy.ID(id)
		}
		d.Doubt(units, hidden)
		p.dry = false
	}
}

// Says takes note of what a document that has changed says something new of. It counts when the outcome of
// the document reaches the plan.
func (p *Planner) Says(doc uint32, ids []uint32) {
	if len(ids) > 0 && p.governs(doc) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.said[doc] = ids
	}
}

// Heeds reports whether what a document said of others proved right so far.
func (p *Planner) Heeds(doc uint32) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hinted.heeds(doc)
}

// HintsToKeep is to be stored as HintsFact at the end of the run. No worker may run.
func (p *Planner) HintsToKeep() ([]byte, error) { return p.hinted.fact() }
