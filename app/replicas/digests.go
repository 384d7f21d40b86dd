// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/replica/collections"
	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/pages"
	"mirrord/store/record"
)

// replicaPage is a page on its way to be compared.
type replicaPage struct {
	at     collections.Address
	file   replicaFile
	digest pages.PageDigest
	known  bool // the digest was kept
	keep   bool // the digest is to be kept
}

// replicaBatch is how many pages are looked up at a time.
const replicaBatch = 4096

// digests gives every page with its digest to f; a page that cannot be read is said and left out. Of a site,
// pages are read only when their digests are not kept, and then these are kept.
func (r *replicaPages) digests(
	ctx context.Context, f func(*replicaPage) error,
) error {
	sketcher := text.NewSketcher(text.SketchOptions{})
	for _, t := range r.trees {
		if err := r.treeDigests(ctx, t, sketcher, f); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

func (r *replicaPages) treeDigests(
	ctx context.Context, t replicaTree, sketcher *text.Sketcher, f func(*replicaPage) error,
) (err error) {
	kept, err := openKept(r.state, t)
	if err != nil {
		r.warn(fmt.Sprintf("%s: %v", t.name, err)) // it is read again
	}
	defer func() { err = errors.Join(err, kept.close()) }()
	batch := make([]replicaPage, 0, replicaBatch)
	flush := func() error {
		kept.look(batch)
		for i := range batch {
			p := &batch[i]
			if err := ctx.Err(); err != nil {
				return err
			}
			if !p.known && !r.makeDigest(sketcher, p) {
				p.keep = false
				continue
			}
			if p.known {
				r.known++
			}
			if r.pages++; r.pages%1000 == 0 {
				r.note(fmt.Sprintf("%d pages read", r.pages))
			}
			if err := f(p); err != nil {
				return err
			}
		}
		kept.keep(batch)
		batch = batch[:0]
		return nil
	}
	r.take = func(a collections.Address, file replicaFile) error {
		if batch = append(batch, replicaPage{at: a, file: file}); len(batch) == cap(batch) {
			return flush()
		}
		return nil
	}
	if err := r.readTree(ctx, t); err != nil {
		return err
	}
	return flush()
}

// makeDigest reads a page. It counts files that are no page.
func (r *replicaPages) makeDigest(sketcher *text.Sketcher, p *replicaPage) bool {
	d, err := p.file.digest(sketcher)
	switch {
	case err != nil:
		r.bad++
		r.warn(err.Error())
		return false
	case d == nil:
		r.skipped++
		return false
	}
	p.digest.Digest, p.known = *d, p.file.said != nil
	return true
}

// keptDigests are those of a site. The nil one has none.
type keptDigests struct {
	tree regular.Root
	view *store.Site // a copy, which does not block writers
	// version of the tree and of the records, when pages were last looked up; 0: they were not of one version
	live   int
	file   *pages.Digests
	latest []uint32 // by the number of a URL: that of its newest digest, plus one
	added  bool     // some were kept since
}

// openKept reads which digests a tree has; none when it is no site's.
func openKept(st *store.State, t replicaTree) (*keptDigests, error) {
	if t.site == "" {
		return nil, nil
	}
	view, err := st.ViewSite(t.site)
	if err != nil {
		return nil, err
	}
	k := &keptDigests{tree: t.root.Root, view: view}
	if k.file, err = view.Pages().Digests(); err != nil {
		return nil, errors.Join(err, k.close())
	}
	for n, p := range k.file.All() {
		if int(p.ID) >= len(k.latest) {
			k.latest = append(k.latest, make([]uint32, int(p.ID)+1-len(k.latest))...)
		}
		k.latest[p.ID] = n + 1
	}
	return k, nil
}

// look finds the digests of pages. What cannot be looked up has none.
func (k *keptDigests) look(batch []replicaPage) {
	if k == nil || len(batch) == 0 {
		return
	}
	if err := k.lookUp(batch); err != nil { // the pages are read
		for i := range batch {
			batch[i].known, batch[i].keep = false, false
		}
	}
}

func (k *keptDigests) lookUp(batch []replicaPage) error {
	k.live = 0
	live, err := liveVersion(k.view)
	if err != nil || live == 0 {
		return err
	}
	if meta, err := phm.OpenMeta(k.tree.FS()); err != nil || meta.Version != live {
		return err // a run has published since the tree was opened: its files are not those bodies
	}
	k.live = live
	urls := make([]site.URL, 0, len(batch))
	at := make([]int, 0, len(batch))
	for i := range batch {
		if u, _, err := site.Parse(batch[i].file.url); err == nil {
			urls, at = append(urls, u), append(at, i)
		}
	}
	return k.view.Records.Some(urls, func(n int, rec *record.Resource) error {
		return k.lookOne(rec, &batch[at[n]], live)
	})
}

func (k *keptDigests) lookOne(rec *record.Resource, p *replicaPage, live int) error {
	if rec.Body == record.NoBody || rec.Changed > live {
		return nil // a run that is not published has found another body
	}
	if int(rec.ID) < len(k.latest) && k.latest[rec.ID] > 0 {
		had, ok, err := k.file.At(k.latest[rec.ID] - 1)
		if err != nil {
			return err
		}
		if ok && had.ID == rec.ID && had.Body == rec.TextSum() {
			p.digest, p.known = had, true
			return nil
		}
	}
	p.digest = pages.PageDigest{ID: rec.ID, Body: rec.TextSum()}
	p.keep = true
	return nil
}

// liveVersion is the number of the published version, 0 for none.
func liveVersion(s *store.Site) (int, error) {
	v, err := s.Versions.Last()
	return v.Number, err
}

// keep keeps the digests that had to be made, unless a run may write them too, or has published since the
// pages were looked up: then it is unknown which file was read. Digests that cannot be kept are made again
// next time.
func (k *keptDigests) keep(batch []replicaPage) {
	some := false
	for i := range batch {
		some = some || batch[i].keep
	}
	if k == nil || !some {
		return
	}
	if live, err := liveVersion(k.view); err != nil || live != k.live || k.view.DB.Busy || k.view.DB.Stale() {
		return
	}
	d, err := k.view.Pages().Digests()
	if err != nil {
		return
	}
	for i := range batch {
		if err == nil && batch[i].keep {
			_, err = d.Append(&batch[i].digest)
		}
	}
	k.added = true
	_ = d.Close() // see above
}

// thin writes the digests again when most of them are of texts that no page has now.
func (k *keptDigests) thin() error {
	const spare = 1000
	if k.view.DB.Busy || k.view.DB.Stale() {
		return nil
	}
	d, err := k.view.Pages().Digests()
	if err != nil {
		return err
	}
	newest := map[uint32]uint32{}
	for n, p := range d.All() {
		newest[p.ID] = n
	}
	if int(d.Len()) > 2*len(newest)+spare {
		err = d.Keep(func(n uint32, p *pages.PageDigest) bool { return newest[p.ID] == n })
	}
	return errors.Join(err, d.Close())
}

func (k *keptDigests) close() error {
	if k == nil {
		return nil
	}
	var err error
	if k.added {
		_ = k.thin() // else next time
	}
	if k.file != nil {
		err = k.file.Close()
	}
	return errors.Join(err, k.view.Close())
}
