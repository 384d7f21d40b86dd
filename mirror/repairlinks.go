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
	published := func() (map[string][]render.RepairedLink, error) {
		return render.PublishedRepairs(r.Site.Trees)
	}
	s := repair.Situation{
		Wanted:    r.Job.Repair,
		Given:     r.repairs,
		Published: published,
		Note:      r.Notes.Cap,
		Find: repair.Search{
			Self:      r.Site.Name,
			Sites:     r.Options.State,
			Facts:     r.Options.Facts,
			Meta:      func(name string) (*phm.Meta, error) { return render.PublishedMeta(r.Options.State, name) },
			Covers:    r.Rules.Scope.Covers,
			Published: published,
			Note:      r.Notes.Cap,
			Now:       r.Now(),
		}.Find,
		Own: func(u string) bool {
			_, own := r.Table.Find([]byte(u))
			return own
		},
	}
	if s.Last, err = repair.Load(r.Site.Notes); err != nil {
		return nil, err
	}
	if r.Live != nil {
		s.Live = r.Live.Number
	}
	if r.cures, err = repair.Choose(ctx, s); err != nil {
		return nil, err
	}
	if r.cures.Reset {
		if err := (repair.Applied{}).Save(r.Site.Notes); err != nil {
			return nil, err
		}
	}
	if r.cures.Compare == nil {
		return nil, nil
	}
	t := r.Table.Settled()
	dirty := func(id uint32) bool { return t.State(id).Dirty() }
	return r.renderer().OtherRepairs(ctx, r.Site.Records.Resources, r.cures.Compare, dirty)
}

// repaired notes that the published version has the repaired links of this run.
func (r *closing) repaired() error {
	if !r.cures.Record {
		return nil
	}
	v := repair.Applied{Hash: r.cures.Hash}
	if r.Live != nil {
		v.Version = r.Live.Number
	}
	if r.published != nil {
		v.Version = r.published.Number
	}
	return v.Save(r.Site.Notes)
}
