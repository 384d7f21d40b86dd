// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// withdrawnFolder has, in the folder of packs, files of documents that were written through and are to become
// other ones, or none: by the places of their rests, of which each is a part until Rests.Settle or
// Rests.Recover is done. A document is read by the file here before that in the tree, so that it is always
// known by one of them, at whichever point a run is killed.
const withdrawnFolder = "withdrawn"

// withdrawnName is the name there of the file to which the rest at a place belongs.
func withdrawnName(at Place) string { return fmt.Sprintf("%d.%d", at.Pack, at.Off) }

// withdrawn is that folder. Safe for concurrent use, but for open and drop.
type withdrawn struct{ dir atomic.Pointer[os.Root] }

// open opens the folder, if it is there and not open. packs is the folder of packs.
func (w *withdrawn) open(packs *os.Root) error {
	if w.dir.Load() != nil {
		return nil
	}
	dir, err := packs.OpenRoot(withdrawnFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		w.dir.Store(dir)
	}
	return diskErr("open folder", err)
}

// file opens the file to which the rest at a place belongs, fs.ErrNotExist when it was not withdrawn.
func (w *withdrawn) file(at Place) (*os.File, error) {
	dir := w.dir.Load()
	if dir == nil {
		return nil, fs.ErrNotExist
	}
	return dir.Open(withdrawnName(at))
}

// list returns the places of the rests whose files are in the folder, without their lengths.
func (w *withdrawn) list() (places map[Place]bool, err error) {
	dir := w.dir.Load()
	if dir == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(dir.FS(), ".")
	places = map[Place]bool{}
	for _, e := range entries {
		var at Place
		if _, err := fmt.Sscanf(e.Name(), "%d.%d", &at.Pack, &at.Off); err == nil {
			places[at] = true
		}
	}
	return places, diskErr("list folder", err)
}

// drop removes the folder. No record refers to a rest there.
func (w *withdrawn) drop(packs *os.Root) error {
	return errors.Join(w.close(), diskErr("remove folder", packs.RemoveAll(withdrawnFolder)))
}

func (w *withdrawn) close() error {
	if dir := w.dir.Swap(nil); dir != nil {
		return dir.Close()
	}
	return nil
}

// WrittenThrough is a document that was written through.
type WrittenThrough struct {
	At   Place  // of its rest
	Path string // of its file in the tree
}

// Withdraw takes the files of documents out of a tree. The documents stay where they are. It is not called
// beside others that store documents.
func (r *Rests) Withdraw(t *Tree, docs []WrittenThrough) error {
	if len(docs) == 0 {
		return nil
	}
	p := r.packs
	if err := p.root.Mkdir(withdrawnFolder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return diskErr("make folder", err)
	}
	if err := p.withdrawn.open(p.root); err != nil {
		return err
	}
	for _, d := range docs {
		if err := t.moveOut(d.Path, "packs/"+withdrawnFolder+"/"+withdrawnName(d.At)); err != nil {
			return err
		}
		r.at("file withdrawn")
	}
	return nil
}

// storeAsTheyCame stores the documents that have rests in a pack as they came. Their places stay good. One
// that is damaged is left out; who reads it next finds that out. It is not called beside others that store
// documents.
func (r *Rests) storeAsTheyCame(num uint32, places []Place) error {
	p := r.packs
	moved := map[Place]Place{}
	if m := p.moved.Load(); m != nil {
		for from, to := range *m {
			moved[from] = to
		}
	}
	if len(places) > 0 {
		if err := p.separate(true); err != nil {
			return err
		}
	}
	if err := r.storePlain(places, moved); err != nil {
		return err
	}
	if err := p.sync(); err != nil {
		return err
	}
	b := []byte{}
	for from, to := range moved {
		b = to.append(from.append(b))
	}
	err := r.update("store documents as they came", func(tx *transaction) error {
		return errors.Join(tx.Bucket(bMeta).Put(kMoved, b), p.note(tx),
			tx.Bucket(bMeta).Put(kThrough, append(binary.BigEndian.AppendUint32(nil, num), 1)))
	})
	if err == nil {
		p.moved.Store(&moved)
	}
	return err
}

// storePlain stores documents as they came that moved does not have yet, and notes there where each lies.
func (r *Rests) storePlain(places []Place, moved map[Place]Place) error {
	var mu sync.Mutex // guards moved, errs and next
	var errs []error
	next := 0
	take := func() (at Place, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		for ; next < len(places) && len(errs) == 0; next++ {
			if _, is := moved[places[next]]; !is {
				next++
				return places[next-1], true
			}
		}
		return at, false
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(places)) {
		group.Go(func() {
			frames := NewFrameReader()
			frames.Aside = true
			for at, ok := take(); ok; at, ok = take() {
				to, err := r.plain(frames, at)
				if errors.Is(err, ErrDamaged) {
					continue
				}
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
				}
				moved[at] = to
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// plain stores a document as it came, and returns where.
func (r *Rests) plain(frames *FrameReader, at Place) (Place, error) {
	defer frames.Release()
	payload, err := r.packs.payload(frames, at)
	if err != nil {
		return at, err
	}
	var header [frameHeader]byte
	copy(header[:], plainMagic)
	sealFor(header[:], payload)
	return r.packs.append(header[:], payload)
}
