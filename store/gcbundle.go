// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// liveBytes is how many bytes of its frame the documents in use take, of which all places are given: all of
// it only when all documents are in use.
func (p *packs) liveBytes(places []record.Place) (int64, error) {
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

// copyBundle appends the documents in use of a bundle, of which raw is the frame, to the last pack, and notes
// where each document went: the frame byte for byte when that is all of it.
func (s *compactor) copyBundle(raw []byte, places []record.Place, to map[record.Place]record.Place) error {
	x, err := parseBundle(raw)
	if err != nil {
		return err
	}
	if len(places) == len(x.ends) {
		frame, err := s.packs.append(raw)
		if err != nil {
			return err
		}
		for _, at := range places {
			to[at] = placeOf(frame, at.Doc, len(x.ends))
		}
		return nil
	}
	out, err := s.frames.unbundle(raw, &x)
	if err != nil {
		return err
	}
	var left []byte
	var ends []uint32
	for _, at := range places {
		from, end, ok := x.bounds(at.Doc)
		if !ok {
			return fmt.Errorf("pack %s at %d: %w: document %d of a frame of %d", packName(at.Pack), at.Off,
				disk.ErrDamaged,
				at.Doc, len(x.ends))
		}
		left = append(left, out[from:end]...)
		ends = append(ends, uint32(len(left)))
	}
	frame, err := s.packs.append(s.writer.encoder.frame(nil, left, ends))
	if err != nil {
		return err
	}
	for i, at := range places {
		to[at] = placeOf(frame, uint32(i+1), len(places))
	}
	return nil
}
