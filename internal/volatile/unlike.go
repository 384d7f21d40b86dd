// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"slices"
)

// Unlike returns where two documents differ that are the same once they are masked, and the kind of what may
// hide most of that: an edit is more likely among words than in a token, which is another one each time.
func (m *Masked) Unlike(now *Masked) (kind Kind, where []string) {
	values := map[Position][][]byte{}
	for _, h := range m.Hits {
		values[h.Position] = append(values[h.Position], h.Value)
	}
	kind = Token
	hides := [Kinds]int{Number: 1, Order: 2, Region: 3, Gap: 4}
	for i := range now.Hits {
		h := &now.Hits[i]
		was := values[h.Position]
		if len(was) > 0 {
			values[h.Position] = was[1:]
			if bytes.Equal(was[0], h.Value) {
				continue
			}
		}
		if hides[h.kind] > hides[kind] {
			kind = h.kind
		}
		if !slices.Contains(where, h.Where) {
			where = append(where, h.Where)
		}
	}
	return kind, where
}
