// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"math"
	"math/bits"
	"strings"

	"mirrord/replica/hash"
)

// maxDepth is the depth of directories below which they are not distinguished: endless directories must not
// take endless memory. Deeper ones count for those above them.
const maxDepth = 64

// dirTotals count the pages below directories. The pages are gone through once, and while there are more
// directories than limit, a second time: the first time says roughly which have at least least pages, the
// second counts these. Directories that are many have few pages each.
type dirTotals struct {
	least int
	limit int
	total map[uint64]uint32 // by the key of the directory
	// once there are too many: pages at least, by some bits of the key; those of several directories may fall
	// together
	rough []uint8
	exact bool // second time

	host, dir string // of the pages of which the last n are not counted yet
	n         uint32
}

func newDirTotals(least, limit int) dirTotals {
	return dirTotals{least: min(least, math.MaxUint8), limit: limit, total: map[uint64]uint32{}}
}

// add counts a page in all directories above it.
func (t *dirTotals) add(a Address) {
	if dir := dirOf(a.Path); a.Host != t.host || dir != t.dir || t.n == 0 {
		t.settle()
		t.host, t.dir = a.Host, dir
	}
	t.n++
}

// settle counts what add did not yet.
func (t *dirTotals) settle() {
	if t.n > 0 {
		eachDir(t.host, t.dir, t.count)
		t.n = 0
	}
}

// again says that the pages are about to be gone through a second time; false when that need not be.
func (t *dirTotals) again() bool {
	t.settle()
	t.exact = t.rough != nil
	return t.exact
}

func (t *dirTotals) count(key uint64) {
	switch {
	case t.rough == nil:
		t.total[key] += t.n
		if len(t.total) > t.limit {
			t.coarsen()
		}
	case t.exact:
		if int(t.rough[key&uint64(len(t.rough)-1)]) >= t.least {
			t.total[key] += t.n
		}
	default:
		t.roughly(key, t.n)
	}
}

func (t *dirTotals) roughly(key uint64, n uint32) {
	p := &t.rough[key&uint64(len(t.rough)-1)]
	*p = uint8(min(uint64(*p)+uint64(n), math.MaxUint8))
}

// coarsen continues with rough counts, in about as much memory as the others took.
func (t *dirTotals) coarsen() {
	t.rough = make([]uint8, 1<<bits.Len(uint(t.limit)*32))
	for key, n := range t.total {
		t.roughly(key, n)
	}
	t.total = map[uint64]uint32{}
}

// below is how many pages there are below a directory, if at least least.
func (t *dirTotals) below(a Address) int { return t.of(a.key()) }

func (t *dirTotals) of(key uint64) int { return int(t.total[key]) }

// eachDir calls f with the keys of the directories above a page of a directory.
func eachDir(host, dir string, f func(key uint64)) {
	at, h := hash.Token(host)*hash.RollPrime, uint64(hash.TokenSeed)
	if !strings.HasPrefix(dir, "/") {
		f(hash.Mix(at + hash.EndToken(h)))
	}
	for i, depth := 0, 0; i < len(dir) && depth < maxDepth; i++ {
		if h = (h ^ uint64(dir[i])) * hash.TokenPrime; dir[i] == '/' {
			f(hash.Mix(at + hash.EndToken(h)))
			depth++
		}
	}
}

func (a Address) key() uint64 { return dirKey(hash.Token(a.Host), a.Path) }

func dirKey(host uint64, dir string) uint64 { return hash.Mix(host*hash.RollPrime + hash.Token(dir)) }

// tooDeep says whether the pages below a directory are not counted.
func tooDeep(dir string) bool { return len(dir) > maxDepth && strings.Count(dir, "/") > maxDepth }
