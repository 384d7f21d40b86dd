// SPDX-License-Identifier: Apache-2.0

package spare

// hints are URLs of which a source of evidence says something else than when they were last found unchanged.
type hints struct {
	ids       []uint32
	open      map[uint32]bool // handed out, and the outcome is not known yet
	told, hit int
}

// A source whose hints seldom come true, because it says something new in every run, is not followed further:
// after so many hints, when fewer than one of so many changed.
const (
	hintsTried = 32
	hintsShare = 8
)

// take returns at most n hints that are worth following.
func (h *hints) take(n int) (out []uint32) {
	if h.told >= hintsTried && h.hit*hintsShare < h.told {
		h.ids = nil
	}
	n = min(n, len(h.ids))
	out, h.ids = h.ids[:n], h.ids[n:]
	for _, id := range out {
		h.open[id] = true
	}
	return out
}

// tell takes the outcome of a URL.
func (h *hints) tell(id uint32, changed bool) {
	if !h.open[id] {
		return
	}
	delete(h.open, id)
	h.told++
	if changed {
		h.hit++
	}
}
