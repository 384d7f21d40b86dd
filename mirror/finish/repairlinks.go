// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"context"

	"mirrord/mirror/deadlinks"
	"mirrord/mirror/render"
	"mirrord/phm"
)

// prepareRepairs chooses which links to other sites are repaired, and returns the documents in which that
// differs from the published version.
func (c *Closing) prepareRepairs(ctx context.Context) (others []uint32, err error) {
	published := func() (map[string][]render.RepairedLink, error) {
		return render.PublishedRepairs(c.Site.Trees)
	}
	s := deadlinks.Situation{
		Wanted:    c.Job.Repair,
		Given:     c.repairs,
		Published: published,
		Note:      c.Notes.Cap,
		Find: deadlinks.Search{
			Self:      c.Site.Name,
			Sites:     c.Options.State,
			Facts:     c.Options.Facts,
			Meta:      func(name string) (*phm.Meta, error) { return render.PublishedMeta(c.Options.State, name) },
			Covers:    c.Rules.Scope.Covers,
			Published: published,
			Note:      c.Notes.Cap,
			Now:       c.Now(),
		}.Find,
		Own: func(u string) bool {
			_, own := c.Table.Find([]byte(u))
			return own
		},
	}
	if s.Last, err = deadlinks.Load(c.Site.Notes); err != nil {
		return nil, err
	}
	if c.Live != nil {
		s.Live = c.Live.Number
	}
	if c.cures, err = deadlinks.Choose(ctx, s); err != nil {
		return nil, err
	}
	if c.cures.Reset {
		if err := (deadlinks.Applied{}).Save(c.Site.Notes); err != nil {
			return nil, err
		}
	}
	if c.cures.Compare == nil {
		return nil, nil
	}
	t := c.Table.Settled()
	dirty := func(id uint32) bool { return t.State(id).Dirty() }
	return c.renderer().OtherRepairs(ctx, c.Site.Records.Resources, c.cures.Compare, dirty)
}

// repaired notes that the published version has the repaired links of this run.
func (c *Closing) repaired() error {
	if !c.cures.Record {
		return nil
	}
	v := deadlinks.Applied{Hash: c.cures.Hash}
	if c.Live != nil {
		v.Version = c.Live.Number
	}
	if c.published != nil {
		v.Version = c.published.Number
	}
	return v.Save(c.Site.Notes)
}
