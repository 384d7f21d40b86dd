// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/judge"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
)

// settle moves what retrieval found into the records that are kept, with mirror paths for what is new, and
// decides what a complete run no longer reaches.
func (r *run) settle(j *judge.Judgement, retrieved bool) error {
	r.layout.Primary = render.Primary(r.site, r.live, r.table.Settled(), r.rules.Seeds)
	names, err := publish.AssignNames(r.naming())
	if err != nil {
		return err
	}
	r.shared = names.Shared
	fold := r.folding()
	if err := r.site.Records.Fold(fold); err != nil {
		return err
	}
	if err := r.keepNames(names); err != nil {
		return err
	}
	if (j.Verdict == Complete) && (!r.o.NoFetch || r.o.Accept) {
		if err := r.judgeSettled(j); err != nil {
			return err
		}
		if err := r.site.Records.Fold(fold); err != nil {
			return err
		}
	}
	if (j.Verdict == Complete) && r.rescan {
		if err := r.site.Notes.SetFingerprint(r.fingerprint); err != nil {
			return err
		}
	}
	if err := r.observations(j); err != nil {
		return err
	}
	if j.StartsOver() {
		return r.startOver() // what was retrieved is kept, and accept publishes it
	}
	r.state.Retrieved = retrieved && (j.Left == 0) && (j.Verdict == Complete)
	r.state.Requests += int(r.stats.Requests.Load())
	return r.site.Notes.SetRun(r.state)
}
