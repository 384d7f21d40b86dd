// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"slices"

	"mirrord/replica/hash"
)

// Pages of one template resemble one another by what all of them say, and not by what they are about: two
// products of a shop, with 400 words of template around 60 of their own, resemble one another by three
// quarters. A page's own text is the remainder without the template: what several other pages of its
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

// templateFew is the number of pages below which what one of them says counts as template; of more, two must
// say it.
const templateFew = 3

// Template returns what the pages around one say, which tells nothing about the page.
func Template(around []PageBody) hash.Set {
	if len(around) < templateFew {
		return Shared(around, 1)
	}
	return Shared(around, 2)
}

// Kinship is what a second page is to a first one, by what both say beyond their template.
type Kinship uint8

const (
	Unlike Kinship = iota // it says something else
	Alike                 // what differs is a small part
	Cut                   // it says a part of what the first says, or lacks its end or a part of its middle
	Grown                 // it says what the first says, and more
	Empty                 // both say nothing but their template
)

// Of two pages of which one holds the other.
const (
	held     = 0.9 // share of what the shorter one says that the longer one says
	shorter  = 0.9 // length of the shorter one by that of the longer one, at most
	cutLeast = 0.1 // …, at least: of a page with nothing but a sentence of another one nothing is said
)

// Kin returns the kinship of a second page to this one beyond shared shingles: high is the least resemblance
// of the rest of pages that are alike. A difference of a word does not count where the rest has more than
// that word. Bodies that are no text are alike only when they are equal.
func (b PageBody) Kin(c PageBody, shared hash.Set, high float64) Kinship {
	if b.sum == c.sum {
		return Alike
	}
	if !b.text || !c.text {
		return Unlike
	}
	x, y := minus(b.shingles, shared), minus(c.shingles, shared)
	both := hash.Common(x, y)
	kin := Unlike
	switch {
	case len(x)+len(y) == 0:
		return Empty
	case len(x)+len(y)-2*both <= 2*b.k && both >= b.k:
		kin = Alike
	case b.holds(x, y, both):
		return Cut
	case c.holds(y, x, both):
		kin = Grown
	case float64(both) >= high*float64(len(x)+len(y)-both):
		kin = Alike
	default:
		return Unlike
	}
	was, is := own(b.list, shared), own(c.list, shared)
	switch {
	case lossOf(was, is, b.k).isPart(was, b.k) || endsWithin(b.list, c.list, b.k):
		return Cut
	case kin == Alike && (lossOf(is, was, b.k).isPart(is, b.k) || endsWithin(c.list, b.list, b.k)):
		return Grown
	}
	return kin
}

// holds reports whether what another page says, y, is a part of what this one says, x: much less of it.
func (b PageBody) holds(x, y hash.Set, both int) bool {
	n, m := float64(len(x)), float64(len(y))
	return float64(both) >= held*m && m >= cutLeast*n && len(y) >= b.k && m < shorter*n
}

// mostly reports whether the longer of two bodies has most of what the shorter one says, template or not.
func (b PageBody) mostly(c PageBody) bool {
	return float64(hash.Common(b.shingles, c.shingles)) >= held*float64(min(len(b.shingles), len(c.shingles)))
}

// hasTrace reports whether another body says anything of what this one says itself.
func (b PageBody) hasTrace(c PageBody, shared hash.Set) bool {
	return hash.Common(minus(b.shingles, shared), minus(c.shingles, shared)) > 0
}

func has(s hash.Set, h uint64) bool {
	_, ok := slices.BinarySearch(s, h)
	return ok
}

// IsText reports whether the words of a body can be compared.
func (b PageBody) IsText() bool { return b.text }

// minus returns the hashes of a that are not in b.
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
