// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"maps"
	"slices"

	"mirrord/store/record"
)

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
