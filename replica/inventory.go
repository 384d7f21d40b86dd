package replica

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// StageOne are the rules by which hosts are compared from URLs alone (Bharat, Broder, section 3.1). The zero value is the rule that mirrord
// uses; Paper is the paper's.
type StageOne struct {
	MinURLs  int  // unique URLs that a host must have; 0 means 100
	Paper    bool // the paper's samples and features to the letter; else samples are the paths of least hash, and what is on many hosts counts by stars
	MaxHosts int  // hosts that a feature may be on to be counted in full; 0 means 20

	FirstModulus int // Paper: every so many paths are taken at first; 0 means 5
	FirstDouble  int // Paper: paths after which the modulus doubles for the first time; 0 means 20

	PositionIsIndex bool     // a feature's position is the index of the bigram in its path, not the depth of its segment
	Stop, Avoid     []string // terms left out of paths; terms for which a URL is not sampled; nil means the paper's

	MaxLeaves int // leaves kept over all hosts, of 32 bytes each; 0 means 4 million. Beyond it, half of them are let go, the same half on every host
}

func (o StageOne) withDefaults() StageOne {
	set := func(p *int, n int) {
		if *p <= 0 {
			*p = n
		}
	}
	set(&o.MinURLs, 100)
	set(&o.MaxHosts, 20)
	set(&o.FirstModulus, 5)
	set(&o.FirstDouble, 20)
	set(&o.MaxLeaves, 4<<20)
	if o.Stop == nil {
		o.Stop = stopTerms()
	}
	if o.Avoid == nil {
		o.Avoid = avoidTerms()
	}
	return o
}

// Inventory is what is known of hosts from their URLs: how many, a sample of their paths, and a sample of their leaves. In any order, and
// in parts that are merged later, the same URLs give the same inventory. It takes about 24 bytes a URL; with Paper it keeps every path. Not
// for concurrent use.
type Inventory struct {
	o     StageOne
	hosts map[string]*hostURLs
	names []string // by number

	last     *hostURLs // of the URL added last
	lastName string

	leaves  []leaf
	leafCut uint64 // leaves of a greater hash are not kept
	terms   []term
}

// hostURLs is what is known of one host.
type hostURLs struct {
	number uint32
	hashes []uint64 // of its paths; the first sorted ones in order and unique
	sorted int
	kept   []sampled // the paths of least hash that are known, some more than the sample
	cut    uint64    // paths of a greater hash cannot be among the sample
	all    []string  // Paper: every path
}

type sampled struct {
	hash uint64
	path string
}

// leaf is the hash of the last two segments of a path on a host.
type leaf struct {
	hash uint64
	host uint32
}

// NewInventory returns an empty inventory.
func NewInventory(o StageOne) *Inventory {
	return &Inventory{o: o.withDefaults(), hosts: map[string]*hostURLs{}, leafCut: math.MaxUint64}
}

// Hosts is the number of hosts.
func (v *Inventory) Hosts() int { return len(v.names) }

// AddURL takes a URL; ErrNotURL when it is none.
func (v *Inventory) AddURL(url []byte) error {
	host, path, err := SplitURL(url)
	if err != nil {
		return err
	}
	v.Add(host, path)
	return nil
}

// Add takes a path of a host, both as SplitURL returns them.
func (v *Inventory) Add(host, path []byte) {
	h := v.host(host)
	if v.o.Paper {
		h.all = append(h.all, string(path))
		return
	}
	hash := H(path)
	h.hashes = append(h.hashes, hash)
	if len(h.hashes) >= 2*h.sorted+1024 {
		h.compact()
	}
	if hash <= h.cut {
		h.keep(sampled{hash, string(path)})
	}
	if l := leafOf(path); len(l) > 0 {
		if x := mix(tokenHash(l)); x <= v.leafCut {
			v.leaves = append(v.leaves, leaf{x, h.number})
			v.trimLeaves()
		}
	}
}

func (v *Inventory) host(name []byte) *hostURLs {
	if v.last != nil && v.lastName == string(name) {
		return v.last
	}
	h := v.hosts[string(name)]
	if h == nil {
		h = &hostURLs{number: uint32(len(v.names)), cut: math.MaxUint64}
		v.names = append(v.names, string(name))
		v.hosts[v.names[h.number]] = h
	}
	v.last, v.lastName = h, v.names[h.number]
	return h
}

// Merge takes what another inventory knows, made by the same rules.
func (v *Inventory) Merge(w *Inventory) {
	number := make([]uint32, len(w.names))
	for i, name := range w.names {
		from, to := w.hosts[name], v.host([]byte(name))
		number[i] = to.number
		to.all = append(to.all, from.all...)
		to.hashes = append(to.hashes, from.hashes...)
		to.compact()
		to.cut = min(to.cut, from.cut)
		for _, s := range from.kept {
			to.keep(s)
		}
	}
	v.leafCut = min(v.leafCut, w.leafCut)
	for _, l := range w.leaves {
		v.leaves = append(v.leaves, leaf{l.hash, number[l.host]})
	}
	v.leaves = slices.DeleteFunc(v.leaves, func(l leaf) bool { return l.hash > v.leafCut })
	v.trimLeaves()
}

// leafOf returns the last two segments of a path; nothing of "/" and of a path with a query.
func leafOf(path []byte) []byte {
	if len(path) < 2 || bytes.IndexByte(path, '?') >= 0 {
		return nil
	}
	name := bytes.LastIndexByte(path[:len(path)-1], '/')
	if name < 0 {
		return nil
	}
	dir := bytes.LastIndexByte(path[:name], '/')
	if dir < 0 {
		return path[1:]
	}
	return path[dir+1:]
}

// trimLeaves halves the leaves until they are as many as may be, once there may be twice as many. A leaf comes once for a host.
func (v *Inventory) trimLeaves() {
	if len(v.leaves) >= 2*v.o.MaxLeaves {
		v.finishLeaves()
	}
}

// finishLeaves leaves what depends on nothing but which leaves there were.
func (v *Inventory) finishLeaves() {
	v.sortLeaves()
	for len(v.leaves) > v.o.MaxLeaves {
		v.leafCut /= 2
		v.leaves = slices.DeleteFunc(v.leaves, func(l leaf) bool { return l.hash > v.leafCut })
	}
}

func (v *Inventory) sortLeaves() {
	slices.SortFunc(v.leaves, func(a, b leaf) int {
		if a.hash != b.hash {
			if a.hash < b.hash {
				return -1
			}
			return 1
		}
		return int(a.host) - int(b.host)
	})
	v.leaves = slices.Compact(v.leaves)
}

// compact sorts the hashes and drops what is there twice.
func (h *hostURLs) compact() {
	slices.Sort(h.hashes)
	h.hashes = slices.Compact(h.hashes)
	h.sorted = len(h.hashes)
}

// sampleSize is the size of the sample of a host with n URLs: it grows with the square root, and 20 of 100 are taken.
func sampleSize(n int) int { return max(20, int(20*math.Sqrt(float64(n)/100))) }

// slack is how many times the sample is kept while URLs come in. The sample grows slower than the URLs, so what will be in it is far within.
const slack = 4

// keep takes a path of small hash; from time to time it lets go of those that are not small any more.
func (h *hostURLs) keep(s sampled) {
	if s.hash > h.cut {
		return
	}
	h.kept = append(h.kept, s)
	if len(h.kept) < 2*slack*sampleSize(len(h.hashes)) {
		return
	}
	h.sortKept()
	if most := slack * sampleSize(len(h.hashes)); len(h.kept) > most {
		h.kept = h.kept[:most]
		h.cut = h.kept[most-1].hash
	}
}

func (h *hostURLs) sortKept() {
	slices.SortFunc(h.kept, func(a, b sampled) int {
		if a.hash != b.hash {
			if a.hash < b.hash {
				return -1
			}
			return 1
		}
		return strings.Compare(a.path, b.path)
	})
	h.kept = slices.Compact(h.kept)
}

// finish makes the host's sample and returns it, in ascending order of paths, and its number of unique URLs.
func (v *Inventory) finish(h *hostURLs) (sample []string, n int) {
	if v.o.Paper {
		slices.Sort(h.all)
		h.all = slices.Compact(h.all)
		return v.paperSample(h.all), len(h.all)
	}
	h.compact()
	h.sortKept()
	n = len(h.hashes)
	for _, s := range h.kept {
		if len(sample) == sampleSize(n) {
			break
		}
		if !v.avoided(s.path) {
			sample = append(sample, s.path)
		}
	}
	slices.Sort(sample)
	return sample, n
}

func (v *Inventory) avoided(path string) bool {
	v.terms = appendPathTerms(v.terms[:0], path)
	return v.o.avoids(v.terms)
}

// paperSample takes every path whose hash is divided by m, where m doubles each time that the paths taken have doubled.
func (v *Inventory) paperSample(paths []string) (sample []string) {
	m, next := uint64(v.o.FirstModulus), v.o.FirstDouble
	for _, p := range paths {
		if H(p)%m != 0 || v.avoided(p) {
			continue
		}
		sample = append(sample, p)
		if len(sample) == next {
			m, next = 2*m, 2*next
		}
	}
	return sample
}
