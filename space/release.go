// SPDX-License-Identifier: Apache-2.0

package space

import (
	"maps"
	"slices"
)

// release removes the files that have left mirrors, but for those that stale pages lead to. As long as it
// is not known what the pages of some mirror lead to, all stay.
func (u *update) release() error {
	if u.uncertain() {
		return nil
	}
	led := map[Landing]bool{}
	for _, m := range u.mirrors {
		if len(m.Stale) == 0 {
			continue
		}
		pages, err := u.pagesOf(m)
		if err != nil {
			return err
		}
		for p := range m.Stale {
			if page := pages[p]; page != nil {
				for _, t := range page.To {
					led[t] = true
				}
			}
		}
	}
	for _, m := range slices.SortedFunc(maps.Values(u.mirrors), byName) {
		if len(m.Kept) == 0 && !m.Gone {
			continue
		}
		if err := u.releaseOf(m, led); err != nil {
			return err
		}
	}
	return nil
}

func (u *update) releaseOf(m *mirror, led map[Landing]bool) error {
	named := map[string]bool{}
	for _, p := range m.Kept {
		named[p] = false
	}
	for f, err := range m.files() { // a file may have come back
		if err != nil {
			return err
		}
		if _, ok := named[f.Path]; ok {
			named[f.Path] = true
		}
	}
	var kept []string
	for _, p := range m.Kept {
		switch {
		case named[p]:
		case led[Landing{Mirror: m.Name, Path: p}]:
			kept = append(kept, p)
		default:
			if fi, err := u.root.Lstat(u.file(m.Name, p)); err == nil && fi.IsDir() {
				continue // files came below the name
			}
			if err := u.remove(u.file(m.Name, p)); err != nil {
				return err
			}
		}
	}
	if m.Gone && len(kept) == 0 {
		return u.forget(m)
	}
	if slices.Equal(kept, m.Kept) {
		return nil
	}
	m.Kept = kept
	return u.commit(m)
}

// forget removes all that is left of a mirror.
func (u *update) forget(m *mirror) error {
	for _, name := range []string{u.at(filesFolder, MirrorFolder(m.Name)), u.at(bodiesFolder, m.Name)} {
		if err := u.root.RemoveAll(name); err != nil {
			return err
		}
	}
	for _, s := range append(suffixes(), pagesSuffix, ".json") {
		if err := gone(u.root.Remove(u.disk.note(m.Name, s))); err != nil {
			return err
		}
	}
	m.close()
	delete(u.mirrors, m.Name)
	delete(u.dirty, m.Name)
	return nil
}
