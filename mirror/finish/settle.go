// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"errors"

	"mirrord/mirror/publish"
	"mirrord/mirror/result"
	"mirrord/mirror/revisit"
	"mirrord/mirror/verdict"
	"mirrord/store/record"
)

// settle moves what retrieval found into the kept records, with mirror paths for new URLs, and
// decides what a complete run no longer reaches.
func (c *Closing) settle(j *verdict.Judgement) error {
	again, err := findPrimary(c)
	if err != nil {
		return err
	}
	names, err := publish.AssignNames(c.naming())
	if err != nil {
		return err
	}
	names.Apart = append(names.Apart, again...)
	c.shared = names.Shared
	fold := c.folding()
	if err := c.Site.Records.Fold(fold); err != nil {
		return err
	}
	if err := c.keepNames(names); err != nil {
		return err
	}
	if err := c.judgeParts(j); err != nil {
		return err
	}
	if j.Verdict.Finished() && (!c.Options.NoFetch || c.Options.Accept) {
		if err := c.judgeSettled(j); err != nil {
			return err
		}
		if err := c.Site.Records.Fold(fold); err != nil {
			return err
		}
	}
	if err := judgeRejection(c, j); err != nil {
		return err
	}
	if j.Verdict.Finished() && c.requestedAll(j) && c.Rescan && (j.Rejection == nil) {
		if err := c.Site.Notes.SetFingerprint(c.Fingerprint); err != nil {
			return err
		}
	}
	if err := c.Site.Records.SettleLooks(); err != nil {
		return err
	}
	if err := c.observations(j); err != nil {
		return err
	}
	if j.StartsOver() {
		return c.startOver(j) // what was retrieved is kept, and accept publishes it
	}
	c.Run.Retrieved = (c.found.Ended == nil) && (j.Left == 0) && j.Verdict.Finished()
	c.Run.Requests += int(c.Counts.Requests.Load())
	if c.Options.Restores != 0 {
		return nil // no run resumes a rollback: it requests the site
	}
	return c.Site.Notes.SetRun(c.Run)
}

// requestAllNext makes the next run request everything: what this one found may be wrong, and the records
// have it. why is the value of FullFact.
func (c *Closing) requestAllNext(why string) error {
	if c.Options.NoFetch {
		return nil
	}
	return c.Site.Notes.SetFact(revisit.FullFact, []byte(why))
}

// requestedAll reports whether the run got to all that it wanted to request.
func (c *Closing) requestedAll(j *verdict.Judgement) bool { return (j.Left == 0) && !c.Expired }

// allRequested ends the obligation of FullFact. So does accepting the suspicious run for which it is there.
func (c *Closing) allRequested() error {
	if c.Options.Imports {
		return c.requestAllNext(revisit.FullAlways)
	}
	v, err := c.Site.Notes.Fact(revisit.FullFact)
	accepted := c.Options.Accept && string(v) == revisit.FullDoubtful
	if err != nil || len(v) == 0 || (c.Options.NoFetch && !accepted) {
		return err
	}
	return c.Site.Notes.SetFact(revisit.FullFact, nil)
}

// naming is what mirror paths are given by.
func (c *Closing) naming() publish.Naming {
	return publish.Naming{
		Table:   c.Table.Settled(),
		Layout:  c.Layout,
		Records: c.Site.Records,
		Log:     c.Log,
		Journal: c.Site.Records.Results,
	}
}

// keepNames writes the new paths of those that shared a file, also of those that this run did not look at.
func (c *Closing) keepNames(n publish.Names) error {
	if len(n.Apart) == 0 {
		return nil
	}
	t := c.Table.Settled()
	err := c.amend(n.Apart, func(rec *record.Resource) { rec.Path, rec.Moved = t.Path(rec.ID), c.Version })
	if err == nil {
		err = c.amend(n.Bare, func(rec *record.Resource) { rec.Path = "" })
	}
	if err != nil {
		return err
	}
	return c.Site.Records.Fold(c.folding())
}

// observations writes down what the run has observed. A partial run has observed what it requested. Written
// again, it takes the place of what was written before.
func (c *Closing) observations(j *verdict.Judgement) error {
	o := record.Observation{
		Run:      c.Run.Number,
		Time:     c.Now().Unix(),
		Version:  c.Version,
		Complete: j.Verdict.Finished() && !c.Options.NoFetch && len(c.Job.Only) == 0,
		Doubtful: (j.Verdict == result.Suspicious) && !c.Options.Accept,
	}
	if !c.Table.Settled().Observed(&o) {
		return nil
	}
	if err := leaveRestored(c.Session, &o); err != nil {
		return err
	}
	return c.Site.Records.AddObservation(&o)
}

// believe takes the findings of suspicious runs for the state of the site, when a user has accepted them:
// else what came and went in them is missing in the counts of changes.
func believe(c *Closing) error {
	if !c.Options.Accept || c.published == nil {
		return nil
	}
	var held []record.Observation // since the last run that was not suspicious
	err := c.Site.Records.Observations(func(o *record.Observation) error {
		switch {
		case o.Run == c.Run.Number: // this one
		case o.Doubtful:
			held = append(held, *o)
		default:
			held = held[:0]
		}
		return nil
	})
	for i := range held {
		held[i].Doubtful = false
		err = errors.Join(err, c.Site.Records.AddObservation(&held[i]))
	}
	return err
}
