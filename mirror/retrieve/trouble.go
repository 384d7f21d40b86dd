// SPDX-License-Identifier: Apache-2.0

package retrieve

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mirrord/mirror/ledger"
	"mirrord/site"
)

// loadTroubles reads what earlier runs knew of URLs that asked to wait, and of silent origins. Without it
// more is requested, and nothing is lost.
func (r *Retrieval) loadTroubles() error {
	for _, f := range []struct {
		name   string
		decode func([]byte) error
	}{
		{ledger.WaitsFact, r.waits.Decode},
		{ledger.OriginsFact, r.origins.Decode},
	} {
		v, err := r.Site.Notes.Fact(f.name)
		if err != nil {
			return err
		}
		if err := f.decode(v); err != nil {
			r.Log.Warn("starting without what earlier runs knew of troubles", "err", err)
		}
	}
	return nil
}

// owed returns what reports whether a known URL is requested whatever the plan says.
func (r *Retrieval) owed() func(id uint32) bool {
	now, probes := r.Now(), r.origins.AnyProbed(r.Run.Number)
	return func(id uint32) bool {
		if r.Provenance.Owed(id) || r.waits.Due(id, now) {
			return true
		}
		if !probes {
			return false
		}
		turn, _ := r.origins.Turn(r.Table.URL(id).Origin(), r.Run.Number)
		return turn == ledger.OriginProbed
	}
}

// saveTroubles keeps it for the next run. whole says that the run was not cut short; when an entry point does
// not answer either, the network may be down, and no origin is to blame.
func (r *Retrieval) saveTroubles(whole bool) error {
	t := r.motor.Troubles
	if whole && len(t.DownEntries()) == 0 {
		silent := slices.Collect(maps.Keys(t.SilentOrigins()))
		r.origins.EndRun(r.Run.Number, r.Now().Unix(), silent, t.HasAnswered)
	}
	const what = "servers without an answer in %d runs or more: only every %dth run requests them"
	for _, origin := range r.origins.WrittenOff() {
		if u, _, err := site.Parse(origin + "/"); err == nil {
			r.Notes.Add(fmt.Sprintf(what, ledger.WrittenOffAfter, ledger.WrittenOffRuns), u)
		}
	}
	origins, err := r.origins.Encode()
	if known, kerr := r.Site.Notes.Fact(ledger.OriginsFact); kerr != nil {
		err = errors.Join(err, kerr)
	} else if (err == nil) && !bytes.Equal(origins, known) {
		err = r.Site.Notes.SetFact(ledger.OriginsFact, origins)
	}
	if waits, changed := r.waits.Encode(); changed {
		err = errors.Join(err, r.Site.Notes.SetFact(ledger.WaitsFact, waits))
	}
	return err
}
