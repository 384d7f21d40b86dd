// SPDX-License-Identifier: Apache-2.0

// Package hosts finds the hosts that mirror one another: an [Inventory] of addresses gives candidate pairs
// from these alone (stage I); [StageTwo.Plan], [Asks] and [StageTwo.Decide] say what to get of a pair and
// what the answers mean: a [Level] (stage II). Who gets them is the caller's affair. [ReadURLs] reads lists
// of addresses.
//
// Source: Bharat, Broder, Mirror, Mirror on the Web (1999).
package hosts

import (
	"cmp"
	"math"
	"slices"
)

// StageOne are the rules by which hosts are compared from URLs alone (Bharat, Broder, section 3.1). The zero
// value is the rule that mirrord uses; Paper is the paper's.
type StageOne struct {
	MinURLs int // unique URLs that a host must have; 0 means 100
	// the paper's samples and features to the letter; else samples are the paths of least hash, and features
	// of many hosts count by stars
	Paper bool

	FirstModulus int // Paper: every so many paths are taken at first; 0 means 5
	FirstDouble  int // Paper: paths after which the modulus doubles for the first time; 0 means 20

	// a feature's position is the index of the bigram in its path, not the depth of its segment
	PositionIsIndex bool

	// leaves kept over all hosts, of 16 bytes each, three times as much for a time; 0 means 8 million. Beyond
	// it, half of them are let go, the same half on every host
	MaxLeaves int
}

func (o StageOne) withDefaults() StageOne {
	o.MinURLs = cmp.Or(o.MinURLs, 100)
	o.FirstModulus = cmp.Or(o.FirstModulus, 5)
	o.FirstDouble = cmp.Or(o.FirstDouble, 20)
	o.MaxLeaves = cmp.Or(o.MaxLeaves, 8<<20)
	return o
}

// The numbers of stage I.
const (
	maxHosts       = 20  // that a feature may be on to be counted in full
	minSample      = 20  // paths of a host of 100 URLs or fewer; in proportion to the square root of more
	minPaths       = 2   // sampled paths of a host that a feature of paths must be in
	minShared      = 2   // features that a pair must have in common,
	minSharedPaths = 1   // and of these such of paths
	hostWeight     = 4   // what a feature of a host counts on as many hosts as have it
	pathWeight     = 1   // the same of a path
	sizeWeight     = 0.1 // by which the logarithm of the sizes of hosts lowers a score
)

// Inventory is a summary of hosts by their URLs: how many, a sample of their paths, and a sample of
// their leaves. In any order, and in parts that are merged later, the same URLs give the same inventory. A
// host takes about 300 bytes and the paths that may be in its sample, each URL 11 to 22 bytes; with Paper it
// keeps every path. Not for concurrent use.
type Inventory struct {
	StageOne
	hosts map[string]*hostURLs
	list  []*hostURLs // by number

	last *hostURLs // of the URL added last

	leaves  []onHost
	leafCut uint64 // leaves of a greater hash are not kept

}

// NewInventory returns an empty inventory.
func NewInventory(o StageOne) *Inventory {
	return &Inventory{
		StageOne: o.withDefaults(),
		hosts:    map[string]*hostURLs{},
		leafCut:  math.MaxUint64,
	}
}

// Hosts is the number of hosts.
func (v *Inventory) Hosts() int { return len(v.list) }

// AddURL takes a URL; ErrNotURL for other bytes.
func (v *Inventory) AddURL(url []byte) error {
	host, path, err := SplitURL(url)
	if err != nil {
		return err
	}
	h := v.host(host)
	h.https = h.https || url[4]|0x20 == 's'
	v.add(h, path)
	return nil
}

// Add takes a path of a host, both as SplitURL returns them.
func (v *Inventory) Add(host, path []byte) { v.add(v.host(host), path) }

func (v *Inventory) add(h *hostURLs, path []byte) {
	if v.Paper {
		h.all = append(h.all, string(path))
		return
	}
	if !v.take(h, path) {
		return
	}
	l := leafOf(path)
	if len(l) == 0 {
		return
	}
	x, shape := pathHash(l), uint32(0)
	if x > v.leafCut {
		return
	}
	if !tells(l) {
		shape = max(1, uint32(pathHash(shapeOf(l))))
	}
	v.leaves = append(v.leaves, onHost{x, h.number, shape})
	v.trimLeaves()
}

func (v *Inventory) host(name []byte) *hostURLs {
	if v.last != nil && v.last.name == string(name) {
		return v.last
	}
	h := v.hosts[string(name)]
	if h == nil {
		h = &hostURLs{
			name:   string(name),
			number: uint32(len(v.list)),
			seen:   map[uint64]struct{}{},
			cut:    math.MaxUint64,
		}
		v.list = append(v.list, h)
		v.hosts[h.name] = h
	}
	v.last = h
	return h
}

// trimLeaves halves the leaves until they are as many as may be, once there may be half as many again. A leaf
// comes once for a host.
func (v *Inventory) trimLeaves() {
	if len(v.leaves) >= v.MaxLeaves+v.MaxLeaves/2 {
		v.finishLeaves()
	}
}

// finishLeaves leaves what depends on nothing but which leaves there were.
func (v *Inventory) finishLeaves() {
	v.leaves = slices.Compact(sortOnHosts(v.leaves))
	for len(v.leaves) > v.MaxLeaves {
		v.leafCut /= 2
		v.leaves = slices.DeleteFunc(v.leaves, func(l onHost) bool { return l.key > v.leafCut })
	}
}
