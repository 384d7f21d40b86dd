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
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.host, b.host))
}

// sortOnHosts sorts a list by keys and then hosts, and returns it.
func sortOnHosts(list []onHost) []onHost {
	slices.SortFunc(list, onHost.compare)
	return list
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
