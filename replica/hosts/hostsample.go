// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"mirrord/replica/hash"
)

// hostURLs is the inventory of one host.
type hostURLs struct {
	name   string
	number uint32
	https  bool                // a URL of it was one of https
	seen   map[uint64]struct{} // fast hashes of all paths
	kept   []keptPath          // that may be in the sample
	cut    uint64              // paths of a greater H cannot be
	all    []string            // Paper: every path
}

// keptPath is a path with its H.
type keptPath struct {
	hash uint64
	path string
}

// sampleSize is the size of the sample of a host with n URLs.
func sampleSize(n int) int {
	return max(minSample, int(minSample*math.Sqrt(float64(n)/100)))
}

// slack is how many times the sample is kept at least. The sample grows slower than the URLs, so what will be
// in it is far within.
const slack = 2

// take counts a path and keeps it when it may be in the sample; false when the host has it already.
func (v *Inventory) take(h *hostURLs, path []byte) bool {
	x := pathHash(path)
	if _, had := h.seen[x]; had {
		return false
	}
	h.seen[x] = struct{}{}
	if y := hash.H(path); y <= h.cut && !avoided(string(path)) {
		h.kept = append(h.kept, keptPath{y, string(path)})
		if most := slack * sampleSize(len(h.seen)); len(h.kept) >= 2*most {
			h.kept = h.least(most)
			h.cut = h.kept[most-1].hash
		}
	}
	return true
}

// least are the first of the paths that are kept, most at most.
func (h *hostURLs) least(most int) []keptPath {
	slices.SortFunc(h.kept, func(a, b keptPath) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.path, b.path))
	})
	return h.kept[:min(len(h.kept), most)]
}

// finish returns the sample of a host, sorted, and the number of its URLs.
func (v *Inventory) finish(h *hostURLs) (sample []string, n int) {
	if v.Paper {
		slices.Sort(h.all)
		h.all = slices.Compact(h.all)
		return v.paperSample(h.all), len(h.all)
	}
	for _, k := range h.least(sampleSize(len(h.seen))) {
		sample = append(sample, k.path)
	}
	slices.Sort(sample)
	return sample, len(h.seen)
}

func avoided(path string) bool { return slices.ContainsFunc(termsOf(path), term.isAvoided) }

// paperSample takes every path whose hash is divided by m, where m doubles each time that the paths taken
// have doubled.
func (v *Inventory) paperSample(paths []string) (sample []string) {
	m, next := uint64(v.FirstModulus), v.FirstDouble
	for _, p := range paths {
		if hash.H(p)%m != 0 || avoided(p) {
			continue
		}
		sample = append(sample, p)
		if len(sample) == next {
			m, next = 2*m, 2*next
		}
	}
	return sample
}
