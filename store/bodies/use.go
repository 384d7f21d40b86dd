// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// PackUse is how much of a pack is in use.
type PackUse struct {
	Num    uint32
	Size   int64
	Places []record.Place // in use, by offset
	Live   int64          // bytes of them
	Pinned bool           // an unfinished run refers to it: its journal is not rewritten
}

// List lists the files by number, and by that of each.
func (p *Packs) List() (uses []*PackUse, byNum map[uint32]*PackUse, err error) {
	nums, err := disk.NumbersIn(p.root, ".", p.name)
	byNum = map[uint32]*PackUse{}
	for _, n := range nums {
		fi, err := p.root.Lstat(p.name(n))
		if err != nil {
			return nil, nil, disk.Err("list packs", err)
		}
		byNum[n] = &PackUse{Num: n, Size: fi.Size()}
		uses = append(uses, byNum[n])
	}
	return uses, byNum, err
}

// Measure finds out how many bytes are in use.
func Measure(p *Packs, uses []*PackUse) error {
	for _, u := range uses {
		u.Sort()
		u.Live = 0
		for places := range u.Frames() {
			n, err := p.liveBytes(places)
			if err != nil && !errors.Is(err, disk.ErrDamaged) {
				return err
			}
			u.Live += n
		}
	}
	return nil
}

// Sort puts the places in order, each once.
func (u *PackUse) Sort() {
	slices.SortFunc(u.Places, record.Place.Compare)
	u.Places = slices.Compact(u.Places)
}

// Frames yields the places of each frame in use; those of a bundle are the documents in use.
func (u *PackUse) Frames() iter.Seq[[]record.Place] {
	return func(yield func([]record.Place) bool) {
		for rest := u.Places; len(rest) > 0; {
			n := 1
			for rest[0].Doc > 0 && n < len(rest) && rest[n].Off == rest[0].Off && rest[n].Len == rest[0].Len {
				n++
			}
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// liveBytes is how many bytes of its frame the documents in use take, of which all places are given: all of
// it only when all documents are in use.
func (p *Packs) liveBytes(places []record.Place) (int64, error) {
	length := int64(places[0].Len)
	if places[0].Doc == 0 {
		return length, nil
	}
	x, err := p.bundleAt(places[0])
	if err != nil || len(places) >= len(x.ends) {
		return length, err
	}
	used := int64(0)
	for _, at := range places {
		if from, to, ok := x.bounds(at.Doc); ok {
			used += int64(to - from)
		}
	}
	return min(length*used/int64(max(x.size(), 1)), length-1), nil
}

// Copy appends the documents of a frame that are in use, of which all places are given, to the last pack, and
// notes where each went: the frame byte for byte when that is all of it. A delta stays: see Again.
func (w *FrameWriter) Copy(
	p *Packs, r *FrameReader, places []record.Place, to map[record.Place]record.Place,
) error {
	raw, err := p.Frame(r, places[0])
	if err != nil || isDelta(raw) {
		return err
	}
	if places[0].Doc == 0 {
		to[places[0]], err = p.Append(raw)
		return err
	}
	x, err := parseBundle(raw)
	if err != nil {
		return err
	}
	if len(places) == len(x.ends) {
		frame, err := p.Append(raw)
		for _, at := range places {
			to[at] = placeOf(frame, at.Doc, len(x.ends))
		}
		return err
	}
	out, err := r.unbundle(nil, raw, &x)
	if err != nil {
		return err
	}
	var left []byte
	var ends []uint32
	for _, at := range places {
		from, end, ok := x.bounds(at.Doc)
		if !ok {
			return fmt.Errorf("%w: document %d of a frame of %d", disk.ErrDamaged, at.Doc, len(x.ends))
		}
		left = append(left, out[from:end]...)
		ends = append(ends, uint32(len(left)))
	}
	frame, err := p.Append(w.encoder.documents(nil, left, ends))
	for i, at := range places {
		to[at] = placeOf(frame, uint32(i+1), len(places))
	}
	return err
}

// Again returns a frame for the document of a delta: a delta over the full frame at base where that pays,
// else in full. It is nil for a document that cannot be read.
func (w *FrameWriter) Again(p *Packs, r *FrameReader, at, base record.Place) ([]byte, error) {
	payload, err := p.Payload(r, at)
	if errors.Is(err, disk.ErrDamaged) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w.buf = append(append(w.buf[:0], make([]byte, HeaderSize)...), payload...)
	if raw := w.over(p, base, smallDelta); raw != nil {
		return raw, nil
	}
	return w.pack(), nil
}
