// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"cmp"
	"context"
	"math"
	"slices"

	"mirrord/mirror/run"
	"mirrord/mirror/takedown"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/site"
	"mirrord/store/record"
)

// Keep carries out Options.Keep before anything is loaded: what the published version has, and the run that
// is accepted took out because the site no longer has it, or nothing links to it, comes back into the records
// as it was; and what would leave because nothing links to it, stays. All are missing from now on, until the
// site has them again or accept lets them go. A kill in between keeps some of it: the next accept begins
// again.
func Keep(ctx context.Context, s *run.Session) error {
	if !s.Options.Keep || (s.Live == nil) {
		return nil
	}
	stay, _, err := urls.ReadFact[record.IDs](s.Site.Notes, urls.LeavingFact)
	if err != nil {
		return err
	}
	past, err := s.Site.Versions.Past(s.Live.Number)
	if err != nil {
		return err
	}
	kept := slices.Collect(stay.All())
	var back []*record.Done
	err = past.Changes(func(was, now *record.Resource) error {
		lost := (now.Outcome == site.Gone) || (now.Outcome == site.Redirected)
		loose := (now.Outcome == site.Fetched) || (now.Outcome == site.Unchanged) // few: the run let them go
		if !was.InSet || now.InSet || !(lost || loose) {
			return nil
		}
		rec := *was
		if lost {
			rec.Outcome, rec.Status, rec.Reason = site.Failed, now.Status, urls.KeptReason(now.Status)
			rec.Failures, rec.Gone = urls.LastingFailures, 0
		}
		rec.Checked, rec.Run, rec.Changed, rec.Moved = now.Checked, now.Run, s.Version, s.Version
		kept = append(kept, rec.ID)
		back = append(back, &record.Done{Resource: rec, Linked: true})
		return nil
	})
	if err != nil || len(kept) == 0 {
		return err
	}
	v, err := s.Site.Notes.Fact(verdict.GapsFact)
	if err != nil {
		return err
	}
	m, _ := verdict.DecodeMissing(v, math.MaxUint32) // one that cannot be decoded begins again
	m = cmp.Or(m, &verdict.Missing{URLs: map[uint32]verdict.Absence{}})
	for _, id := range kept {
		m.URLs[id] = verdict.Absence{
			Since:    s.Started.Unix(),
			Runs:     urls.LastingFailures,
			Accepted: true,
			Kept:     true,
		}
	}
	if err := urls.KeepFact(s.Site.Notes, verdict.GapsFact, m.Encode); err != nil || len(back) == 0 {
		return err
	}
	if err := s.Site.Notes.SetFact(restoreFact, []byte("1")); err != nil { // for the lists of links
		return err
	}
	known, err := s.Site.Records.Known()
	if err != nil {
		return err
	}
	if err := s.Site.Records.Commit(known, nil, back); err != nil {
		return err
	}
	if err := takedown.FoldJournal(s.Site); err != nil {
		return err
	}
	return FinishRestore(ctx, s.Site)
}
