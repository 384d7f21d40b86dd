// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/publish"
	"mirrord/store"
)

// naming is what mirror paths are given by.
func (r *run) naming() publish.Naming {
	return publish.Naming{
		Table:   r.table.Settled(),
		Layout:  r.layout,
		Records: r.site.Records,
		Log:     r.log,
		Journal: func(done func(*store.Resource)) error {
			return r.site.Records.Replay(func(uint32, store.NewURL) error { return nil },
				func(rec *store.Resource, _ []byte, _ bool) error {
					done(rec)
					return nil
				})
		},
	}
}

// keepNames writes the new paths of those that shared a file, also of those that this run did not look at.
func (r *run) keepNames(n publish.Names) error {
	if len(n.Apart) == 0 {
		return nil
	}
	t := r.table.Settled()
	err := r.amend(n.Apart, func(rec *store.Resource) { rec.Path, rec.Moved = t.Path(rec.ID), r.version })
	if err == nil {
		err = r.amend(n.Bare, func(rec *store.Resource) { rec.Path = "" })
	}
	if err != nil {
		return err
	}
	return r.site.Records.Fold(r.folding())
}
