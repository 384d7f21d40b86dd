// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// eraser makes a compaction remove the bytes of what nothing refers to from the packs and heads, however
// little it is. A frame of a URL that is to go is no longer a base: the deltas over it are written again in
// full. The pack of such a frame may have nothing in use beside it, and is still needed until they are.
type eraser struct {
	gone  map[uint32]bool       // numbers of the URLs that are to go
	known map[record.Place]bool // frames that were looked at: whether they are of such a URL
}

// erases reports whether the frame at a place is of a URL that is to go. One that cannot be read is not.
func (s *compactor) erases(at record.Place) (bool, error) {
	e := s.erase
	if e == nil {
		return false, nil
	}
	if is, known := e.known[at]; known {
		return is, nil
	}
	fr, err := s.packs.read(s.frames, at)
	if errors.Is(err, disk.ErrDamaged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	id, err := fr.ID()
	e.known[at] = err == nil && e.gone[id]
	return e.known[at], nil
}
