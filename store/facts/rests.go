// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"mirrord/internal/binread"
	"mirrord/relocate"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Rests replaces the documents of a one-off mirror by rests once a version is published: during the run they
// are in packs as they came, which takes the least time; afterwards they would take their space twice. Rests
// of a version count from the moment that it is published. Safe for concurrent use with a FrameWriter for
// each goroutine.
type Rests struct {
	*home.Folder
	packs   *bodies.Packs
	records *Records

	mu    sync.Mutex
	came  map[uint32]bool // packs of documents as they came; nil until Add
	moved []byte          // pairs of places: where a document lies, and its rest
}

// Rests returns what makes the rests of a site; nil when it keeps its documents whole.
func (s *Records) Rests() *Rests {
	if !s.frames.Plain {
		return nil
	}
	return &Rests{Folder: s.Folder, packs: s.frames.Packs, records: s}
}

// Add writes the rest of the document f, which lies at from and of which the file at a path of the next
// version is made with what spans say. stays says that this file is already published. Two calls for one
// document are one too many.
func (r *Rests) Add(
	w *bodies.FrameWriter, from record.Place, f *bodies.Frame, path string, spans []relocate.Span, stays bool,
) error {
	came, err := r.begin()
	if (err != nil) || (stays && !came[from.Pack]) {
		return err
	}
	to, err := r.packs.Append(w.Rest(path, f, spans))
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moved = to.Append(from.Append(r.moved))
	return nil
}

// begin lists the packs that go away, and begins one for rests.
func (r *Rests) begin() (map[uint32]bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.came != nil {
		return r.came, nil
	}
	came, err := r.packs.AsTheyCame()
	if err == nil {
		err = r.packs.Separate(false)
	}
	if err == nil {
		r.came = came
	}
	return came, err
}

// Note writes where the rests of a version lie, before it is published: a run that is killed after that is
// settled by the next one.
func (r *Rests) Note(version int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := append(binary.AppendUvarint(nil, uint64(version)), r.moved...)
	err := r.Update("note rests", func(tx *db.Tx) error {
		return errors.Join(tx.Meta().Put(home.KeyRests, b), r.records.notePacks(tx))
	})
	r.At("rests noted")
	return err
}

// movedFrame is where a document lay, and where it lies.
type movedFrame struct{ from, to record.Place }

func (m movedFrame) compare(at record.Place) int { return m.from.Compare(at) }

// noted reads the note: where documents of the published version went, by where they lay. ok says that there
// is one.
func (r *Rests) noted() (moved []movedFrame, ok bool, err error) {
	err = r.DB.View(func(tx *db.Tx) error {
		v := tx.Meta().Get(home.KeyRests)
		if v == nil {
			return nil
		}
		d := binread.Reader{Rest: v}
		if version := d.Uvarint(); !bytes.Equal(tx.Meta().Get(home.KeyLive), db.NumberKey(version)) {
			return nil
		}
		for ok = true; len(d.Rest) > 0; {
			moved = append(moved, movedFrame{record.ReadPlace(&d), record.ReadPlace(&d)})
		}
		if d.Bad {
			return fmt.Errorf("%w: the note of where documents lie", disk.ErrDamaged)
		}
		return nil
	})
	slices.SortFunc(moved, func(a, b movedFrame) int { return a.compare(b.from) })
	return moved, ok, err
}

// Settle makes the records refer to the rests of the published version, and removes the documents as they
// came. What has no rest, because no file of the version is made of it or because it is large, is packed. It
// does nothing while a run is under way.
func (r *Rests) Settle() error {
	if run, err := r.Meta(home.KeyRun); err != nil || run != nil {
		return err
	}
	moved, ok, err := r.noted()
	if (err != nil) || !ok {
		return err
	}
	came, err := r.packs.AsTheyCame()
	if err != nil {
		return err
	}
	if err := r.packs.Separate(false); err != nil {
		return err
	}
	w := &settler{
		Rests:  r,
		came:   came,
		moved:  moved,
		packed: map[record.Place]record.Place{},
		frames: bodies.NewFrameReader(),
	}
	w.frames.Aside = true // the remainder is large
	if err := (CollectedRecords{r.records}).Repoint(w.place); err != nil {
		return err
	}
	for n := range came {
		if err := r.packs.Remove(n); err != nil {
			return err
		}
		r.At("pack removed")
	}
	return r.SetMeta("settle rests", home.KeyRests, nil)
}

// settler knows where documents go.
type settler struct {
	*Rests
	came   map[uint32]bool
	moved  []movedFrame
	packed map[record.Place]record.Place
	frames *bodies.FrameReader
}

// place returns where a document lies from now on; moved is false for one that stays.
func (s *settler) place(at record.Place) (to record.Place, moved bool, err error) {
	i, ok := slices.BinarySearchFunc(s.moved, at, movedFrame.compare)
	if ok {
		return s.moved[i].to, true, nil
	}
	if to, ok := s.packed[at]; ok {
		return to, true, nil
	}
	if !s.came[at.Pack] {
		return at, false, nil
	}
	defer s.frames.Release()
	payload, err := s.packs.Payload(s.frames, at)
	if errors.Is(err, disk.ErrDamaged) {
		return at, false, nil // the run that wants to read it finds that out
	}
	if err != nil {
		return at, false, err
	}
	if to, err = bodies.AppendQuick(s.packs, payload); err == nil {
		s.packed[at] = to
	}
	return to, true, err
}
