// SPDX-License-Identifier: Apache-2.0

package space

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"mirrord/phm"
)

// placePage makes the file of a page of which the published file is from: the same, or one in which links
// lead to other mirrors.
func (u *update) placePage(m *mirror, f *phm.File, from string) error {
	raw, err := u.root.ReadFile(from, f.Size)
	if err != nil {
		return err
	}
	if err := checkDigest(f, raw); err != nil {
		return err
	}
	resolve := func(url string) (Landing, bool, error) {
		return u.mirrors.resolve(u.seed, m.Name, url, isLast(f.Path))
	}
	out, to, links, err := u.page.relink(m.Name, f, raw, resolve)
	if err != nil {
		return err
	}
	m.written = true
	if links == 0 {
		delete(m.pages, f.Path)
		return u.link(from, u.file(m.Name, f.Path))
	}
	sum := sha256.Sum256(out)
	is := &Page{
		Path:   f.Path,
		From:   f.SHA256,
		SHA256: hex.EncodeToString(sum[:]),
		Size:   int64(len(out)),
		Links:  links,
		To:     to,
	}
	if err := u.link(from, u.body(m.Name, is.From)); err != nil {
		return err
	}
	made := u.body(m.Name, is.SHA256)
	if fi, err := u.root.Lstat(made); err != nil || fi.Size() != is.Size || u.half[m.Name] {
		if err := u.write(made, out); err != nil {
			return err
		}
	}
	if was := m.pages[f.Path]; was == nil || was.SHA256 != is.SHA256 {
		u.report.Pages++
	}
	m.pages[f.Path] = is
	return u.link(made, u.file(m.Name, f.Path))
}

// remake makes the documents that are marked again, from the space's files. One that cannot be made
// stays as it is, and so do its targets.
func (u *update) remake(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(u.dirty)) {
		m := u.mirrors[name]
		if m == nil || m.Gone {
			continue
		}
		if _, err := u.pagesOf(m); err != nil {
			return err
		}
		for _, doc := range slices.Sorted(maps.Keys(u.dirty[name])) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := u.remakeDoc(m, doc); err != nil {
				return err
			}
			delete(u.dirty[name], doc)
			u.step("remaking")
		}
	}
	return nil
}

func (u *update) remakeDoc(m *mirror, doc uint64) error {
	h, ok := m.held.find(doc)
	if !ok {
		return nil // it has left
	}
	f, err := m.lineAt(h.at)
	if err != nil || u.seed.of(f.URL) != doc {
		return err
	}
	from := u.body(m.Name, f.SHA256)
	if _, err := u.root.Lstat(from); err != nil { // the space has the page as it was published
		from = u.file(m.Name, f.Path)
	}
	err = u.placePage(m, f, from)
	switch {
	case err == nil && m.Stale[f.Path] != "":
		delete(m.Stale, f.Path)
		return u.commit(m)
	case err == nil || isFull(err):
		return err
	}
	if m.Stale[f.Path] == err.Error() {
		return nil // it has been said
	}
	if m.Stale == nil {
		m.Stale = map[string]string{}
	}
	m.Stale[f.Path] = err.Error()
	u.Log.Warn("a page of a space cannot be made again: its links stay as they are",
		"space", u.name, "job", m.Name, "page", f.URL, "err", err)
	return u.commit(m)
}
