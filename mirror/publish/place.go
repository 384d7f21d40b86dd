// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"

	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// Placer makes files of a draft. One goroutine uses it; work in path order is fastest.
type Placer struct {
	d      *Draft
	w      *trees.TreeWriter
	splice *render.Splicer
	rests  *bodies.FrameWriter
	stored []stored // of the chunk
	urls   []site.URL
}

// Placer returns a new Placer. The caller closes it, before the draft.
func (d *Draft) Placer() *Placer {
	return &Placer{
		d:      d,
		w:      d.tree.Writer(),
		splice: d.by.Renderer.Splicer(),
		rests:  new(bodies.FrameWriter),
	}
}

func (p *Placer) Close() { p.w.Close() }

// Placing is one file to be made, and what stands at its path already. Without that, the file is rendered
// from the stored body.
type Placing struct {
	ID  uint32
	Was *phm.File // the line of the published file at the path
	Old *phm.File // that of the file that stands there in the draft's tree; nil as well when it may be wrong

	wrong bool // the published file is not what its line says
}

// clean reports whether the published file stays, unless it is damaged.
func (t *Placing) clean(p *VersionPlan) bool { return t.Was != nil && !p.Dirty(t.ID) && !t.wrong }

// stay makes the file the one that is published already, if the plan wants that; stays is false when it is to
// be made from the stored body.
func (p *Placer) stay(ctx context.Context, t *Placing) (f phm.File, stays bool, err error) {
	if !t.clean(p.d.plan) || !p.shared(t) {
		return f, false, nil
	}
	if kept, err := p.keep(ctx, t, p.d.plan.Table.Path(t.ID)); kept || (err != nil) {
		return *t.Was, kept, err
	}
	t.wrong = true
	return f, false, nil
}

// read reads the records of the files of a chunk that are to be made. What has no body is damaged.
func (p *Placer) read(c *chunk) error {
	t := p.d.plan.Table
	p.urls = p.urls[:0]
	for k := range p.stored {
		p.urls = append(p.urls, t.URL(c.tasks[p.stored[k].i].ID))
	}
	err := p.d.by.Records.Some(p.urls, func(n int, rec *record.Resource) error {
		p.stored[n].rec = *rec
		return nil
	})
	for k := range p.stored {
		if p.stored[k].rec.Body == record.NoBody {
			p.stored[k].err = fmt.Errorf("publish %s: %w: it has no body", p.urls[k], disk.ErrDamaged)
		}
	}
	return err
}

// make makes the file of a resource at its mirror path from its stored body, and returns its line of the file
// table. It links to the published file where that is the same. A stored body that is missing or damaged is
// store.ErrDamaged.
func (p *Placer) make(ctx context.Context, t *Placing, rec *record.Resource) (phm.File, error) {
	path := p.d.plan.Table.Path(t.ID)
	f, err := p.splice.Line(rec, path)
	if err != nil {
		return f, err
	}
	if rec.Body == record.PackBody {
		return p.document(ctx, t, rec, f)
	}
	if render.SameFile(t.Was, &f) && !t.wrong {
		if kept, err := p.keep(ctx, t, path); kept || (err != nil) {
			return p.lineOf(t, f), err
		}
	}
	if render.SameFile(t.Old, &f) && p.stands(t.Old) {
		return f, nil
	}
	if came := rec.Changed >= p.d.plan.Meta.Version; !came || t.wrong { // it was last read when it came
		if err := p.w.CheckBlob(ctx, path, rec.Digest); err != nil {
			return f, err
		}
	}
	return f, p.w.LinkBlob(path, rec.Digest)
}

// document places a document, of which f is the line so far.
func (p *Placer) document(
	ctx context.Context, t *Placing, rec *record.Resource, f phm.File,
) (phm.File, error) {
	defer p.d.turn(rec.Size)()
	doc, err := p.splice.Document(rec, &f)
	if (err != nil) && p.mayStay(t, rec, err) {
		if kept, kerr := p.keep(ctx, t, f.Path); kept || kerr != nil {
			p.d.kept.note(t.ID, err)
			return *t.Was, kerr
		}
	}
	if err != nil {
		return f, fmt.Errorf("publish %s: %w", rec.URL, err)
	}
	defer doc.Close()
	if t.Was != nil && !t.wrong {
		if err := doc.Complete(); err != nil {
			return f, fmt.Errorf("publish %s: %w", rec.URL, err)
		}
		if render.SameFile(t.Was, &f) && render.SameRepairs(t.Was, &f) {
			if kept, err := p.keep(ctx, t, f.Path); kept || (err != nil) {
				return p.lineOf(t, f), errors.Join(err, p.rest(doc, rec, true))
			}
		}
	}
	err = errors.Join(doc.WriteFile(p.w), p.rest(doc, rec, false)) // it completes f
	return f, err
}

// rest keeps what a document of a one-off mirror has beside its file.
func (p *Placer) rest(doc *render.Rendered, rec *record.Resource, stays bool) error {
	if p.d.by.Rests == nil {
		return nil
	}
	return doc.Rest(p.d.by.Rests, p.rests, rec.At, stays)
}

// mayStay reports whether the published file of a document is the best that can be had: its stored body is
// damaged, and the site did not give it when it was requested again. Its links are those of the version
// before.
func (p *Placer) mayStay(t *Placing, rec *record.Resource, err error) bool {
	published := t.Was != nil && !t.wrong && t.Was.URL == rec.URL.String()
	return published && isDamage(err) && rec.Outcome == site.Failed
}

// shared reports whether the published line names the URLs that share the file now.
func (p *Placer) shared(t *Placing) bool { return p.d.by.Renderer.Shared.Fits(t.Was, t.ID) }

// lineOf returns the line of a file that stays: as it was, unless other URLs share the file now, or the site
// offers it under another name.
func (p *Placer) lineOf(t *Placing, f phm.File) phm.File {
	if p.shared(t) && t.Was.Name() == f.Name() {
		return *t.Was
	}
	return f
}

// keep makes the file the one that is published already. It reads the file before it links it: when the
// published bytes are not those of its line, kept is false and the file is to be made from the stored body.
// A file that is already in the tree is not read.
func (p *Placer) keep(ctx context.Context, t *Placing, path string) (kept bool, err error) {
	there := t.Old != nil && t.Old.SHA256 == t.Was.SHA256 && t.Old.Modified.Equal(t.Was.Modified)
	if there && p.stands(t.Old) {
		return true, nil
	}
	right, err := p.w.LiveHas(ctx, path, t.Was.SHA256)
	if err == nil && right {
		return true, p.w.LinkLive(path)
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	p.d.by.Log.Warn("a published file has wrong bytes and is made again", "file", path, "err", err)
	if errors.Is(err, disk.ErrDamaged) { // the disk has lost it
		err = nil
	}
	return false, err
}

// stands reports whether a file of the draft's tree is there as the tree's table says, as far as its folder
// knows.
func (p *Placer) stands(f *phm.File) bool {
	st, err := p.w.Stat(f.Path)
	return err == nil && st.Regular && st.Size == f.Size && !render.WrittenSince(st, f, p.d.plan.Live)
}

// isDamage reports whether an error means that a stored body is damaged, and not the database.
func isDamage(err error) bool {
	_, database := errors.AsType[*db.DatabaseError](err)
	return errors.Is(err, disk.ErrDamaged) && !database
}
