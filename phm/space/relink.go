// SPDX-License-Identifier: Apache-2.0

package space

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"mirrord/phm"
)

// resolve says where a link of a mirror's page to another site leads: to the mirror whose scope is the
// narrowest around the URL, then by name; nowhere when the mirror itself holds it.
func (u *update) resolve(owner string) func(raw string) (Landing, bool, error) {
	return func(raw string) (Landing, bool, error) { return u.resolveFrom(owner, raw, false) }
}

// resolveLast is resolve for a last copy of a mirror, whose links to the mirror itself are absolute too.
func (u *update) resolveLast(owner string) func(raw string) (Landing, bool, error) {
	return func(raw string) (Landing, bool, error) { return u.resolveFrom(owner, raw, true) }
}

func (u *update) resolveFrom(owner, raw string, ofLast bool) (Landing, bool, error) {
	sum := u.seed.of(raw)
	var best *mirror
	var at held
	narrow, seen := 0, int64(0)
	repairs := u.mirrors[owner] != nil && u.mirrors[owner].Repair
	for name, m := range u.mirrors {
		h, ok := m.held.find(sum)
		if !ok {
			continue
		}
		n, last := narrowness(m.Places, raw), m.lastOf(raw)
		switch {
		case last.URL != "" && !repairs:
			continue
		case last.URL != "":
			n = -1 // any other copy is newer
		case name == owner && !ofLast:
			return Landing{}, false, nil
		}
		newer := last.Seen > seen || (last.Seen == seen && best != nil && name < best.Name)
		if best == nil || n > narrow || (n == narrow && newer) {
			best, at, narrow, seen = m, h, n, last.Seen
		}
	}
	if best == nil {
		return Landing{}, false, nil
	}
	f, err := best.lineAt(at.at)
	if err != nil {
		return Landing{}, false, err
	}
	if u.seed.of(f.Path) != at.path {
		return Landing{}, false, fmt.Errorf("what the space knows of %s is of two versions", best.Name)
	}
	return Landing{Mirror: best.Name, Path: f.Path, part: best.Parts[raw]}, true, nil
}

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
	resolve := u.resolve(m.Name)
	if isLast(f.Path) {
		resolve = u.resolveLast(m.Name)
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
			u.o.step("remaking")
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
	u.o.Log.Warn("a page of a space cannot be made again: its links stay as they are",
		"space", u.name, "job", m.Name, "page", f.URL, "err", err)
	return u.commit(m)
}
