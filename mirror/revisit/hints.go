// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"mirrord/mirror/urls"
)

// HintsFact is where a site keeps how often the hints of each source came true.
const HintsFact = "hints"

// hint is a URL of which a source says something else than when it was last found unchanged.
type hint struct {
	id   uint32
	from uint32 // the document that says so, or fromKind
}

// fromKind stands for all sources of a kind.
func fromKind(k urls.EvidenceKind) uint32 { return math.MaxUint32 - uint32(k) }

// hints wait to be followed, as long as those of their source come true.
type hints struct {
	list   []hint
	open   map[uint32]uint32 // handed out, and the outcome is not known yet: by URL the source
	of     map[uint32]worth  // by source
	all    worth
	trials int // of this run
}

// worth is how often hints came true. In JSON it is two numbers.
type worth [2]int

const (
	told = iota
	hit
)

const (
	// The record of all sources counts for each as much as so many of its own hints.
	hintPrior = 2
	// A source that was told of so many has half of its past forgotten.
	hintMemory = 64
	// So many hints of sources that do not pay are followed in a run, so that one that has become right is found
	// out.
	hintTrials = 2
	// So many sources are remembered.
	mostHinting = 1024
)

func newHints(fact []byte) hints {
	h := hints{open: map[uint32]uint32{}, of: map[uint32]worth{}}
	if json.Unmarshal(fact, &h.of) != nil { // or there is no fact: it begins again
		clear(h.of)
	}
	for _, w := range h.of {
		h.all = worth{h.all[told] + w[told], h.all[hit] + w[hit]}
	}
	return h
}

// chance is the chance that a hint of a source comes true: the square of the share that did, as with names
// (package policy), since some come true by themselves. After one in thirty a source is worth a request in a
// thousand.
func (h *hints) chance(from uint32) float64 {
	all := (float64(h.all[hit]) + 1) / (float64(h.all[told]) + 2)
	w := h.of[from]
	x := (float64(w[hit]) + hintPrior*all) / (float64(w[told]) + hintPrior)
	return x * x
}

// trusts reports whether most hints of a source came true.
func (h *hints) trusts(from uint32) bool {
	w := h.of[from]
	return w[told] > 0 && 2*w[hit] >= w[told]
}

// take returns at most n hints that are worth a price, of URLs that are not in met, and puts them there.
func (h *hints) take(n int, price float64, met *urls.IDSet) (out []hint) {
	for len(out) < n && len(h.list) > 0 {
		x := h.list[0]
		h.list = h.list[1:]
		if met.Has(x.id) {
			continue
		}
		if h.chance(x.from) < price {
			if h.trials == hintTrials {
				continue
			}
			h.trials++
		}
		met.Put(x.id, true)
		h.open[x.id] = x.from
		out = append(out, x)
	}
	return out
}

// tell takes the outcome of a URL, and reports whether it was requested for a hint.
func (h *hints) tell(id uint32, changed bool) (is bool) {
	from, is := h.open[id]
	if !is {
		return false
	}
	delete(h.open, id)
	w := h.of[from]
	w[told], h.all[told] = w[told]+1, h.all[told]+1
	if changed {
		w[hit], h.all[hit] = w[hit]+1, h.all[hit]+1
	}
	h.of[from] = w
	return true
}

// fact returns the value to remember.
func (h *hints) fact() ([]byte, error) {
	keep := map[uint32]worth{}
	often := slices.SortedFunc(maps.Keys(h.of), func(a, b uint32) int {
		return cmp.Or(cmp.Compare(h.of[b][told], h.of[a][told]), cmp.Compare(a, b))
	})
	for _, from := range often[:min(len(often), mostHinting)] {
		w := h.of[from]
		if w[told] >= hintMemory {
			w = worth{w[told] / 2, w[hit] / 2}
		}
		keep[from] = w
	}
	return json.Marshal(keep)
}
