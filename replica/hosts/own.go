// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"slices"

	"mirrord/replica/hash"
)

// Pages of one template resemble one another by what all of them say, and not by what they are about: two
// products of a shop, with 400 words of template around 60 of their own, resemble one another by three
// quarters. What a page says itself is what is left without the template: what several other pages of its
// site say, too.

// Shared returns what at least so many of the pages say.
func Shared(pages []PageBody, least int) hash.Set {
	var all []uint64
	for i := range pages {
		all = append(all, pages[i].shingles...)
	}
	slices.Sort(all)
	var out hash.Set
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n] == all[i] {
			n++
		}
		if n-i >= least {
			out = append(out, all[i])
		}
		i = n
	}
	return out
}

// Agrees reports whether two bodies say the same or nearly, beyond what is shared: high is the least
// resemblance of the rest. A difference of a word is none. Bodies that are no text agree only when they are
// equal.
func (b PageBody) Agrees(c PageBody, shared hash.Set, high float64) bool {
	if b.sum == c.sum {
		return true
	}
	if !b.text || !c.text {
		return false
	}
	x, y := minus(b.shingles, shared), minus(c.shingles, shared)
	both := hash.Common(x, y)
	return len(x)+len(y)-2*both <= 2*b.k || float64(both) >= high*float64(len(x)+len(y)-both)
}

// IsText reports whether the words of a body can be compared.
func (b PageBody) IsText() bool { return b.text }

// minus returns what is in a and not in b.
func minus(a, b hash.Set) hash.Set {
	var out hash.Set
	j := 0
	for _, h := range a {
		for j < len(b) && b[j] < h {
			j++
		}
		if j == len(b) || b[j] != h {
			out = append(out, h)
		}
	}
	return out
}
