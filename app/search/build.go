// SPDX-License-Identifier: Apache-2.0

package search

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/replicas"
	"mirrord/mirror/render"
	"mirrord/mirror/scope"
	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/serve/find"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// How much goes into one transaction of the index: after a kill this much is read again.
const (
	findTexts = 1000
	findBytes = 16 << 20
	findURLs  = 20000
)

// maxFindPage bounds the bytes read of one page.
const maxFindPage = 8 << 20

// findUpdate updates the index.
type findUpdate struct {
	st   *store.State
	x    *find.Index
	said func(line string) // progress

	stands map[string]find.Stand // of the mirrors, before the update

	texts int // that were added
}

// behind lists the mirrors whose published version is not in the index, and those of the index that are gone.
func (f *findUpdate) behind(ctx context.Context) (behind, gone []string, err error) {
	if f.stands, err = f.x.Stands(ctx); err != nil {
		return nil, nil, err
	}
	names, err := f.st.Sites()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		meta, err := render.PublishedMeta(f.st, name)
		if err != nil {
			continue // nothing is published, or its status says why it cannot be read
		}
		if s, ok := f.stands[name]; !ok || s.Version != meta.Version {
			behind = append(behind, name)
		}
	}
	for name := range f.stands {
		if !slices.Contains(names, name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return behind, gone, nil
}

// all updates the index to all mirrors. An error in one of them does not stop the others.
func (f *findUpdate) all(ctx context.Context) error {
	behind, gone, err := f.behind(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range gone {
		if err := f.change(ctx, name, func(b *find.IndexChange) error { return b.Empty(true) }); err != nil {
			return err
		}
	}
	for i, name := range behind {
		f.said(fmt.Sprintf("indexing %s, %d of %d mirrors", name, i+1, len(behind)))
		err := env.View(f.st, name, func(s *store.Site) error { return f.site(ctx, s) })
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, find.ErrDamaged):
			return err
		case err != nil && !errors.Is(err, home.ErrNoSite) && !errors.Is(err, db.ErrBusy):
			errs = append(errs, fmt.Errorf("index the texts of %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (f *findUpdate) change(ctx context.Context, name string, do func(b *find.IndexChange) error) error {
	b, err := f.x.Begin(ctx, name)
	if err != nil {
		return err
	}
	if err := do(b); err != nil {
		return errors.Join(err, b.Rollback())
	}
	texts, _ := b.Added()
	f.texts += texts
	return b.Commit()
}

// findSite is a mirror that is being indexed.
type findSite struct {
	st     *store.State
	s      *store.Site
	list   []record.Version
	down   *scope.TakeDowns
	reader *bodies.FrameReader
	links  render.StoredLinks
	urls   []uint32 // find.LinkHash by the number of the URL
	wanted []findURL
}

// findURL is a URL of which something may be new.
type findURL struct {
	url   site.URL
	depth int
}

// site updates the index to a mirror. It reads changes since the version that the index has;
// all of it, when it has none, or one that is not of this mirror.
func (f *findUpdate) site(ctx context.Context, s *store.Site) error {
	x := &findSite{
		st:     f.st,
		s:      s,
		reader: bodies.NewFrameReader(),
	}
	defer x.reader.Release()
	var err error
	if x.list, err = s.Versions.List(); err != nil || len(x.list) == 0 {
		return err
	}
	if x.down, err = scope.TakeDownsOf(s.Notes); err != nil {
		return err
	}
	live := x.list[len(x.list)-1]
	done := f.stands[s.Name]
	if anotherMirror(x.list, done) {
		done = find.Stand{}
		if err := f.change(ctx, s.Name, func(b *find.IndexChange) error { return b.Empty(false) }); err != nil {
			return err
		}
	}
	if err := x.plan(done.Version); err != nil {
		return err
	}
	for i := 0; i < len(x.wanted); {
		err := f.change(ctx, s.Name, func(b *find.IndexChange) error {
			for end := min(i+findURLs, len(x.wanted)); i < end; i++ {
				if err := errors.Join(ctx.Err(), x.settle(b, &x.wanted[i])); err != nil {
					return err
				}
				if n, bytes := b.Added(); n >= findTexts || bytes >= findBytes {
					i++
					break
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		f.said(fmt.Sprintf("indexing %s: %d of %d pages", s.Name, i, len(x.wanted)))
	}
	return f.change(ctx, s.Name, func(b *find.IndexChange) error {
		return errors.Join(b.Keep(x.dated()), b.Done(find.Stand{Version: live.Number, At: live.Time}))
	})
}

// anotherMirror says whether a mirror was removed and made again since the index had it.
func anotherMirror(list []record.Version, done find.Stand) bool {
	for i := range list {
		if list[i].Number == done.Version {
			return list[i].Time.Unix() != done.At.Unix()
		}
	}
	return done.Version > list[len(list)-1].Number
}

// dated is the kept versions as the index has them.
func (x *findSite) dated() []find.DatedVersion {
	out := make([]find.DatedVersion, len(x.list))
	for i := range x.list {
		out[i] = find.DatedVersion{Number: x.list[i].Number, At: look.WebVersion(&x.list[i]).Time}
	}
	return out
}

// plan reads all records, and finds out of which of them something may be new since a version. Pages that
// are near the entry points come first: of a word that very many pages have, the first ones are looked at.
func (x *findSite) plan(done int) error {
	oldest := x.list[0].Number
	err := x.s.Records.Resources(func(r *record.Resource) error {
		if n := int(r.ID) + 1; n > len(x.urls) {
			x.urls = slices.Grow(x.urls, n-len(x.urls))[:n]
		}
		x.urls[r.ID] = find.LinkHash(r.URL.String())
		since := max(r.Changed, r.Moved)
		if since <= done || (since <= oldest && !isText(r)) {
			return nil
		}
		x.wanted = append(x.wanted, findURL{
			url:   r.URL,
			depth: r.Depth,
		})
		return nil
	})
	slices.SortStableFunc(x.wanted, func(a, b findURL) int { return cmp.Compare(a.depth, b.depth) })
	return err
}

// isText says whether a resource of the mirror is a page that says something.
func isText(r *record.Resource) bool {
	if !r.InSet || r.Path == "" {
		return false
	}
	if r.Body == record.NoBody { // imported, or made again from the tree
		_, page := replicas.PageName(r.Path)
		return page && !strings.HasSuffix(r.Path, "/")
	}
	return saysHTML(r) || r.MIME == "text/plain"
}

func saysHTML(r *record.Resource) bool {
	return relocate.Format(r.Format) == relocate.HTML || r.MIME == "text/html" ||
		r.MIME == "application/xhtml+xml"
}

// settle makes the index have what a URL said in the kept versions.
func (x *findSite) settle(b *find.IndexChange, u *findURL) error {
	if x.down.Has(u.url) {
		return b.Settle(u.url.String(), nil, nil)
	}
	all, err := x.s.Versions.HistoryIn(x.list, u.url)
	if err != nil {
		return err
	}
	var intervals []find.Interval
	var records []*record.Resource
	next := false
	for i := range all {
		r, number := &all[i].Record, all[i].Version.Number
		if !all[i].Known || !isText(r) {
			next = false
			continue
		}
		body := bodyMark(r)
		if n := len(intervals) - 1; next && intervals[n].Body == body {
			intervals[n].Last = number
			continue
		}
		first := number
		if since := max(r.Changed, r.Moved); since > 0 && since < number {
			first = since // in a version that is not kept
		}
		intervals = append(intervals, find.Interval{
			First: first,
			Last:  number,
			Body:  body,
			Next:  next,
		})
		records = append(records, r)
		next = true
	}
	if n := len(intervals) - 1; next && n >= 0 {
		intervals[n].Last = 0
	}
	return b.Settle(u.url.String(), intervals, func(i int) (find.PageText, bool, error) {
		return x.read(records[i], intervals[i].Last == 0)
	})
}

// bodyMark stands for the bytes of a page and how they are read.
func bodyMark(r *record.Resource) uint64 {
	return binary.LittleEndian.Uint64(r.Digest[:]) ^ uint64(find.LinkHash(r.MIME+";"+r.Charset+";"+r.Path))
}

// read reads what a page says. One whose body is missing or damaged says nothing: verify reports it.
func (x *findSite) read(r *record.Resource, now bool) (t find.PageText, ok bool, err error) {
	body, err := x.body(r, now, &t)
	if errors.Is(err, fs.ErrNotExist) || (errors.Is(err, disk.ErrDamaged) && !x.s.DB.Stale()) {
		return t, false, nil
	}
	if err != nil || !text.IsText(body) {
		return t, false, err
	}
	t.Path = r.Path
	isHTML := saysHTML(r) || (r.Body == record.NoBody && !strings.HasSuffix(r.Path, ".txt"))
	t.Title, t.Said = text.Page(body, r.Charset, isHTML)
	return t, t.Said != "" || t.Title != "", nil
}

// body reads the bytes of a page, and its links into t.
func (x *findSite) body(r *record.Resource, now bool, t *find.PageText) ([]byte, error) {
	switch r.Body {
	case record.PackBody:
		fr, err := x.s.Frames.ReadFrame(x.reader, r.At)
		if err != nil {
			return nil, err
		}
		if x.links.Decode(fr.Links) == nil { // else verify reports it
			t.Links = x.targets()
		}
		return fr.Body[:min(len(fr.Body), maxFindPage)], nil
	case record.BlobBody:
		f, err := x.st.Bodies.Open(r.Digest, maxFindPage)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(f)
	}
	if !now {
		return nil, fs.ErrNotExist
	}
	tree, err := x.s.Trees.Current()
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	f, err := tree.Open(r.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFindPage))
}

// targets are the pages that the document that was just read links to.
func (x *findSite) targets() (out []uint32) {
	for i := range x.links.Targets {
		t := &x.links.Targets[i]
		switch {
		case x.links.Links[i].Kind != relocate.Hyperlink:
		case t.Literal != nil:
			out = append(out, find.LinkHash(string(t.Literal)))
		case int(t.ID) < len(x.urls):
			out = append(out, x.urls[t.ID])
		}
	}
	return out
}

// FindPruned takes the texts of dropped versions out of the index, if there is one, without waiting for that.
func FindPruned(ctx context.Context, a *env.App, st *store.State, s *store.Site) {
	if !find.Wanted(st.Dir) {
		return
	}
	list, err := s.Versions.List()
	if err != nil || len(list) == 0 {
		return
	}
	x, err := find.Open(st.Dir)
	if err == nil {
		f := findUpdate{st: st, x: x}
		err = errors.Join(f.change(ctx, s.Name, func(b *find.IndexChange) error {
			return b.Keep((&findSite{list: list}).dated())
		}), x.Close())
	}
	if err != nil && ctx.Err() == nil {
		a.Log.Warn("texts of dropped versions stay in the index until it is made again", "job", s.Name, "err", err)
	}
}
