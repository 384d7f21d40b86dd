// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"mirrord/internal/binread"
	"mirrord/internal/regular"
)

// The first run of a one-off mirror once stored a document as its published file, in the tree that was not
// published yet, and its rest. What such a run has left, when it was killed or interrupted, is read here:
//
//	"through" in bMeta     4 bytes: number of the pack of these rests; a 5th byte: all are in "moved"
//	"moved" in bMeta       pairs of places: where records say that a document lies, and where it lies
//	packs/withdrawn/N.OFF  the file of the rest at OFF in pack N, which was taken out of the tree
var kThrough, kMoved = []byte("through"), []byte("moved")

const withdrawnFolder = "withdrawn"

// leftThrough stores documents as they came that are not.
type leftThrough struct {
	*Site
	pack      uint32 // all of whose documents are to be stored; 0 for none
	moved     map[Place]Place
	withdrawn map[Place]bool // places of rests, without their lengths
	frames    *FrameReader
}

// storeThrough stores all documents as they came of which there is a rest with a file of an unfinished tree,
// and makes the records refer to them. A kill at any step costs nothing. It is called while a site is opened,
// before any tree is made or removed.
func storeThrough(s *Site) error {
	l := &leftThrough{Site: s, moved: map[Place]Place{}, frames: NewFrameReader()}
	l.frames.Aside = true // some are large
	some, err := l.find()
	if (err != nil) || !some {
		return err
	}
	tree, err := l.tree()
	if err != nil {
		return err
	}
	if tree.Root != nil {
		defer tree.Close()
	}
	published := s.packs.published
	defer func() { s.packs.published = published }()
	s.packs.published = func(path string, at Place) (*os.File, error) {
		f, err := s.packs.root.Open(withdrawnFolder + "/" + fmt.Sprintf("%d.%d", at.Pack, at.Off))
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if tree.Root != nil {
			return tree.Open(path)
		}
		return published(path, at)
	}
	if err := s.packs.separate(true); err != nil {
		return err
	}
	if err := errors.Join(l.journal(), s.Records.repointAll(l.place)); err != nil {
		return err
	}
	s.at("documents stored as they came")
	if l.pack > 0 {
		if err := s.packs.remove(l.pack); err != nil {
			return err
		}
	}
	err = s.update("forget rests", func(tx *transaction) error {
		return errors.Join(tx.Bucket(bMeta).Delete(kThrough), tx.Bucket(bMeta).Delete(kMoved))
	})
	if err != nil {
		return err
	}
	return diskErr("remove folder", s.packs.root.RemoveAll(withdrawnFolder))
}

// find finds out what there is. Where the version was published meanwhile, its rests count.
func (l *leftThrough) find() (some bool, err error) {
	dir, err := fs.ReadDir(l.packs.root.FS(), withdrawnFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, diskErr("list folder", err)
	}
	some = err == nil
	l.withdrawn = map[Place]bool{}
	for _, e := range dir {
		var at Place
		if _, err := fmt.Sscanf(e.Name(), "%d.%d", &at.Pack, &at.Off); err == nil {
			l.withdrawn[at] = true
		}
	}
	var moved []byte
	err = l.db.View(func(tx *transaction) error {
		if v := tx.Bucket(bMeta).Get(kThrough); len(v) >= 4 {
			some, l.pack = true, be32(v)
		}
		moved = append(moved, tx.Bucket(bMeta).Get(kMoved)...)
		return nil
	})
	if some = some || len(moved) > 0; (err != nil) || !some {
		return false, err
	}
	pairs, err := readMoved(&binread.Reader{Rest: moved})
	if err != nil {
		return false, err
	}
	rests, _, err := (&Rests{home: l.home}).noted()
	for _, m := range append(pairs, rests...) {
		l.moved[m.from] = m.to
	}
	return true, err
}

// tree opens the tree that is not published; the zero value when it was removed.
func (l *leftThrough) tree() (regular.Root, error) {
	names, err := l.Trees.marked()
	if err != nil || l.pack == 0 {
		return regular.Root{}, err
	}
	for _, name := range names {
		tree, err := l.openTree(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return tree, diskErr("open tree", err)
		}
	}
	return regular.Root{}, nil
}

// place returns where a document lies from now on; moved is false for one that stays.
func (l *leftThrough) place(at Place) (to Place, moved bool, err error) {
	if to, ok := l.moved[at]; ok {
		return to, true, nil
	}
	if at.Pack != l.pack && !l.withdrawn[Place{Pack: at.Pack, Off: at.Off}] {
		return at, false, nil
	}
	defer l.frames.Release()
	payload, err := l.packs.payload(l.frames, at)
	if errors.Is(err, ErrDamaged) {
		return at, false, nil // the run that wants to read it finds that out
	}
	if err != nil {
		return at, false, err
	}
	var header [frameHeader]byte
	copy(header[:], plainMagic)
	sealFor(header[:], payload)
	if to, err = l.packs.append(header[:], payload); err == nil {
		l.moved[at] = to
	}
	return to, true, err
}

// journal is repointAll for the journal.
func (l *leftThrough) journal() error {
	var keys [][]byte
	err := l.Records.each(bJournal, func(k, _ []byte) error {
		keys = append(keys, slices.Clone(k))
		return nil
	})
	for _, k := range keys {
		if err != nil {
			break
		}
		err = l.update("move documents", func(tx *transaction) error {
			j := tx.Bucket(bJournal)
			b, err := repointBatch(j.Get(k), l.place)
			if err == nil && b != nil {
				err = j.Put(k, b)
			}
			return errors.Join(err, l.packs.sync(), l.packs.note(tx))
		})
		l.at("some results moved")
	}
	return err
}

// repointBatch makes the results of a batch of the journal refer to where their documents went; nil when it
// stays as it is.
func repointBatch(v []byte, where func(Place) (to Place, moved bool, err error)) ([]byte, error) {
	d := binread.Reader{Rest: v}
	skipNews(&d)
	count := d.Uvarint()
	out, some := slices.Clone(v[:len(v)-len(d.Rest)]), false
	for ; count > 0 && !d.Bad; count-- {
		done := readDone(&d)
		u, err := journalURL(done.url)
		if err != nil {
			return nil, err
		}
		var r Resource
		if err := r.decode(u, done.rec); err != nil {
			return nil, err
		}
		if r.Body == PackBody {
			to, moved, err := where(r.At)
			if err != nil {
				return nil, fmt.Errorf("the document of %s: %w", u, err)
			}
			if moved {
				r.At, some = to, true
				done.rec = r.append(nil)
			}
		}
		out = done.append(out)
	}
	if d.Bad {
		return nil, fmt.Errorf("journal: %w: short batch", errValue)
	}
	if !some {
		return nil, nil
	}
	return append(out, d.Rest...), nil
}
