// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
)

// eraser makes a compaction remove the bytes of what nothing refers to from the packs and heads, however
// little it is. A frame of a URL that is to go is no longer a base: the deltas over it are written again in
// full. The pack of such a frame may have nothing in use beside it, and is still needed until they are.
type eraser struct {
	gone   map[uint32]bool // numbers of the URLs that are to go
	frames *FrameReader
	writer *FrameWriter
	known  map[Place]bool // frames that were looked at: whether they are of such a URL
	full   map[Place]bool // deltas over such frames
}

// erases reports whether the frame at a place is of a URL that is to go. One that cannot be read is not.
func (s *compactor) erases(at Place) (bool, error) {
	e := s.erase
	if e == nil {
		return false, nil
	}
	if is, known := e.known[at]; known {
		return is, nil
	}
	fr, err := s.packs.read(e.frames, at)
	if errors.Is(err, ErrDamaged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	id, err := fr.ID()
	e.known[at] = err == nil && e.gone[id]
	return e.known[at], nil
}

// free says whether a delta is to be written again in full.
func (e *eraser) free(at Place, full bool) {
	if full {
		e.full[at] = true
	} else {
		delete(e.full, at)
	}
}

// frees reports whether a delta is to be written again in full.
func (e *eraser) frees(at Place) bool { return e != nil && e.full[at] }

// inFull returns the full frame of the document at a place, valid until the next call.
func (e *eraser) inFull(p *packs, at Place) ([]byte, error) {
	fr, err := p.read(e.frames, at)
	if err != nil {
		return nil, err
	}
	return e.writer.encode(fr.Meta, fr.Links, fr.Body)
}
