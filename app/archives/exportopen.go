// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"sync"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/archive"
	"mirrord/mirror/render"
	"mirrord/store"
)

// begin opens the version that is exported, and begins to find its redirects when the form can hold them.
// damage describes damage of the published tree; tree is nil then.
func (o *ExportRequest) begin(
	beside *sync.WaitGroup, st *store.State, name string, leads bool,
) (tree files.VersionTree, damage, err error) {
	if (o.Version != 0) && o.Version == publishedNumber(st, name) {
		o.Version = 0
	}
	version := o.Version
	if version == 0 {
		live := &liveExport{leads: leads, opened: make(chan struct{})}
		find := findBeside(beside, func() ([]archive.Redirect, error) { return live.read(st, name) })
		<-live.opened
		if live.tree != nil {
			if leads {
				o.redirects = find
			}
			return live.tree, nil, nil
		}
		damage, err = treeDamage(live.err)
	}
	if leads && err == nil {
		o.redirects = findBeside(beside, func() ([]archive.Redirect, error) {
			return files.RedirectsOf(st, name, version)
		})
	}
	if damage != nil || err != nil {
		return nil, damage, err
	}
	tree, err = openVersion(st, name, version)
	return tree, nil, err
}

// findBeside begins to find redirects, and returns what waits for them.
func findBeside(beside *sync.WaitGroup, find archive.FindRedirects) archive.FindRedirects {
	var found []archive.Redirect
	var err error
	done := make(chan struct{})
	beside.Go(func() {
		defer close(done)
		found, err = find()
	})
	return func() ([]archive.Redirect, error) {
		<-done
		return found, err
	}
}

// liveExport is what an export needs of the published version, read from one view of the site: each view is a
// copy of its database.
type liveExport struct {
	leads  bool          // redirects are wanted
	opened chan struct{} // closed when what follows is set

	tree files.VersionTree // nil when it could not be opened, or is damaged
	err  error             // what the look at it said
}

// read looks at the tree and opens it, then finds the redirects.
func (v *liveExport) read(st *store.State, name string) (found []archive.Redirect, err error) {
	looked := false
	err = env.View(st, name, func(s *store.Site) (err error) {
		if !looked { // else the site was changed below the redirects
			if err = render.CheckMeta(render.MaterialOf(st, s)); err != nil {
				return err
			}
			if tree, err := s.Trees.Hold(); err == nil {
				v.tree = published{tree.FS(), tree}
			}
			looked = true
			close(v.opened)
		}
		if v.leads && v.tree != nil {
			found, err = files.RedirectsIn(s, 0)
		}
		return err
	})
	if !looked {
		v.err = err
		close(v.opened)
	}
	return found, err
}
