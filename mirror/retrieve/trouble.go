// SPDX-License-Identifier: Apache-2.0

package retrieve

import "mirrord/mirror/ledger"

// loadTroubles reads what earlier runs knew of URLs that asked to wait.
func (r *Retrieval) loadTroubles() error {
	v, err := r.Site.Notes.Fact(ledger.WaitsFact)
	if err != nil {
		return err
	}
	if err := r.waits.Decode(v); err != nil {
		r.Log.Warn("starting without it", "err", err)
	}
	return nil
}

// saveTroubles keeps it for the next run.
func (r *Retrieval) saveTroubles() error {
	v, changed := r.waits.Encode()
	if !changed {
		return nil
	}
	return r.Site.Notes.SetFact(ledger.WaitsFact, v)
}

// owed reports whether a known URL is requested whatever the plan says.
func (r *Retrieval) owed(id uint32) bool { return r.Provenance.Owed(id) || r.waits.Due(id, r.Now()) }
