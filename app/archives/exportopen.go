// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"errors"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/mirror/render"
	"mirrord/store"
)

// begin opens the version that is exported, and finds its redirects when the form can hold them: of the
// published one in one view of the site, as each is a copy of its database. damage describes damage of the
// published tree; tree is nil then.
func (o *exporting) begin(leads bool) (tree files.VersionTree, damage, err error) {
	o.ofPublished()
	if o.Version == 0 {
		var live *published
		err = env.View(o.st, o.name, func(s *store.Site) (err error) {
			if live != nil { // the site was changed below the redirects
				o.redirects, err = files.RedirectsIn(s, 0)
				return err
			}
			if err = render.CheckMeta(render.MaterialOf(o.st, s)); err != nil {
				return err
			}
			held, err := s.Trees.Hold()
			if err != nil {
				return err
			}
			if live = (&published{held.FS(), held}); leads {
				o.redirects, err = files.RedirectsIn(s, 0)
			}
			return err
		})
		switch {
		case live != nil && err != nil:
			return nil, nil, errors.Join(err, live.Close())
		case live != nil:
			return live, nil, nil
		}
		damage, err = treeDamage(err)
	}
	if leads && err == nil {
		o.redirects, err = files.RedirectsOf(o.st, o.name, o.Version)
	}
	if damage != nil || err != nil {
		return nil, damage, err
	}
	tree, err = openVersion(o.st, o.name, o.Version)
	return tree, nil, err
}
