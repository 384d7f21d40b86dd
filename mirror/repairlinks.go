// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"

	"mirrord/mirror/render"
	"mirrord/mirror/repair"
	"mirrord/phm"
)

// prepareRepairs chooses which links to other sites are repaired, and returns the documents in which that
// differs from the published version.
func (r *closing) prepareRepairs(ctx context.Context) (others []uint32, err error) {
	published := func() (map[string][]render.RepairedLink, error) { return render.PublishedRepairs(r.site) }
	s := repair.Situation{
		Wanted:    r.job.Repair,
		Given:     r.o.repairs,
		Published: published,
		Note:      r.notes.Cap,
		Find: repair.Search{
			Self:      r.site.Name,
			Sites:     r.o.State,
			Facts:     r.o.Facts,
			Meta:      func(name string) (*phm.Meta, error) { return render.PublishedMeta(r.o.State, name) },
			Covers:    r.rules.Scope.Covers,
			Published: published,
			Note:      r.notes.Cap,
			Now:       r.now(),
		}.Find,
		Own: func(u string) bool {
			_, own := r.table.Find([]byte(u))
			return own
		},
	}
	if s.Last, err = repair.Load(r.site.Notes); err != nil {
		return nil, err
	}
	if r.live != nil {
		s.Live = r.live.Number
	}
	if r.cures, err = repair.Choose(ctx, s); err != nil {
		return nil, err
	}
	if r.cures.Reset {
		if err := (repair.Applied{}).Save(r.site.Notes); err != nil {
			return nil, err
		}
	}
	if r.cures.Compare == nil {
		return nil, nil
	}
	t := r.table.Settled()
	dirty := func(id uint32) bool { return t.State(id).Dirty() }
	return r.renderer().OtherRepairs(ctx, r.site.Records.Resources, r.cures.Compare, dirty)
}

// repaired notes that the published version has the repaired links of this run.
func (r *closing) repaired() error {
	if !r.cures.Record {
		return nil
	}
	v := repair.Applied{Hash: r.cures.Hash}
	if r.live != nil {
		v.Version = r.live.Number
	}
	if r.published != nil {
		v.Version = r.published.Number
	}
	return v.Save(r.site.Notes)
}
