// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"context"
	"errors"
	"fmt"

	"mirrord/mirror/deadlinks"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/takedown"
	"mirrord/mirror/verdict"
	"mirrord/store"
	"mirrord/store/record"
)

// Restore makes the records of a site what they were in a kept version, and the run that publishes them the
// next version; an unfinished run is given up. It returns the repaired links that the version had.
func Restore(
	ctx context.Context, st *store.State, s *store.Site, number int,
) (repairs map[string]render.Cure, err error) {
	if err := FinishRestore(ctx, s); err != nil {
		return nil, err
	}
	vs, err := s.Versions.List()
	if err != nil {
		return nil, err
	}
	if render.VersionAt(vs, number) < 0 {
		return nil, fmt.Errorf("roll back %s to version %d: %w", s.Name, number, record.ErrNoVersion)
	}
	// Before Restore: what the records say is needed for it.
	if _, err := publish.Mend(ctx, publish.MendingOf(st, s), &vs[len(vs)-1]); err != nil {
		return nil, err
	}
	if repairs, err = deadlinks.InVersion(s.Notes, render.MaterialOf(st, s), number); err != nil {
		return nil, fmt.Errorf("roll back %s to version %d: %w", s.Name, number, err)
	}
	// Before the records change: also after a kill between here and the end the next run requests everything,
	// because the history says when things changed, not that they were changed back.
	err = errors.Join(s.Notes.SetFact(revisit.FullFact, []byte(revisit.FullAlways)), run.ForgetHeld(s.Notes))
	if err != nil {
		return nil, err
	}
	// What a killed run wrote into the journal belongs to the replaced version.
	if err := takedown.FoldJournal(s); err != nil {
		return nil, err
	}
	if err := s.Notes.SetRun(nil); err != nil {
		return nil, err
	}
	if err := reject(s, &vs[len(vs)-1], number); err != nil {
		return nil, err
	}
	return repairs, restore(ctx, s, number, vs[len(vs)-1].Number+1)
}

// reject notes the rejected version when an older one replaces the current one. The note counts once that is
// published; until then, the earlier note does.
func reject(s *store.Site, current *record.Version, number int) error {
	v, err := s.Notes.Fact(verdict.RejectedFact)
	if err != nil {
		return err
	}
	list, _ := verdict.DecodeRollbacks(v) // a damaged list is replaced
	was, err := contentsOf(s, current.Number)
	if err != nil {
		return err
	}
	restored, err := contentsOf(s, number)
	if err != nil {
		return err
	}
	var keep []verdict.Rollback
	before := verdict.HoldsAt(list, current)
	if before != nil {
		keep = append(keep, *before)
	}
	if b := verdict.Reject(before, current, number, was, restored); b != nil {
		keep = append(keep, *b)
	}
	data, err := verdict.EncodeRollbacks(keep)
	if err != nil {
		return err
	}
	return s.Notes.SetFact(verdict.RejectedFact, data)
}

// restoreFact says that records were restored for the next version whose lists of links may not be.
const restoreFact = "restore"

// restore makes the records and the lists of links what they were in a version, for the next version.
func restore(ctx context.Context, s *store.Site, number, next int) error {
	if err := s.Notes.SetFact(restoreFact, []byte("1")); err != nil {
		return err
	}
	if err := s.Versions.Restore(number, next); err != nil {
		return err
	}
	return FinishRestore(ctx, s)
}

// FinishRestore restores the lists of links if a kill kept a rollback from that.
func FinishRestore(ctx context.Context, s *store.Site) error {
	v, err := s.Notes.Fact(restoreFact)
	if err != nil || v == nil {
		return err
	}
	last, err := s.Versions.Last()
	if err != nil {
		return err
	}
	if err := publish.RestoreLinks(ctx, s.Records, s.Frames, last.Number+1); err != nil {
		return err
	}
	return s.Notes.SetFact(restoreFact, nil)
}
