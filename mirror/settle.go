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
	r.Layout.Primary = render.Primary(r.Site.Trees, r.Live, r.Table.Settled(), r.Rules.Seeds)
	names, err := publish.AssignNames(r.naming())
	if err != nil {
		return err
	}
	r.shared = names.Shared
	fold := r.folding()
	if err := r.Site.Records.Fold(fold); err != nil {
		return err
	}
	if err := r.keepNames(names); err != nil {
		return err
	}
	if (j.Verdict == Complete) && (!r.Options.NoFetch || r.Options.Accept) {
		if err := r.judgeSettled(j); err != nil {
			return err
		}
		if err := r.Site.Records.Fold(fold); err != nil {
			return err
		}
	}
	if (j.Verdict == Complete) && r.Rescan {
		if err := r.Site.Notes.SetFingerprint(r.Fingerprint); err != nil {
			return err
		}
	}
	if err := r.observations(j); err != nil {
		return err
	}
	if j.StartsOver() {
		return r.startOver() // what was retrieved is kept, and accept publishes it
	}
	r.Run.Retrieved = (r.found.ended == nil) && (j.Left == 0) && (j.Verdict == Complete)
	r.Run.Requests += int(r.Counts.Requests.Load())
	return r.Site.Notes.SetRun(r.Run)
}

// askAllNext makes the next run request everything: what this one found may be wrong, and the records have
// it.
func (r *closing) askAllNext() error {
	if r.Options.NoFetch {
		return nil
	}
	return r.Site.Notes.SetFact(spare.FullFact, []byte("1"))
}

// askedAll ends the obligation of FullFact.
func (r *closing) askedAll() error {
	if r.Options.NoFetch {
		return nil
	}
	if v, err := r.Site.Notes.Fact(spare.FullFact); err != nil || len(v) == 0 {
		return err
	}
	return r.Site.Notes.SetFact(spare.FullFact, nil)
}

// naming is what mirror paths are given by.
func (r *closing) naming() publish.Naming {
	return publish.Naming{
		Table:   r.Table.Settled(),
		Layout:  r.Layout,
		Records: r.Site.Records,
		Log:     r.Log,
		Journal: func(done func(*store.Resource)) error {
			return r.Site.Records.Replay(func(uint32, store.NewURL) error { return nil },
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
	t := r.Table.Settled()
	err := r.amend(n.Apart, func(rec *store.Resource) { rec.Path, rec.Moved = t.Path(rec.ID), r.Version })
	if err == nil {
		err = r.amend(n.Bare, func(rec *store.Resource) { rec.Path = "" })
	}
	if err != nil {
		return err
	}
	return r.Site.Records.Fold(r.folding())
}

// observations writes down what the run has observed. A partial run has observed what it requested. Written
// again, it takes the place of what was written before.
func (r *closing) observations(j *judge.Judgement) error {
	o := store.Observation{
		Run:      r.Run.Number,
		Time:     r.Now().Unix(),
		Version:  r.Version,
		Complete: (j.Verdict == Complete) && !r.Options.NoFetch,
		Doubtful: (j.Verdict == Suspicious) && !r.Options.Accept,
	}
	if !r.Table.Settled().Observed(&o) {
		return nil
	}
	return r.Site.Records.AddObservation(&o)
}
