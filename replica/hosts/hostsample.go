// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"mirrord/replica/hash"
)

// hostURLs is the inventory of one host.
type hostURLs struct {
	name   string
	number uint32
	n      int // unique URLs

	// The paths that may be in the sample. While these are all paths their hashes are the fast ones, by which
	// the paths of small hosts are distinguished without a set: most hosts of a list never have URLs enough,
	// and H is dear.
	kept   []keptPath
	text   []byte // of the kept paths
	hashed bool   // kept has H(path), and perhaps only the least
	https  bool   // a URL of it was one of https
	cut    uint64 // paths of a greater H cannot be in the sample

	set hashSet  // fast hashes of all paths, when they are more than maxLooked
	all []string // Paper: every path
}

// keptPath is a path of a host, a part of the host's bytes.
type keptPath struct {
	hash   uint64
	at     int
	size   int32
	vetted bool // not avoided
}

func (h *hostURLs) path(k keptPath) []byte { return h.text[k.at : k.at+int(k.size)] }

// sampleSize is the size of the sample of a host with n URLs.
func (o StageOne) sampleSize(n int) int {
	return max(o.Sample, int(float64(o.Sample)*math.Sqrt(float64(n)/100)))
}

const (
	// times the sample that is kept at least. The sample grows slower than the URLs, so what will be in it is
	// far within
	slack     = 2
	maxLooked = 16  // paths that are looked through one by one for whether one is there
	maxLazy   = 128 // paths that are kept, at most, before H is used
)

// take counts a path and keeps it when it may be in the sample; false when the host has it already.
func (v *Inventory) take(h *hostURLs, path []byte) bool {
	x := pathHash(path)
	if !h.insert(x) {
		return false
	}
	h.n++
	if !h.hashed {
		h.keep(x, path)
		if len(h.kept) == maxLazy {
			v.hash(h)
			v.trim(h)
		}
		return true
	}
	if x := hash.H(path); x <= h.cut {
		h.keep(x, path)
		v.trim(h)
	}
	return true
}

// insert says whether a path of this fast hash is new, and notes it.
func (h *hostURLs) insert(x uint64) bool {
	if h.set.n > 0 {
		return h.set.add(x)
	}
	for i := range h.kept {
		if h.kept[i].hash == x {
			return false
		}
	}
	if len(h.kept) >= maxLooked {
		h.fillSet()
		h.set.add(x)
	}
	return true
}

// fillSet makes the set of the paths that are kept.
func (h *hostURLs) fillSet() {
	for _, k := range h.kept {
		h.set.add(k.hash)
	}
}

func (h *hostURLs) keep(hash uint64, path []byte) {
	h.kept = append(h.kept, keptPath{hash: hash, at: len(h.text), size: int32(len(path))})
	h.text = append(h.text, path...)
}

// hash replaces the fast hashes by H.
func (v *Inventory) hash(h *hostURLs) {
	if h.hashed {
		return
	}
	if h.set.n == 0 {
		h.fillSet()
	}
	for i := range h.kept {
		h.kept[i].hash = hash.H(h.path(h.kept[i]))
	}
	h.hashed = true
}

// trim drops paths whose hash is no longer small, once they are twice as many as must be kept.
func (v *Inventory) trim(h *hostURLs) {
	most := slack * v.sampleSize(h.n)
	if len(h.kept) < 2*most {
		return
	}
	kept := v.least(h, h.kept, most)
	if len(kept) == most {
		h.cut = kept[most-1].hash
	}
	h.repack(kept)
}

// least returns those of least hash that are not avoided, in order, as many as there are up to most. It works
// in the list given.
func (v *Inventory) least(h *hostURLs, list []keptPath, most int) []keptPath {
	slices.SortFunc(list, h.compare)
	out := list[:0]
	for _, k := range list {
		if len(out) == most {
			break
		}
		if k.vetted || !v.avoided(h.path(k)) {
			k.vetted = true
			out = append(out, k)
		}
	}
	return out
}

// repack keeps these paths only.
func (h *hostURLs) repack(kept []keptPath) {
	size := 0
	for _, k := range kept {
		size += int(k.size)
	}
	text := make([]byte, 0, size+size/2)
	for i, k := range kept {
		kept[i].at = len(text)
		text = append(text, h.path(k)...)
	}
	h.kept, h.text = kept, text
}

func (h *hostURLs) compare(a, b keptPath) int {
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	return bytes.Compare(h.path(a), h.path(b))
}

// finish returns the host's sample, in ascending order of paths, and its number of unique URLs.
func (v *Inventory) finish(h *hostURLs) (sample []string, n int) {
	if v.Paper {
		slices.Sort(h.all)
		h.all = slices.Compact(h.all)
		return v.paperSample(h.all), len(h.all)
	}
	kept := slices.Clone(h.kept)
	if !h.hashed {
		for i, k := range kept {
			kept[i].hash = hash.H(h.path(k))
		}
	}
	for _, k := range v.least(h, kept, v.sampleSize(h.n)) {
		sample = append(sample, string(h.path(k)))
	}
	slices.Sort(sample)
	return sample, h.n
}

func (v *Inventory) avoided(path []byte) bool {
	return v.mayAvoid(path) && v.avoids(v.words.of(path))
}

// paperSample takes every path whose hash is divided by m, where m doubles each time that the paths taken
// have doubled.
func (v *Inventory) paperSample(paths []string) (sample []string) {
	m, next := uint64(v.FirstModulus), v.FirstDouble
	for _, p := range paths {
		if hash.H(p)%m != 0 || v.avoided([]byte(p)) {
			continue
		}
		sample = append(sample, p)
		if len(sample) == next {
			m, next = 2*m, 2*next
		}
	}
	return sample
}
