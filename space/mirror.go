// SPDX-License-Identifier: Apache-2.0

package space

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"path"
	"slices"

	"mirrord/phm"
)

// after is where the line after the one at a place begins.
func (m *mirror) after(at int64) int64 {
	i := bytes.IndexByte(m.table.data[at:], '\n')
	if i < 0 {
		return int64(len(m.table.data))
	}
	return at + int64(i) + 1
}

// files iterates over the table of a mirror as it lies in the space.
func (m *mirror) files() iter.Seq2[*phm.File, error] { return phm.Files(bytes.NewReader(m.table.data)) }

// change is a mirror on its way into the space, or out of it.
type change struct {
	*update
	was   *mirror
	is    *mirror
	src   *Source // nil when the mirror leaves
	all   bool    // nothing that lies in the space is certain
	added []phm.File
	other []phm.File // have a file at their path already
	left  []string   // paths
	late  int        // files that must wait until others have left
	docs  map[uint64]bool
	found linkBuilder
}

// suffixes of the files of a mirror that are replaced together.
func suffixes() []string { return []string{".files", ".held", ".links"} }

const newSuffix = ".new"

// mirror brings one mirror of the space up to date; n is nil when it leaves. What is wrong with the
// mirror itself is noted in the report, and it stays as it is.
func (u *update) mirror(ctx context.Context, name string, n *Member) error {
	late, err := u.bring(ctx, name, n)
	if (late > 0) && (err == nil) { // what they had to wait for has left, unless pages lead to it
		late, err = u.bring(ctx, name, n)
	}
	if late > 0 {
		u.late[name] = late
	}
	return err
}

// mirrorsAgain brings those up to date again of which files had to wait for what left only now.
func (u *update) mirrorsAgain(ctx context.Context, members map[string]*Member) error {
	again := u.late
	u.late = map[string]int{}
	if len(again) > 0 {
		if err := u.release(); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(again)) {
		if err := u.mirror(ctx, name, members[name]); err != nil {
			return err
		}
		if n := u.late[name]; n > 0 {
			u.leave(name, fmt.Errorf("%d files wait until others, to which pages still lead, have left", n))
		}
	}
	return nil
}

// bring is mirror without those files whose paths are taken by others that leave. late is how many.
func (u *update) bring(ctx context.Context, name string, n *Member) (late int, err error) {
	c := &change{
		update: u,
		was:    u.mirrors[name],
		all:    u.half[name],
		docs:   map[uint64]bool{},
	}
	if c.was == nil {
		c.was = &mirror{note: note{Name: name}}
	}
	c.is = &mirror{note: note{Name: name, Gone: n == nil}}
	if n != nil {
		c.is.Version, c.is.Table, c.is.Places = n.Version, n.Table, n.Places
		src, err := u.o.Open(name)
		if err != nil {
			u.leave(name, err)
			return 0, nil
		}
		defer src.Close() // read only: nothing can be lost
		c.src = src
		if err := c.describeMirror(); err != nil {
			u.leave(name, err)
			return 0, nil
		}
	}
	if err := c.read(ctx); err != nil {
		if ctx.Err() != nil || c.src == nil {
			return 0, errors.Join(err, ctx.Err())
		}
		u.leave(name, err)
		return 0, nil
	}
	if c.late > 0 {
		c.is.Table = "" // it is not yet as the member is
	}
	if err = c.apply(ctx); err != nil {
		return 0, err
	}
	if !slices.Contains(u.report.Mirrors, name) {
		u.report.Mirrors = append(u.report.Mirrors, name)
	}
	return c.late, nil
}

// leave notes that a mirror stays as it is.
func (u *update) leave(name string, err error) {
	u.report.Left[name] = err.Error()
}

// describeMirror reads phm.json.
func (c *change) describeMirror() error {
	meta, err := phm.OpenMeta(c.src.Tree.FS())
	if err != nil {
		return err
	}
	if meta.TableSum != c.is.Table {
		return errors.New("another version was published meanwhile")
	}
	c.is.Entry, c.is.Title, c.is.Files = meta.Entry, meta.Title, meta.Files
	return nil
}

// read compares the version that lies in the space with the new one, and writes the indexes of the new
// one beside those that count. It changes nothing that counts.
func (c *change) read(ctx context.Context) error {
	table, all, err := c.compare(ctx)
	if err != nil {
		return err
	}
	c.found.keep(c.was.links, func(doc uint64) bool { return !c.all && (c.src != nil) && !c.docs[doc] })
	for _, f := range []struct {
		suffix string
		data   []byte
	}{{".files", table}, {".held", appendHeld(nil, all)}, {".links", c.found.bytes()}} {
		if err := c.write(c.disk.note(c.is.Name, f.suffix+newSuffix), f.data); err != nil {
			return err
		}
	}
	if c.is.held, err = openHeld(c.root, c.disk.note(c.is.Name, ".held"+newSuffix)); err != nil {
		return err
	}
	if c.is.links, err = openLinks(c.root, c.disk.note(c.is.Name, ".links"+newSuffix)); err != nil {
		return err
	}
	c.is.table, err = openMapped(c.root, c.disk.note(c.is.Name, ".files"+newSuffix), "")
	return err
}

// compare goes through both tables. It returns the new one, and which URLs the mirror holds.
func (c *change) compare(ctx context.Context) (table []byte, all []held, err error) {
	next, stop := iter.Pull2(c.was.files())
	defer stop()
	was, err, more := next()
	drop := func() {
		c.left = append(c.left, was.Path)
		c.docs[c.seed.of(was.URL)] = true
	}
	step := func() error {
		was, err, more = next()
		if err != nil {
			return fmt.Errorf("table of %s in the space: %w", c.is.Name, err)
		}
		return nil
	}
	if err != nil {
		return nil, nil, err
	}
	ends := map[string]held{} // of redirects
	if c.src != nil {
		for _, to := range c.src.Redirects {
			ends[to] = held{}
		}
		for f, err := range c.sourceFiles() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, nil, err
			}
			for more && was.Path < f.Path {
				drop()
				if err := step(); err != nil {
					return nil, nil, err
				}
			}
			same, there := false, more && was.Path == f.Path
			if !there && c.taken(f.Path) {
				c.late++
				continue
			}
			if there {
				if same = was.SHA256 == f.SHA256 && was.URL == f.URL && was.Type == f.Type; !same {
					c.docs[c.seed.of(was.URL)] = true
				}
				if err := step(); err != nil {
					return nil, nil, err
				}
			}
			if !same || c.all {
				c.docs[c.seed.of(f.URL)] = true
				if err := c.come(f, there); err != nil {
					return nil, nil, err
				}
			}
			h := held{path: c.seed.of(f.Path), at: int64(len(table))}
			for _, also := range append(f.Also(), f.URL) {
				h.url = c.seed.of(also)
				all = append(all, h)
				if _, ok := ends[also]; ok {
					ends[also] = h
				}
			}
			if table, err = phm.AppendFile(table, f); err != nil {
				return nil, nil, err
			}
		}
		for from, to := range c.src.Redirects {
			if h := ends[to]; h.path != 0 {
				h.url = c.seed.of(from)
				all = append(all, h)
			}
		}
	}
	for more {
		drop()
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	return table, sortHeld(all), nil
}

// taken reports whether the path of a file, or a folder of it, is that of a folder or file that has yet
// to leave.
func (c *change) taken(p string) bool {
	top := c.at(filesFolder, MirrorFolder(c.is.Name))
	name := path.Join(top, p)
	if fi, err := c.root.Lstat(name); err == nil {
		return fi.IsDir()
	}
	for name = path.Dir(name); len(name) > len(top); name = path.Dir(name) {
		if fi, err := c.root.Lstat(name); err == nil {
			return !fi.IsDir()
		}
	}
	return false
}

// sourceFiles reads phm.files of the published tree. The digest was compared, as far as phm.json has one.
func (c *change) sourceFiles() iter.Seq2[*phm.File, error] {
	return func(yield func(*phm.File, error) bool) {
		f, err := c.src.Tree.Open(phm.FilesName)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		digest := sha256.New()
		for file, err := range phm.Files(io.TeeReader(f, digest)) {
			if !yield(file, err) {
				return
			}
		}
		if hex.EncodeToString(digest.Sum(nil)) != c.is.Table {
			yield(nil, fmt.Errorf("%s has another digest than %s says", phm.FilesName, phm.MetaName))
		}
	}
}

// come notes a file that is new, or other than before, and reads its links.
func (c *change) come(f *phm.File, there bool) error {
	if there {
		c.other = append(c.other, *f)
	} else {
		c.added = append(c.added, *f)
	}
	if !mayLink(f) {
		fi, err := c.src.Tree.Lstat(f.Path)
		if (err == nil) && (!fi.Mode().IsRegular() || fi.Size() != f.Size) {
			err = fmt.Errorf("%s: it is not what was published", f.Path)
		}
		return err
	}
	raw, err := c.src.Tree.ReadFile(f.Path)
	if err != nil {
		return err
	}
	if err := checkDigest(f, raw); err != nil {
		return err
	}
	doc := c.seed.of(f.URL)
	return c.page.outside(c.is.Name, f, raw, func(u string) {
		host := u
		if p, err := url.Parse(u); err == nil {
			host = p.Host
		}
		c.found.all = append(c.found.all, link{url: c.seed.of(u), doc: doc, host: c.found.host(host)})
	})
}

func checkDigest(f *phm.File, raw []byte) error {
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != f.SHA256 {
		return fmt.Errorf("%s: its bytes are not those that were published", f.Path)
	}
	return nil
}

// apply makes the new version that of the space: first what comes, then what leads to it, then what
// counts, at last what leaves.
func (c *change) apply(ctx context.Context) error {
	c.affected()
	if err := c.writeTodo(c.is.Name); err != nil {
		return err
	}
	c.o.step("todo")
	m := c.is
	c.mirrors[m.Name] = m
	defer c.was.close()
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
	c.o.step("placed")
	if err := c.remake(ctx); err != nil {
		return err
	}
	c.o.step("remade")
	for _, s := range suffixes() {
		if err := c.root.Rename(c.disk.note(m.Name, s+newSuffix), c.disk.note(m.Name, s)); err != nil {
			return err
		}
	}
	if c.all { // what else lies there is of nobody knows which version
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
	c.o.step("committed")
	if err := c.release(); err != nil {
		return err
	}
	c.o.step("released")
	return c.commitPages()
}

// affected marks the documents of other mirrors that link to a URL that came, moved or left.
func (c *change) affected() {
	urls := moved(c.was.held, c.is.held)
	if c.all || !slices.Equal(c.was.Places, c.is.Places) { // which mirror comes first may have changed too
		both := map[uint64]bool{}
		for _, x := range []heldIndex{c.was.held, c.is.held} {
			for i := range x.len() {
				both[x.at(i).url] = true
			}
		}
		urls = slices.Collect(maps.Keys(both))
	}
	for name, m := range c.mirrors {
		if name == c.is.Name {
			continue
		}
		for _, u := range urls {
			m.links.to(u, func(doc uint64) { c.mark(name, doc) })
		}
		if c.all { // pages may lead to files that no index names any more
			if pages, err := c.pagesOf(m); err == nil {
				for _, p := range pages {
					if slices.ContainsFunc(p.To, func(t Landing) bool { return t.Mirror == c.is.Name }) {
						if doc, ok := c.docAt(m, p.Path); ok {
							c.mark(name, doc)
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

// placeFiles puts the files that came in their places: first what pages need, then pages that nothing
// leads to yet, then what other files led to before.
func (c *change) placeFiles(ctx context.Context) error {
	for _, turn := range []struct {
		files []phm.File
		pages bool
	}{{c.added, false}, {c.added, true}, {c.other, false}, {c.other, true}} {
		for i := range turn.files {
			f := &turn.files[i]
			if mayLink(f) != turn.pages {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := c.placeFile(f); err != nil {
				return err
			}
			c.o.step("placing")
		}
	}
	return nil
}

func (c *change) placeFile(f *phm.File) error {
	from := path.Join(c.src.Folder, f.Path)
	delete(c.is.Stale, f.Path)
	if mayLink(f) {
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
		if (err == nil) && !e.IsDir() && !named[p] {
			left = append(left, p)
		}
		return err
	})
	return left, err
}

// resolve says where a link of a mirror's page to another site leads: to the mirror whose scope is the
// narrowest around the URL, then by name; nowhere when the mirror itself holds it.
func (u *update) resolve(owner string) func(raw string) (Landing, bool, error) {
	return func(raw string) (Landing, bool, error) { return u.resolveFrom(owner, raw) }
}

func (u *update) resolveFrom(owner, raw string) (Landing, bool, error) {
	sum := u.seed.of(raw)
	var best *mirror
	var at held
	narrow := 0
	for name, m := range u.mirrors {
		h, ok := m.held.find(sum)
		if !ok {
			continue
		}
		if name == owner {
			return Landing{}, false, nil
		}
		n := narrowness(m.Places, raw)
		if (best == nil) || n > narrow || (n == narrow && name < best.Name) {
			best, at, narrow = m, h, n
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
	return Landing{Mirror: best.Name, Path: f.Path}, true, nil
}

// placePage makes the file of a page of which the published file is from: the same, or one in which links
// lead to other mirrors.
func (u *update) placePage(m *mirror, f *phm.File, from string) error {
	raw, err := u.root.ReadFile(from)
	if err != nil {
		return err
	}
	if err := checkDigest(f, raw); err != nil {
		return err
	}
	out, to, links, err := u.page.relink(m.Name, f, raw, u.resolve(m.Name))
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
	if was := m.pages[f.Path]; (was == nil) || was.SHA256 != is.SHA256 {
		u.report.Pages++
	}
	m.pages[f.Path] = is
	return u.link(made, u.file(m.Name, f.Path))
}

// remake makes the documents that are marked again, of what the space has. One that cannot be made stays
// as it is, and so does what it leads to.
func (u *update) remake(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(u.dirty)) {
		m := u.mirrors[name]
		if (m == nil) || m.Gone {
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
	if (err != nil) || u.seed.of(f.URL) != doc {
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
	if m.Stale == nil {
		m.Stale = map[string]string{}
	}
	m.Stale[f.Path] = err.Error()
	u.o.Log.Warn("a page of a space cannot be made again: its links stay as they are",
		"space", u.name, "job", m.Name, "page", f.URL, "err", err)
	return u.commit(m)
}

// commit makes what is known of a mirror count.
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

// commitPages makes what is known of pages count, and drops what is not used any more.
func (u *update) commitPages() error {
	for _, m := range slices.SortedFunc(maps.Values(u.mirrors), byName) {
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
			if fi, err := u.root.Lstat(u.file(m.Name, p)); (err == nil) && fi.IsDir() {
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
