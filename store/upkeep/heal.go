// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"iter"
	"slices"
	"time"

	"mirrord/internal/regular"
	"mirrord/site"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// BodyCopy is a body that may take the place of a damaged one, with the links that are stored beside it.
type BodyCopy struct{ Body, Links []byte }

// BodyCopies finds good copies of the body of a record that is a document. It returns nothing else than
// bodies of its digest. What it yields is not kept.
type BodyCopies func(r *record.Resource) iter.Seq[BodyCopy]

// BodyRepairs is the result of Heal.
type BodyRepairs struct {
	URLs []string   // of which a damaged body was replaced, in any version
	Lost []LostBody // by URL
}

// LostBody is a stored body that is damaged, of which no good copy is known.
type LostBody struct {
	URL      string `json:"url"`
	Path     string `json:"path,omitempty"`     // mirror path
	Versions []int  `json:"versions,omitempty"` // kept versions that it is a part of
	Present  bool   `json:"present,omitempty"`  // it is the body that the next version would have

	Records facts.LostRecords `json:"-"` // that have it
}

// Heal looks at the bodies of URLs, as they are and as they were in all versions, and replaces those that are
// damaged by good ones of the same digest: of another record of the URL, of a tree when it is published as it
// came, or of copies, which may be nil. All versions have it then. A body in a pack is appended, and the
// records refer to it, as after Compact; so do the deltas over it.
//
// No run may be under way whose journal refers to the bodies. A site that is open for reading is only
// checked. A crash leaves each body as it was, or repaired.
func (s *Site) Heal(ctx context.Context, urls []string, copies BodyCopies) (h BodyRepairs, err error) {
	defer disk.Explain(&err, "heal bodies of %s", s.Name)
	if !s.ReadOnly {
		if err := s.Owned(); err != nil {
			return h, err
		}
	}
	s.Frames.Reread()
	w := &healer{
		Site:     s,
		copies:   copies,
		reader:   bodies.NewFrameReader(),
		writer:   s.Frames.NewFrameWriter(),
		moved:    map[record.Place]record.Place{},
		repaired: map[string]bool{},
	}
	w.reader.Moved = w.moved
	urls = slices.Compact(slices.Sorted(slices.Values(urls)))
	var of []*bodiesOf
	for _, raw := range urls {
		if err := ctx.Err(); err != nil {
			return h, err
		}
		u, _, err := site.Parse(raw)
		if err != nil {
			continue // no check notes such a one
		}
		b, err := w.gather(u)
		if err != nil {
			return h, err
		}
		if b != nil {
			of = append(of, b)
		}
	}
	if !s.ReadOnly {
		for _, w.deltas = range []bool{false, true} {
			if err := w.round(of); err != nil {
				return h, err
			}
		}
		if len(w.moved) > 0 {
			c, err := s.compactor(nil)
			if err == nil {
				err = c.Follow(ctx, w.moved)
			}
			if err != nil {
				return h, err
			}
		}
	}
	for _, b := range of {
		if url := b.url.String(); w.repaired[url] {
			h.URLs = append(h.URLs, url)
		}
		h.Lost = append(h.Lost, w.lost(b)...)
	}
	return h, nil
}

// round repairs what it can: full frames, or the deltas that are still damaged after these. Most deltas
// can be read again once their base is repaired, and then take no more space.
func (w *healer) round(of []*bodiesOf) error {
	for again := true; again; { // a frame that comes back may be the base of other damaged ones, of any URL
		again = false
		for _, b := range of {
			some, err := w.heal(b)
			if err != nil {
				return err
			}
			again = again || some
		}
	}
	return nil
}

type healer struct {
	*Site
	copies   BodyCopies
	reader   *bodies.FrameReader
	writer   *bodies.FrameWriter
	deltas   bool // they are repaired too
	moved    map[record.Place]record.Place
	repaired map[string]bool // by URL
}

// bodiesOf are the records of one URL that have bodies, with the damage found.
type bodiesOf struct {
	url  site.URL
	recs []datedBody // the oldest first, the present one last
	live []int       // numbers of the kept versions
}

// datedBody is a record as it is, or was before a version.
type datedBody struct {
	record.Resource
	before uint64 // the version that replaced it; 0: none
	bad    bool
}

// gather reads the records of a URL and looks at their bodies; nil when all are good.
func (w *healer) gather(u site.URL) (*bodiesOf, error) {
	b := &bodiesOf{url: u}
	err := w.Records.Ever(u, func(before uint64, r *record.Resource) {
		b.recs = append(b.recs, datedBody{Resource: *r, before: before})
	})
	if err != nil {
		return nil, err
	}
	for i := range b.recs {
		b.recs[i].bad = !w.good(&b.recs[i].Resource)
	}
	if !slices.ContainsFunc(b.recs, func(d datedBody) bool { return d.bad }) {
		return nil, nil
	}
	vs, err := w.Versions.List()
	for i := range vs {
		b.live = append(b.live, vs[i].Number)
	}
	return b, err
}

// good reports whether the body of a record is there, and has its digest. One in a depot that cannot be
// fetched is not damaged.
func (w *healer) good(r *record.Resource) bool {
	switch r.Body {
	case record.PackBody:
		_, err := w.frame(r)
		return err == nil || errors.Is(err, blobs.ErrAway)
	case record.BlobBody:
		right, err := w.Kept.IsRight(r.Digest, nil)
		return right || errors.Is(err, blobs.ErrAway)
	}
	return true
}

func (w *healer) frame(r *record.Resource) (bodies.Frame, error) {
	f, err := w.Frames.ReadFrame(w.reader, r.At)
	if err == nil {
		err = f.Check(r.ID, r.Digest)
	}
	return f, err
}

// heal replaces what it can of the damaged bodies of a URL, and reports whether that was something.
func (w *healer) heal(b *bodiesOf) (some bool, err error) {
	for i := range b.recs {
		d := &b.recs[i]
		if !d.bad {
			continue
		}
		if d.Body == record.PackBody && !w.deltas {
			if under, _ := w.Frames.Under(d.At); len(under) > 0 { // a delta, as far as its frame can be read
				continue
			}
		}
		good := w.good(&d.Resource) // by another record, or by the frame that it is over
		switch to, moved := w.moved[d.At]; {
		case good:
		case d.Body == record.BlobBody:
			if good, err = w.blob(&d.Resource); !good && (err == nil) {
				good, err = w.copiedBlob(&d.Resource)
			}
		case moved: // by another record
			d.At, good = to, true
		default:
			good, err = w.document(b, d)
		}
		if err != nil {
			return some, err
		}
		if good {
			d.bad, some = false, true
			w.repaired[b.url.String()] = true
		}
	}
	return some, nil
}

func (w *healer) document(b *bodiesOf, d *datedBody) (bool, error) {
	for c := range w.candidates(b, &d.Resource) {
		m := bodies.FrameMetaOf(&d.Resource)
		if m.Digest == ([32]byte{}) { // its record forgot it
			m.Digest = sha256.Sum256(c.Body)
		}
		to, err := w.Frames.AppendFrame(w.writer, m, c.Links, c.Body)
		if err != nil {
			return false, err
		}
		w.moved[d.At], d.At = to, to
		return true, nil
	}
	return false, nil
}

func (w *healer) candidates(b *bodiesOf, r *record.Resource) iter.Seq[BodyCopy] {
	return func(yield func(BodyCopy) bool) {
		for i := range b.recs {
			o := &b.recs[i]
			if o.bad || o.Body != record.PackBody || o.Digest != r.Digest {
				continue
			}
			if f, err := w.frame(&o.Resource); err == nil {
				if !yield(BodyCopy{Body: bytes.Clone(f.Body), Links: bytes.Clone(f.Links)}) {
					return
				}
			}
		}
		if w.copies == nil {
			return
		}
		for c := range w.copies(r) {
			if record.IsDigestOf(r.Digest, c.Body) && !yield(c) {
				return
			}
		}
	}
}

func (w *healer) lost(b *bodiesOf) (out []LostBody) {
	for i := range b.recs {
		d := &b.recs[i]
		if !d.bad {
			continue
		}
		l := LostBody{
			URL:     b.url.String(),
			Path:    d.Path,
			Present: d.before == 0,
			Records: facts.LostRecords{URL: b.url, Before: []uint64{d.before}},
		}
		for _, n := range b.live {
			after := (i == 0) || uint64(n) >= b.recs[i-1].before
			if after && (d.before == 0 || uint64(n) < d.before) && d.InSet {
				l.Versions = append(l.Versions, n)
			}
		}
		// one line for a path, though several records have it
		at := slices.IndexFunc(out, func(o LostBody) bool { return o.Path == l.Path })
		if at < 0 {
			out = append(out, l)
			continue
		}
		o := &out[at]
		o.Versions = slices.Compact(slices.Sorted(slices.Values(append(o.Versions, l.Versions...))))
		o.Present = o.Present || l.Present
		o.Records.Before = append(o.Records.Before, d.before)
	}
	slices.SortFunc(out, func(a, b LostBody) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// blob takes the body of a record, which is missing or damaged, from a tree that has it.
func (w *healer) blob(r *record.Resource) (bool, error) {
	if r.Path == "" {
		return false, nil
	}
	folder, err := w.Root.Open(trees.Dir)
	if err != nil {
		return false, nil
	}
	names, err := folder.Readdirnames(-1)
	if err = errors.Join(err, folder.Close()); err != nil {
		return false, disk.Err("list trees", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if ok, err := w.takeFile(regular.Root{Root: w.Root}, trees.Dir+"/"+name+"/"+r.Path, r); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// copiedBlob is blob for the copies that the caller knows.
func (w *healer) copiedBlob(r *record.Resource) (bool, error) {
	if w.copies == nil {
		return false, nil
	}
	for c := range w.copies(r) {
		if sha256.Sum256(c.Body) == r.Digest {
			return w.keepBody(r, func() error { return w.Kept.Put(r.Digest, c.Body, time.Unix(r.Fetched, 0)) })
		}
	}
	return false, nil
}
