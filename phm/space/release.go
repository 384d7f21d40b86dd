// SPDX-License-Identifier: Apache-2.0

package space

import "slices"

// release removes the files that have left mirrors, but for those that stale pages lead to. As long as it
// is not known what the pages of some mirror lead to, all stay. Of a mirror that was dropped only the names
// stay.
func (u *update) release() error {
	if u.uncertain() {
		return u.strikeAll()
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
	for _, m := range u.mirrors.sorted() {
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
	struck := m.Struck
	if err := u.strike(m, kept); err != nil {
		return err
	}
	if slices.Equal(kept, m.Kept) && struck == m.Struck {
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
	for _, s := range append(suffixes(), pagesSuffix, dropSuffix, ".json") {
		if err := gone(u.root.Remove(u.disk.note(m.Name, s))); err != nil {
			return err
		}
	}
	m.close()
	delete(u.mirrors, m.Name)
	delete(u.dirty, m.Name)
	return nil
}

// strikeAll is strike for all mirrors, and everything that is left of them.
func (u *update) strikeAll() error {
	for _, m := range u.mirrors.sorted() {
		struck := m.Struck
		err := u.strike(m, m.Kept)
		if err == nil && struck != m.Struck {
			err = u.commit(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// strike replaces the files that a mirror left behind by notices, if it was dropped; kept are their
// paths.
func (u *update) strike(m *mirror, kept []string) error {
	since, err := u.dropped(m)
	if since == "" || m.Struck || err != nil {
		return err
	}
	urls := make(map[string]string, len(kept))
	for _, p := range kept {
		urls[p] = ""
	}
	if m.before != nil {
		for f, err := range m.before.files() {
			if err != nil {
				break // the table is damaged from here on
			}
			if _, ok := urls[f.Path]; ok {
				urls[f.Path] = f.URL
			}
		}
	}
	for _, p := range kept {
		text, err := notice(m.Name, p, since, urls[p])
		if err == nil {
			err = u.write(u.file(m.Name, p), text)
		}
		if err != nil {
			return err
		}
		u.step("struck")
	}
	m.Struck = true
	return nil
}
