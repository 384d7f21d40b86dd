// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// RestoreLinks makes the list of targets of every document that version restored what the document says. One
// that is damaged keeps its list.
func RestoreLinks(ctx context.Context, r *facts.Records, from render.FrameSource, version int) error {
	known, err := r.Known()
	if err != nil {
		return err
	}
	var batch []*record.Done
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := r.Commit(known, nil, batch)
		batch = batch[:0]
		return err
	}
	frames := bodies.NewFrameReader()
	var links render.StoredLinks
	var restored []record.Resource
	err = r.Resources(func(rec *record.Resource) error {
		if rec.Changed == version && rec.InSet && rec.Body == record.PackBody {
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
		fr, err := from.ReadFrame(frames, rec.At)
		if errors.Is(err, disk.ErrDamaged) {
			continue // publishing finds it damaged, and the next run requests it
		}
		if err != nil {
			return fmt.Errorf("restore %s: %w", rec.URL, err)
		}
		if err := links.Decode(fr.Links); err != nil {
			return fmt.Errorf("restore %s: %w: %w", rec.URL, disk.ErrDamaged, err)
		}
		d := &record.Done{Resource: rec, Linked: true}
		for _, t := range links.Targets {
			if t.Literal == nil {
				d.Targets = append(d.Targets, t.ID)
			}
		}
		slices.Sort(d.Targets)
		d.Targets = slices.Compact(d.Targets)
		if batch = append(batch, d); len(batch) == urls.BatchItems {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return r.Fold(facts.Folding{
		Version: version,
		Pending: func(uint32) bool { return false },
		Path:    func(*record.Resource) string { return "" },
	})
}
