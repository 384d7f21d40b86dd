// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"slices"

	"mirrord/mirror/judge"
	"mirrord/mirror/render"
	"mirrord/phm"
)

// settle moves what retrieval found into the records that are kept, with mirror paths for what is new, and
// decides what a complete run no longer reaches.
func (r *run) settle(j *judge.Judgement, retrieved bool) error {
	r.layout.Primary = render.Primary(r.site, r.live, r.table.Settled(), r.rules.Seeds)
	twins, err := r.assignNames()
	if err != nil {
		return err
	}
	fold := r.folding()
	if err := r.site.Records.Fold(fold); err != nil {
		return err
	}
	if err := r.keepTwins(twins); err != nil {
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

// assignNames gives a mirror path to every resource of the mirror that has none and does not share a file.
// The order, and so the result, depends on the URLs and bodies alone, not on the order in which they were
// found.
func (r *run) assignNames() (*twins, error) {
	t := r.table.Settled()
	namer := phm.NewNamer(r.layout, int(t.Len()))
	var fresh []uint32
	for _, inSet := range []bool{true, false} { // what has left may have handed its path on
		for id, s := range t.All() {
			if s.InSet() != inSet {
				continue
			}
			switch p := t.Path(id); {
			case p != "":
				if err := namer.Reserve(p); err != nil {
					t.Displace(id)
					if inSet {
						r.log.Warn("mirror path is given anew", "url", t.URL(id).String(), "err", err)
						fresh = append(fresh, id)
					}
				}
			case inSet:
				fresh = append(fresh, id)
			}
		}
	}
	twins, err := r.findTwins(fresh)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(fresh, func(a, b uint32) int { return phm.Compare(t.URL(a), t.URL(b)) })
	for _, id := range fresh {
		if twins.share(r, id) {
			continue
		}
		t.Place(id, namer.Assign(t.URL(id), t.MIME(id)))
		if twins.rec[id].shared {
			twins.apart = append(twins.apart, id)
		}
	}
	r.shared = render.SharedURLs(t)
	return twins, nil
}
