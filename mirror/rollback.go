// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mirrord/mirror/ledger"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/spare"
	"mirrord/store"
)

// Rollback publishes a kept version again, as a new one, and makes the records what they were in it. The next run asks the site
// as if it had never seen what came later. It makes no request. An unfinished run is given up.
func Rollback(ctx context.Context, o Options, number int) (*Summary, error) {
	vs, err := o.Site.Versions.List()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(vs, func(v store.Version) bool { return v.Number == number }) {
		return nil, fmt.Errorf("roll back %s to version %d: %w", o.Site.Name, number, store.ErrNoVersion)
	}
	if _, err := publish.Mend(ctx, o.State, o.Site, &vs[len(vs)-1]); err != nil { // what the records say is needed for it
		return nil, err
	}
	if o.repairs, err = repairsIn(o.State, o.Site, number); err != nil {
		return nil, fmt.Errorf("roll back %s to version %d: %w", o.Site.Name, number, err)
	}
	next := vs[len(vs)-1].Number + 1
	if err := o.Site.Versions.Restore(number, next); err != nil {
		return nil, err
	}
	if err := restoreLinks(ctx, o.Site, next); err != nil {
		return nil, err
	}
	// The history says when things changed, not that they were changed back.
	if err := errors.Join(o.Site.Notes.SetFact(spare.FullFact, []byte("1")), o.Site.Notes.SetRun(nil)); err != nil {
		return nil, err
	}
	o.NoFetch, o.Accept = true, true
	return Run(ctx, o)
}

// restoreLinks makes the list of targets of every restored document what the document says.
func restoreLinks(ctx context.Context, s *store.Site, version int) error {
	known, err := s.Records.Known()
	if err != nil {
		return err
	}
	var batch []*store.Done
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := s.Records.Commit(known, nil, batch)
		batch = batch[:0]
		return err
	}
	frames := store.NewFrameReader()
	var links render.StoredLinks
	var restored []store.Resource
	err = s.Records.Resources(func(rec *store.Resource) error {
		if rec.Changed == version && rec.InSet && rec.Body == store.PackBody {
			restored = append(restored, *rec)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, rec := range restored {
		if err := ctx.Err(); err != nil {
			return err
		}
		fr, err := s.Frames.ReadFrame(frames, rec.At)
		if err != nil {
			return fmt.Errorf("restore %s: %w", rec.URL, err)
		}
		if err := links.Decode(fr.Links); err != nil {
			return fmt.Errorf("restore %s: %w: %w", rec.URL, store.ErrDamaged, err)
		}
		d := &store.Done{Resource: rec, Linked: true}
		for _, t := range links.Targets {
			if t.Literal == nil {
				d.Targets = append(d.Targets, t.ID)
			}
		}
		slices.Sort(d.Targets)
		d.Targets = slices.Compact(d.Targets)
		if batch = append(batch, d); len(batch) == ledger.BatchItems {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return s.Records.Fold(store.Folding{Version: version, Pending: func(uint32) bool { return false }, Path: func(*store.Resource) string { return "" }})
}
