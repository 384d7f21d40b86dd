// SPDX-License-Identifier: Apache-2.0

package space

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"mirrord/phm"
)

// apply makes the new version that of the space: first the new files, then the pages that link to
// them, then the indexes, and at last the removals.
func (c *change) apply(ctx context.Context) error {
	c.affected()
	if err := c.writeTodo(c.is.Name); err != nil {
		return err
	}
	c.step("todo")
	m := c.is
	c.mirrors[m.Name] = m
	m.before = c.was
	defer func() {
		m.before = nil
		c.was.close()
	}()
	var err error
	if m.pages, err = c.pagesOf(c.was); err != nil {
		return err
	}
	for p, why := range c.was.Stale {
		if m.Stale == nil {
			m.Stale = map[string]string{}
		}
		m.Stale[p] = why
	}
	m.written, m.Kept = true, c.was.Kept
	if err := c.placeFiles(ctx); err != nil {
		return err
	}
	c.step("placed")
	if err := c.remake(ctx); err != nil {
		return err
	}
	c.step("remade")
	for _, s := range suffixes() {
		if err := c.root.Rename(c.disk.note(m.Name, s+newSuffix), c.disk.note(m.Name, s)); err != nil {
			return err
		}
	}
	if c.all { // other files there are of an unknown version
		if c.left, err = c.strangers(); err != nil {
			return err
		}
	}
	m.Kept = append(slices.Clone(m.Kept), c.left...)
	for _, p := range c.left {
		delete(m.pages, p)
		delete(m.Stale, p)
	}
	slices.Sort(m.Kept)
	m.Kept = slices.Compact(m.Kept)
	if err := c.commit(m); err != nil {
		return err
	}
	c.half[m.Name] = false
	c.step("committed")
	if c.src != nil {
		if err := gone(c.root.Remove(c.disk.note(m.Name, dropSuffix))); err != nil {
			return err
		}
	}
	if err := c.release(); err != nil {
		return err
	}
	c.step("released")
	return c.commitPages()
}

// affected marks the documents of other mirrors that link to a URL that came, moved or left.
func (c *change) affected() {
	urls := moved(c.was.held, c.is.held)
	for _, pair := range [][2]*mirror{{c.was, c.is}, {c.is, c.was}} {
		for u, part := range pair[0].Parts {
			if pair[1].Parts[u] != part {
				urls = append(urls, c.seed.of(u))
			}
		}
	}
	if c.all || !slices.Equal(c.was.Places, c.is.Places) { // which mirror comes first may have changed too
		for _, x := range []heldIndex{c.was.held, c.is.held} {
			for i := range x.len() {
				urls = append(urls, x.at(i).url)
			}
		}
	}
	c.affectedLast(urls)
	for name, m := range c.mirrors {
		if name == c.is.Name {
			continue
		}
		for _, u := range urls {
			m.links.to(u, func(doc uint64) { c.dirty.add(name, doc) })
		}
		if c.all { // pages may link to files that no index names
			if pages, err := c.pagesOf(m); err == nil {
				for _, p := range pages {
					if slices.ContainsFunc(p.To, func(t Landing) bool { return t.Mirror == c.is.Name }) {
						if doc, ok := m.docAt(p.Path, c.seed); ok {
							c.dirty.add(name, doc)
						}
					}
				}
			}
		}
	}
}

// pagesOf reads the pages of a mirror.
func (u *update) pagesOf(m *mirror) (map[string]*Page, error) {
	if m.pages != nil {
		return m.pages, nil
	}
	pages, err := u.readPages(m.Name)
	if errors.Is(err, errIndex) { // it is made again with the mirror
		u.half[m.Name] = true
		pages, err = map[string]*Page{}, nil
	}
	m.pages = pages
	return pages, err
}

// placeFiles puts the files that came in their places: first what pages need, then pages without
// links to them, then files that were linked to before.
func (c *change) placeFiles(ctx context.Context) error {
	for _, turn := range []struct {
		files []phm.File
		pages bool
	}{{c.added, false}, {c.added, true}, {c.other, false}, {c.other, true}} {
		for i := range turn.files {
			f := &turn.files[i]
			if MayLink(f) != turn.pages {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := c.placeFile(f); err != nil {
				return err
			}
			c.step("placing")
		}
	}
	return nil
}

func (c *change) placeFile(f *phm.File) error {
	from := c.sourceOf(f)
	delete(c.is.Stale, f.Path)
	if MayLink(f) {
		delete(c.dirty[c.is.Name], c.seed.of(f.URL))
		return c.placePage(c.is, f, from)
	}
	delete(c.is.pages, f.Path)
	return c.link(from, c.file(c.is.Name, f.Path))
}

// strangers are the files in the folder of the mirror that its table does not name.
func (c *change) strangers() (left []string, err error) {
	named := map[string]bool{}
	for f, err := range c.is.files() {
		if err != nil {
			return nil, err
		}
		named[f.Path] = true
	}
	folder := c.at(filesFolder, MirrorFolder(c.is.Name))
	root, err := c.root.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !named[p] {
			left = append(left, p)
		}
		return err
	})
	return left, err
}

// commit puts the new records of a mirror into force.
func (u *update) commit(m *mirror) error {
	if m.written {
		pages, err := u.pagesOf(m)
		if err != nil {
			return err
		}
		if err := u.writePages(m.Name, pages); err != nil {
			return err
		}
		m.written = false
	}
	return u.writeJSON(u.disk.note(m.Name, ".json"), &m.note)
}

// commitPages puts the new records of pages into force, and drops unused bodies.
func (u *update) commitPages() error {
	for _, m := range u.mirrors.sorted() {
		if m.written {
			if err := u.writePages(m.Name, m.pages); err != nil {
				return err
			}
			m.written = false
		}
		if m.pages == nil {
			continue
		}
		if err := u.sweepBodies(m.Name, m.pages); err != nil {
			return err
		}
	}
	return nil
}
