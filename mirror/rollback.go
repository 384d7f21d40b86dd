// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/repair"
	"mirrord/mirror/spare"
	"mirrord/store"
)

// Rollback publishes a kept version again, as a new one, and makes the records what they were in it. The
// next run asks the site as if it had never seen what came later. It makes no request. An unfinished run is
// given up.
func Rollback(ctx context.Context, o Options, number int) (*Summary, error) {
	vs, err := o.Site.Versions.List()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(vs, func(v store.Version) bool { return v.Number == number }) {
		return nil, fmt.Errorf("roll back %s to version %d: %w", o.Site.Name, number, store.ErrNoVersion)
	}
	// Before Restore: what the records say is needed for it.
	if _, err := publish.Mend(ctx, publish.MendingOf(o.State, o.Site), &vs[len(vs)-1]); err != nil {
		return nil, err
	}
	repairs, err := repair.InVersion(o.Site.Notes, render.MaterialOf(o.State, o.Site), number)
	if err != nil {
		return nil, fmt.Errorf("roll back %s to version %d: %w", o.Site.Name, number, err)
	}
	next := vs[len(vs)-1].Number + 1
	if err := o.Site.Versions.Restore(number, next); err != nil {
		return nil, err
	}
	if err := publish.RestoreLinks(ctx, o.Site.Records, o.Site.Frames, next); err != nil {
		return nil, err
	}
	// The history says when things changed, not that they were changed back.
	if err := errors.Join(o.Site.Notes.SetFact(spare.FullFact, []byte("1")),
		o.Site.Notes.SetRun(nil)); err != nil {
		return nil, err
	}
	o.NoFetch, o.Accept = true, true
	return runWith(ctx, o, repairs)
}
