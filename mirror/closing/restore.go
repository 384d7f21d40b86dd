// SPDX-License-Identifier: Apache-2.0

package closing

import (
	"context"
	"fmt"
	"slices"

	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/repair"
	"mirrord/mirror/spare"
	"mirrord/store"
)

// Restore makes the records of a site what they were in a kept version, and the run that publishes them the
// next version; an unfinished run is given up. It returns the repaired links that the version had.
func Restore(
	ctx context.Context, st *store.State, s *store.Site, number int,
) (repairs map[string]render.Cure, err error) {
	vs, err := s.Versions.List()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(vs, func(v store.Version) bool { return v.Number == number }) {
		return nil, fmt.Errorf("roll back %s to version %d: %w", s.Name, number, store.ErrNoVersion)
	}
	// Before Restore: what the records say is needed for it.
	if _, err := publish.Mend(ctx, publish.MendingOf(st, s), &vs[len(vs)-1]); err != nil {
		return nil, err
	}
	if repairs, err = repair.InVersion(s.Notes, render.MaterialOf(st, s), number); err != nil {
		return nil, fmt.Errorf("roll back %s to version %d: %w", s.Name, number, err)
	}
	// Before the records change: also after a kill between here and the end the next run requests everything,
	// because the history says when things changed, not that they were changed back.
	if err := s.Notes.SetFact(spare.FullFact, []byte("1")); err != nil {
		return nil, err
	}
	next := vs[len(vs)-1].Number + 1
	if err := s.Versions.Restore(number, next); err != nil {
		return nil, err
	}
	if err := publish.RestoreLinks(ctx, s.Records, s.Frames, next); err != nil {
		return nil, err
	}
	return repairs, s.Notes.SetRun(nil)
}
