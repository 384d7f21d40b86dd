// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"mirrord/relocate"
)

// ThroughRests stores documents of the first version of a one-off mirror as what they are in the end, when
// they come: as their published files, which the caller makes in the tree of that version, and their rests.
// So nothing is written twice.
//
// The rests have a pack of their own, which other documents never go to. Until the version is published,
// kThrough names it, and a document is read by its file in the unfinished tree: no build removes that tree
// before Rests.Recover has stored the documents as they came. Safe for concurrent use with a FrameWriter for
// each goroutine.
type ThroughRests struct {
	packs *packs
	file  *os.File
	num   uint32
	size  atomic.Int64
}

// Through begins to store documents by their files in a tree, which is empty; nil when the site has documents
// already, or is published. Close must follow.
func (r *Rests) Through(t *Tree) (*ThroughRests, error) {
	p := r.packs
	if num, size := p.where(); num != 1 || size > 0 || t.Live.Root != nil {
		return nil, nil
	}
	if err := p.withdrawn.drop(p.root); err != nil { // a process was killed before it did
		return nil, err
	}
	file, err := p.root.OpenFile(packName(1), os.O_WRONLY, 0)
	if err != nil {
		return nil, diskErr("write rests", err)
	}
	if err = p.finish(); err == nil {
		err = r.update("begin rests", func(tx *transaction) error {
			return errors.Join(p.note(tx), tx.Bucket(bMeta).Put(kThrough, binary.BigEndian.AppendUint32(nil, 1)))
		})
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p.unfinished.Store(t.Root.Root)
	return &ThroughRests{packs: p, file: file, num: 1}, nil
}

// Add writes the rest of a document, of which the file was made at a path with what spans say. It counts once
// a record that refers to its place is committed.
func (t *ThroughRests) Add(
	w *FrameWriter, rec *Resource, links, body []byte, path string, spans []relocate.Span,
) (Place, error) {
	m := FrameMetaOf(rec)
	meta, err := m.encode(w.meta[:0])
	if err != nil {
		return Place{}, fmt.Errorf("rest of %s: %w", rec.URL, err)
	}
	w.meta = meta
	raw := w.rest(path, &Frame{Meta: meta, Links: links, Body: body}, spans)
	n := int64(len(raw))
	at := Place{Pack: t.num, Off: t.size.Add(n) - n, Len: uint32(n)}
	t.packs.grown.Add(n + int64(len(body))) // with its file
	_, err = t.file.WriteAt(raw, at.Off)
	return at, diskErr("write pack", err)
}

// Size is how many bytes the rests take; of nil, 0.
func (t *ThroughRests) Size() int64 {
	if t == nil {
		return 0
	}
	return t.size.Load()
}

// At is the place of the rest that Add wrote at an offset of the pack.
func (t *ThroughRests) At(off int64, size uint32) Place {
	return Place{Pack: t.num, Off: off, Len: size}
}

// Close ends the writing. Documents are still read by their files in the tree, until Forget.
func (t *ThroughRests) Close() error { return diskErr("write pack", t.file.Close()) }

// Forget lets go of the tree: what was written through is read by the published one from now on.
func (t *ThroughRests) Forget() { t.packs.unfinished.Store(nil) }

// Recover stores all documents that were written through as they came, when their version did not come about:
// the process was killed, or the run ended early. Nothing refers to the unfinished tree then. It does nothing
// where nothing was written through. A nil Rests does nothing.
func (r *Rests) Recover() error {
	if r == nil {
		return nil
	}
	p := r.packs
	if err := removeIn(p.root, earlyRests); err != nil {
		return diskErr("remove rests", err)
	}
	num, gone, err := r.through()
	if (err != nil) || num == 0 {
		return err
	}
	if !gone {
		tree, err := r.unfinished()
		if err != nil {
			return err
		}
		if tree != nil {
			defer tree.Close()
			was := p.unfinished.Swap(tree)
			defer p.unfinished.Store(was)
		}
		places, err := r.placesIn(num)
		if err != nil {
			return err
		}
		if err := r.storeAsTheyCame(num, places); err != nil {
			return err
		}
		r.at("documents stored as they came")
	}
	if err := p.remove(num); err != nil {
		return err
	}
	err = r.update("forget rests", func(tx *transaction) error { return tx.Bucket(bMeta).Delete(kThrough) })
	if err != nil {
		return err
	}
	return p.withdrawn.drop(p.root)
}

// earlyRests is a file that older versions have left when they were killed.
const earlyRests = "early.rests"

// through reads kThrough: the number of the pack, 0 for none; gone says that its documents were stored as
// they came, so that it is removed.
func (r *Rests) through() (num uint32, gone bool, err error) {
	err = r.db.View(func(tx *transaction) error {
		if v := tx.Bucket(bMeta).Get(kThrough); len(v) >= 4 {
			num, gone = be32(v), len(v) > 4
		}
		return nil
	})
	return num, gone, err
}

// unfinished opens the tree that documents were written through to; nil when it was removed.
func (r *Rests) unfinished() (*os.Root, error) {
	names, err := (&Trees{home: r.home}).marked()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		tree, err := r.openTree(name)
		if err == nil {
			return tree.Root, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, diskErr("open tree", err)
		}
	}
	return nil, nil
}

// placesIn lists the places in a pack that records of the present refer to, those of the journal too.
func (r *Rests) placesIn(num uint32) (places []Place, err error) {
	take := func(rec *Resource) {
		if rec.Body == PackBody && rec.At.Pack == num {
			places = append(places, rec.At)
		}
	}
	err = r.records.Resources(func(rec *Resource) error { take(rec); return nil })
	if err != nil {
		return nil, err
	}
	err = r.records.Replay(func(uint32, NewURL) error { return nil },
		func(rec *Resource, _ []byte, _ bool) error { take(rec); return nil })
	return places, err
}
