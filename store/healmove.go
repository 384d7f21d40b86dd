// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"hash/crc32"
	"maps"
	"os"
)

// rewrite writes a frame over the damaged one at a place, and makes it survive loss of power.
func (p *packs) rewrite(raw []byte, at Place) error {
	f, err := p.root.OpenFile(packName(at.Pack), os.O_WRONLY, 0)
	if err != nil {
		return diskErr("mend pack", err)
	}
	_, err = f.WriteAt(raw, at.Off)
	return diskErr("mend pack", errors.Join(err, f.Sync(), f.Close()))
}

// repoint makes all records refer to the frames that replace damaged ones, and writes the deltas over these
// again, when they can be read with the new one.
func (w *healer) repoint(ctx context.Context) error {
	if len(w.moved) == 0 {
		return nil
	}
	c := w.compactor()
	_, deltas, err := c.packUses(ctx)
	if err != nil {
		return err
	}
	depths := map[Place]uint8{}
	to := map[Place]Place{} // bases that deltas can follow
	for _, d := range deltas {
		at, ok := w.moved[d.base]
		if !ok {
			continue
		}
		payload, err := w.packs.payload(w.reader, at)
		if err != nil {
			return err
		}
		if crc32.Checksum(payload, castagnoli) == d.sum {
			to[d.base], depths[d.base] = at, 0
		}
	}
	var follow []*chained
	for _, d := range deltas {
		if _, repaired := w.moved[d.at]; !repaired {
			follow = append(follow, d)
		}
	}
	if _, err := c.copyDeltas(ctx, follow, nil, to, depths); err != nil {
		return err
	}
	maps.Copy(to, w.moved)
	return c.pointTo(nil, to)
}
