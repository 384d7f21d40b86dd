// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// rewrite writes a frame over the damaged one at a place, and makes it survive loss of power.
func (p *packs) rewrite(raw []byte, at record.Place) error {
	f, err := p.root.OpenFile(packName(at.Pack), os.O_WRONLY, 0)
	if err != nil {
		return disk.Err("mend pack", err)
	}
	_, err = f.WriteAt(raw, at.Off)
	return disk.Err("mend pack", errors.Join(err, f.Sync(), f.Close()))
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
	c.frames.moved = w.moved
	to := maps.Clone(w.moved)
	for _, d := range deltas {
		i := slices.IndexFunc(d.under, func(at record.Place) bool { return w.moved[at].Len > 0 })
		if _, repaired := w.moved[d.at]; repaired || i < 0 {
			continue
		}
		raw, err := c.again(nil, d.at, w.moved[d.under[i]])
		if err == nil && raw != nil {
			to[d.at], err = c.packs.append(raw)
		}
		if err != nil {
			return err
		}
	}
	return c.pointTo(nil, to)
}
