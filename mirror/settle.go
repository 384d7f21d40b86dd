// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/judge"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/spare"
	"mirrord/store"
)

// settle moves what retrieval found into the records that are kept, with mirror paths for what is new, and
// decides what a complete run no longer reaches.
func (r *closing) settle(j *judge.Judgement) error {
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
	r.state.Retrieved = (r.found.ended == nil) && (j.Left == 0) && (j.Verdict == Complete)
	r.state.Requests += int(r.stats.Requests.Load())
	return r.site.Notes.SetRun(r.state)
}

// askAllNext makes the next run request everything: what this one found may be wrong, and the records have
// it.
func (r *closing) askAllNext() error {
	if r.o.NoFetch {
		return nil
	}
	return r.site.Notes.SetFact(spare.FullFact, []byte("1"))
}

// askedAll ends the obligation of FullFact.
func (r *closing) askedAll() error {
	if r.o.NoFetch {
		return nil
	}
	if v, err := r.site.Notes.Fact(spare.FullFact); err != nil || len(v) == 0 {
		return err
	}
	return r.site.Notes.SetFact(spare.FullFact, nil)
}

// naming is what mirror paths are given by.
func (r *closing) naming() publish.Naming {
	return publish.Naming{
		Table:   r.table.Settled(),
		Layout:  r.layout,
		Records: r.site.Records,
		Log:     r.log,
		Journal: func(done func(*store.Resource)) error {
			return r.site.Records.Replay(func(uint32, store.NewURL) error { return nil },
				func(rec *store.Resource, _ []byte, _ bool) error {
					done(rec)
					return nil
				})
		},
	}
}

// keepNames writes the new paths of those that shared a file, also of those that this run did not look at.
func (r *closing) keepNames(n publish.Names) error {
	if len(n.Apart) == 0 {
		return nil
	}
	t := r.table.Settled()
	err := r.amend(n.Apart, func(rec *store.Resource) { rec.Path, rec.Moved = t.Path(rec.ID), r.version })
	if err == nil {
		err = r.amend(n.Bare, func(rec *store.Resource) { rec.Path = "" })
	}
	if err != nil {
		return err
	}
	return r.site.Records.Fold(r.folding())
}

// observations writes down what the run has observed. A partial run has observed what it requested. Written
// again, it takes the place of what was written before.
func (r *closing) observations(j *judge.Judgement) error {
	o := store.Observation{
		Run:      r.state.Number,
		Time:     r.now().Unix(),
		Version:  r.version,
		Complete: (j.Verdict == Complete) && !r.o.NoFetch,
		Doubtful: (j.Verdict == Suspicious) && !r.o.Accept,
	}
	if !r.table.Settled().Observed(&o) {
		return nil
	}
	return r.site.Records.AddObservation(&o)
}
