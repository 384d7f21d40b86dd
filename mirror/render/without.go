// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Without makes the kept versions of a mirror again as they are when some URLs are taken out of all of them:
// without their files, and with links to them that are absolute. It changes nothing of the site.
type Without struct {
	from    Material
	gone    func(u site.URL) bool
	leads   map[uint32]bool       // numbers of URLs that are gone, and of those that ever redirected there
	literal map[string]bool       // the same by URL: links out of scope have no number
	touched map[record.Place]bool // documents that were read: whether they link to one of these
	reader  *bodies.FrameReader
	links   StoredLinks
}

// NewWithout reads which URLs are gone, or lead to one that is. every calls its argument for each record, as
// it is and as it was in any version.
func NewWithout(
	m Material, gone func(u site.URL) bool, every func(f func(rec *record.Resource) error) error,
) (*Without, error) {
	w := &Without{
		from:    m,
		gone:    gone,
		leads:   map[uint32]bool{},
		literal: map[string]bool{},
		touched: map[record.Place]bool{},
		reader:  bodies.NewFrameReader(),
	}
	from := map[uint32][]uint32{} // numbers that redirect to one, in some version
	list := map[uint32]string{}
	err := every(func(rec *record.Resource) error {
		if rec.Target > 0 {
			from[rec.Target-1] = append(from[rec.Target-1], rec.ID)
			list[rec.ID] = rec.URL.String()
		}
		if gone(rec.URL) {
			w.leads[rec.ID] = true
			w.literal[rec.URL.String()] = true
		}
		return nil
	})
	next := slices.Collect(maps.Keys(w.leads))
	for range urls.MaxHops {
		var further []uint32
		for _, id := range next {
			for _, f := range from[id] {
				if !w.leads[f] {
					w.leads[f], w.literal[list[f]] = true, true
					further = append(further, f)
				}
			}
		}
		next = further
	}
	return w, err
}

// Remade is a file of a version that has other bytes than before.
type Remade struct {
	Path string
	Data []byte
	Time time.Time // of its last modification
}

// Rest is a version without removed URLs.
type Rest struct {
	Files []phm.File // by path
	Same  bool       // it is as it was
}

// Version makes a version again. remade gets each file with other bytes; may be nil. A document that
// cannot be read stays as its line says, unless all is needed, when it is store.ErrDamaged.
func (w *Without) Version(
	ctx context.Context, number int, all bool, remade func(Remade) error,
) (r Rest, err error) {
	p, err := openPast(w.from, number, w.gone)
	if err != nil {
		return r, err
	}
	r.Files, r.Same = make([]phm.File, 0, len(p.files)), true
	sp := p.render.Splicer()
	for i := range p.files {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		f := &p.files[i]
		if u, _, err := site.Parse(f.URL); err == nil && w.gone(u) {
			r.Same = false
			continue
		}
		now, err := w.file(sp, p, i, remade)
		if errors.Is(err, disk.ErrDamaged) && !all {
			now, err = *f, nil
		}
		if err != nil {
			return r, fmt.Errorf("version %d of %s: %s: %w", number, w.from.Name, f.Path, err)
		}
		r.Same = r.Same && SameFile(f, &now)
		r.Files = append(r.Files, now)
	}
	return r, nil
}

// file returns the line that file i of a version gets.
func (w *Without) file(sp *Splicer, p *PastFS, i int, remade func(Remade) error) (phm.File, error) {
	f, b := &p.files[i], &p.bodies[i]
	switch b.kind {
	case record.BlobBody:
		return *f, nil
	case record.NoBody:
		return *f, notStoredError{f.URL, p.Version.Number}
	}
	if len(w.leads) == 0 {
		return *f, nil
	}
	if does, err := w.touches(b.at); err != nil || !does {
		return *f, err
	}
	was, err := RepairsOf(f)
	if err != nil {
		return *f, fmt.Errorf("%w: %w", disk.ErrDamaged, err)
	}
	sp.was = map[int32]Cure{}
	for _, l := range was {
		sp.was[int32(l.At)] = Cure{To: l.To, Why: l.Why}
	}
	doc, err := sp.read(sp.frames, b.at, f.Path, p.names.Identity(b.id))
	if err != nil {
		return *f, err
	}
	out, edits := doc.splice(nil)
	digest := sha256.Sum256(out)
	now := *f
	if now.SHA256 = hex.EncodeToString(digest[:]); now.SHA256 == f.SHA256 {
		return *f, nil
	}
	now.Size, now.Edits, now.Extra = int64(len(out)), declaredEdits(edits), map[string]json.RawMessage{}
	for field, v := range f.Extra {
		if field != repairField && field != phm.SymbolsField {
			now.Extra[field] = v
		}
	}
	if err := errors.Join(doc.declareSymbols(&now), declareRepairs(&now, sp.cured)); err != nil {
		return now, err
	}
	if remade == nil {
		return now, nil
	}
	return now, remade(Remade{Path: now.Path, Data: out, Time: time.Unix(b.time, 0)})
}

// touches reports whether a stored document links, or by redirects, to a removed URL.
func (w *Without) touches(at record.Place) (bool, error) {
	if does, known := w.touched[at]; known {
		return does, nil
	}
	fr, err := w.from.Frames.ReadFrame(w.reader, at)
	if err != nil {
		return false, err
	}
	if err := w.links.Decode(fr.Links); err != nil {
		return false, fmt.Errorf("%w: %w", disk.ErrDamaged, err)
	}
	w.touched[at] = slices.ContainsFunc(w.links.Targets, func(t StoredTarget) bool {
		if t.Literal != nil {
			return w.literal[string(t.Literal)]
		}
		return w.leads[t.ID]
	})
	return w.touched[at], nil
}
