// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"mirrord/evolution/policy"
	"mirrord/internal/timed"
	"mirrord/mirror/frontier"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// stages carry out what the skip plan of a run decides: they request sources of evidence and audits before
// all else, fill the frontier from the plan, and apply what needs no request.
type stages struct {
	*run.Session
	skipPlan   *revisit.SkipPlan
	dispatcher *frontier.Dispatcher

	workers func()                       // lets the workers empty the frontier
	hear    func(*record.Resource) error // takes a stored source as evidence
	follow  func(targets []byte)         // lets enter what an unchanged document names
	apply   func(*urls.Finding)

	refilling sync.Mutex // held by the worker that refills the frontier
}

// skipKnown requests the sources of evidence and audits, and takes out of the run what need not be requested.
func (s *stages) skipKnown() error {
	if !s.skipPlan.Sources.Any() && !s.skipPlan.Validators.Any() {
		return nil
	}
	s.skipPlan.Evidence.Begin()
	for i := range s.skipPlan.Sources.Answered {
		if err := s.hear(&s.skipPlan.Sources.Answered[i]); err != nil {
			return err
		}
	}
	for _, id := range s.skipPlan.Sources.First(s.skipPlan.Plan, s.Rules.Seeds) {
		s.dispatcher.HostAdmission.Known(id, frontier.PrioSeed)
	}
	s.stage()
	if s.skipPlan.Plan.DecidesListings() { // with what the sources say that are requested in any case
		s.listings()
	}
	s.skipPlan.Evidence.AddFresh()
	s.skipPlan.Evidence.AddTold()
	if s.skipPlan.Plan == nil { // else the plan decides on requests, see refill
		skip, key := s.skipPlan.Evidence.Unchanged(), s.skipPlan.Plan.Key
		for _, id := range s.skipPlan.Validators.PickAudits(s.Table, skip, key) {
			s.dispatcher.HostAdmission.Known(id, frontier.PrioSeed)
		}
	}
	return s.skipUnchanged()
}

// skipUnchanged audits the evidence, and takes out of the run what need not be requested by what the sources
// said. It ends the stage of the sources.
func (s *stages) skipUnchanged() error {
	var audits revisit.Audits
	for k := range urls.EvidenceKinds {
		audits[k] = s.skipPlan.Evidence.PickAudits(k)
		for _, id := range audits[k] {
			s.Table.See(id, urls.Audited)
			s.dispatcher.HostAdmission.Known(id, frontier.PrioSeed)
		}
	}
	s.stage()
	if err := s.distrustValidators(); err != nil {
		return err
	}
	defer s.skipPlan.Evidence.End() // skipped URLs must not be requested because another URL links to them
	if s.dispatcher.Front.IsStopped() {
		return nil
	}
	covered, caught, trust, err := s.skipPlan.Evidence.Decide(audits)
	if err != nil {
		return err
	}
	for _, c := range caught {
		s.Notes.Add(c.Note, c.URL)
	}
	if trust != nil {
		if err := s.Site.Notes.SetFact(revisit.TrustFact, trust); err != nil {
			return err
		}
	}
	for _, c := range covered {
		if err := s.skipOne(c); err != nil {
			return err
		}
	}
	return nil
}

// skipOne records a resource as unchanged without a request. Its links come from the store.
func (s *stages) skipOne(c revisit.Covered) error {
	u := s.Table.URL(c.ID)
	if s.dispatcher.Origins.Forbids(u) {
		return nil
	}
	if _, first := s.Table.Queue(c.ID); !first {
		return nil
	}
	rec, ok, err := s.Site.Records.Get(u)
	if err != nil || !ok {
		return err
	}
	targets, err := s.Site.Records.TargetsOf(c.ID)
	if err != nil {
		return err
	}
	s.follow(targets)
	s.apply(revisit.UnchangedBy(rec, c.Kind, s.Now()))
	return nil
}

// distrustValidators stores the directories in which audits have found validators to be unreliable.
func (s *stages) distrustValidators() error {
	without, err := s.skipPlan.Validators.Distrust(&s.Notes)
	if err != nil || without == nil {
		return err
	}
	return s.Site.Notes.SetFact(revisit.ValidatorsFact, without)
}

// listings requests first the listings that other listings say have changed, then those that pay; some
// says whether there were.
func (s *stages) listings() (some bool) {
	p := s.skipPlan.Plan
	for ids := p.TakeWanted(); len(ids) > 0; ids = p.TakeWanted() {
		for _, id := range ids {
			s.dispatcher.HostAdmission.Known(id, frontier.PrioSeed)
		}
		some = true
		s.stage()
	}
	p.Enter(revisit.PlanListings)
	defer p.Enter(revisit.PlanClosed)
	s.refill()
	some = s.dispatcher.Front.State(s.Now()).Queued > 0 || some
	s.stage()
	return some
}

// moreListings requests the listings that have come to pay, and what they show, until none pays.
func (s *stages) moreListings() error {
	p := s.skipPlan.Plan
	for p.DecidesListings() && !s.dispatcher.Front.IsStopped() {
		s.skipPlan.Evidence.Begin()
		some := s.listings()
		if err := s.skipUnchanged(); err != nil || (!some && !s.dispatcher.HostAdmission.AnyDelayed()) {
			return err
		}
		s.dispatcher.HostAdmission.EndWait()
		p.Enter(revisit.PlanOpen)
		s.refill()
		s.stage()
	}
	return nil
}

// refill puts the next batches of the plan into the frontier when it runs low. It is called whenever the work
// on a URL ends, and before the frontier learns of that end, so that no worker stops while the plan has more.
func (s *stages) refill() {
	if s.skipPlan.Plan == nil {
		return
	}
	s.refilling.Lock() // else what one worker puts into the frontier is missing for another
	defer s.refilling.Unlock()
	p, short := s.skipPlan.Plan, s.dispatcher.Front.Short
	for b := p.Refill(short); len(b.Asks) > 0; b = p.Refill(short) {
		for _, a := range b.Asks {
			id := uint32(a.Unit)
			if b.Listings {
				s.dispatcher.HostAdmission.Known(id, frontier.PrioSeed)
				continue
			}
			if a.Why.Why == policy.Audit {
				s.Table.See(id, urls.Audited)
			}
			s.skipPlan.Validators.Plan(id, p.Key(id))
			s.dispatcher.HostAdmission.Known(id, frontier.PrioKnown)
		}
	}
}

// stage lets the workers empty the frontier.
func (s *stages) stage() {
	if s.skipPlan.Plan == nil {
		s.workers()
		return
	}
	for again := true; again; {
		end := s.nudge()
		s.workers()
		again = end() && !s.dispatcher.Front.IsStopped()
	}
}

// nudge lets the plan continue when one slow answer holds it up, until end is called, which reports whether
// the frontier was given anything for that.
func (s *stages) nudge() (end func() bool) {
	some := false
	stop := timed.Every(nudgeEvery, func() {
		if s.skipPlan.Plan.Nudge() {
			s.refill()
			some = true
		}
	})
	return func() bool {
		stop()
		return some
	}
}

// nudgeEvery is how often a plan that is held up is checked: it continues at the second time.
const nudgeEvery = time.Second

// underWay returns the URLs in the frontier before the plan has handed out anything. No worker runs.
func (s *stages) underWay() (ids []uint32) {
	for id, is := range s.Table.Settled().All() {
		if is.Given() && is.Queued() && !is.Answered() {
			ids = append(ids, id)
		}
	}
	return ids
}

// skipRest ends a planned run: what the plan did not hand out is skipped, which is neither observed nor
// postponed. What robots rules have come to forbid is not skipped; it leaves without a request, in a stage of
// its own.
func (s *stages) skipRest(ctx context.Context) (skipped skips, err error) {
	p := s.skipPlan.Plan
	if err := s.keepTrust(); p == nil || err != nil {
		return skipped, err
	}
	if err := s.distrustValidators(); err != nil || s.dispatcher.Front.IsStopped() {
		return skipped, err
	}
	forbidden := false
	for id := range p.Skipped() {
		if u, is := s.Table.Get(id); !is.Queued() && s.dispatcher.Origins.Forbids(u) {
			s.dispatcher.HostAdmission.Known(id, frontier.PrioKnown)
			forbidden = true
		}
	}
	if forbidden {
		s.stage()
	}
	skipped.by = map[policy.Why]int64{}
	verbose := s.Log.Enabled(ctx, slog.LevelDebug)
	for id, why := range p.Skipped() {
		u, is := s.Table.Get(id)
		if is.Queued() {
			continue
		}
		s.Table.See(id, urls.Skipped)
		skipped.by[why.Why]++
		skipped.look(p.Model().LookedAt(id))
		if verbose {
			s.Log.Debug("skipped", "url", u.String(), "outcome", site.Skipped, "why", why.String())
		}
	}
	hints, told, err := p.ToKeep()
	if err != nil {
		return skipped, err
	}
	notes := s.Site.Notes
	return skipped, errors.Join(notes.SetFact(revisit.HintsFact, hints), notes.SetFact(revisit.ToldFact, told))
}

// keepTrust stores what was learned of sources of evidence.
func (s *stages) keepTrust() error {
	trust, err := s.skipPlan.Evidence.TrustToKeep()
	if err != nil || trust == nil {
		return err
	}
	return s.Site.Notes.SetFact(revisit.TrustFact, trust)
}

// skips are what a plan skipped.
type skips struct {
	by             map[policy.Why]int64 // by reason
	oldest, latest time.Time            // look at one of them; zero: none
}

// look takes when one of them was last looked at; the zero time is never.
func (s *skips) look(at time.Time) {
	if at.IsZero() {
		return
	}
	if s.oldest.IsZero() || at.Before(s.oldest) {
		s.oldest = at
	}
	if at.After(s.latest) {
		s.latest = at
	}
}
