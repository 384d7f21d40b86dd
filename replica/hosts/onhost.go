// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"iter"
	"slices"
)

// onHost says that a host has a feature or leaf.
type onHost struct {
	key  uint64 // a hash whose bits are spread
	host uint32
	// of a leaf that tells nothing: its shape, a hash of it without its numbers; of a feature of paths: its
	// share of the host's sampled paths, in thousandths
	extra uint32
}

func (a onHost) compare(b onHost) int {
	if a.key != b.key {
		if a.key < b.key {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.host, b.host)
}

// sortOnHosts sorts a list by keys and then hosts, and returns it or one of its size: a radix sort of the
// upper bits, which leaves little to do.
func sortOnHosts(list []onHost) []onHost {
	const bits, mask = 11, 1<<11 - 1
	if len(list) < 1024 {
		slices.SortFunc(list, onHost.compare)
		return list
	}
	var count [2][mask + 1]uint32
	top := uint64(0)
	for _, x := range list {
		top = max(top, x.key)
	}
	shift := 64 - 2*bits
	for shift > 0 && top>>(shift+2*bits-1) == 0 {
		shift--
	}
	for _, x := range list {
		count[0][x.key>>shift&mask]++
		count[1][x.key>>(shift+bits)&mask]++
	}
	from, to := list, make([]onHost, len(list))
	for pass := range count {
		at := uint32(0)
		for i, n := range count[pass] {
			count[pass][i], at = at, at+n
		}
		for _, x := range from {
			place := &count[pass][x.key>>(shift+pass*bits)&mask]
			to[*place] = x
			*place++
		}
		from, to = to, from
	}
	for i := 0; i < len(from); {
		j := i + 1
		for j < len(from) && from[j].key>>shift == from[i].key>>shift {
			j++
		}
		if j-i > 1 {
			slices.SortFunc(from[i:j], onHost.compare)
		}
		i = j
	}
	return from
}

// runs yields the parts of a sorted list that have a key in common.
func runs(list []onHost) iter.Seq[[]onHost] {
	return func(yield func([]onHost) bool) {
		for from := 0; from < len(list); {
			to := from + 1
			for to < len(list) && list[to].key == list[from].key {
				to++
			}
			if !yield(list[from:to]) {
				return
			}
			from = to
		}
	}
}
