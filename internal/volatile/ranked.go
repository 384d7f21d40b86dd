// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// Some lists are in the order of a number that each item shows, and that our own requests change: "most
// viewed". Where a list is so in two answers of any time, the order follows from the numbers: it says nothing
// that these do not say.

// Ranked returns a document with the items of lists in the order that they have in an older one, where both
// documents have them in the order of a number, and that alone explains what moved. What stands between
// items, and their classes where these go by the place, stay where they were.
func Ranked(old, now []byte) []byte {
	if len(old) > MaxBody || len(now) > MaxBody {
		return now
	}
	lists := map[Position]*block{}
	for _, b := range listsOf(old) {
		lists[b.path] = b
	}
	mine, at, out := listsOf(now), len(now), now
	for _, b := range slices.Backward(mine) {
		was := lists[b.path]
		if was == nil || b.to > at {
			continue
		}
		if list := ranked(old[was.from:was.to], now[b.from:b.to]); list != nil {
			out, at = slices.Concat(out[:b.from], list, out[b.to:]), b.from
		}
	}
	return out
}

// leastRanked is how many items a list has at least whose order may follow from a number.
const leastRanked = 3

// SameSegments reports whether two documents have the same tags and texts, in any order, but for numbers and
// tokens.
func SameSegments(old, now []byte) bool {
	var sums [2]uint64
	for i, doc := range [...][]byte{old, now} {
		d := read(doc)
		for k := range d.segs {
			if s := &d.segs[k]; !blank(doc[s.from:s.to]) {
				sums[i] += xxh3.Hash(d.said(s))
			}
		}
	}
	return sums[0] == sums[1]
}

// listsOf returns the elements of which a document has one, with several ones directly in them.
func listsOf(doc []byte) (out []*block) {
	all := blocksOf(doc)
	inner, times := make([]int, len(all)), map[Position]int{}
	for i := range all {
		if times[all[i].path]++; all[i].around >= 0 {
			inner[all[i].around]++
		}
	}
	for i := range all {
		if inner[i] >= leastRanked && times[all[i].path] == 1 {
			out = append(out, &all[i])
		}
	}
	return out
}

// said returns a segment without its numbers and tokens but those of addresses.
func (d *document) said(s *segmentAt) (out []byte) {
	at := s.from
	for _, u := range d.units[s.first:s.last] {
		if !u.leads {
			out, at = append(append(out, d.doc[at:u.from]...), variable), u.to
		}
	}
	return append(out, d.doc[at:s.to]...)
}

// item is one of a list.
type item struct {
	span
	name    uint64         // what it says, but for numbers, tokens and classes
	classes string         // of its elements
	ranks   map[uint64]int // its numbers, each named by its element and the word behind it
}

// rankable returns the items of a list by what they say; nil when two say the same.
func rankable(list []byte) (items []item, by map[uint64]int) {
	by = map[uint64]int{}
	for _, at := range itemsOf(list, elements) {
		x := item{span: at, ranks: map[uint64]int{}}
		d, classes := read(list[at.from:at.to]), []byte(nil)
		var h xxh3.Hasher
		for i := range d.segs {
			s := &d.segs[i]
			said := d.said(s)
			if s.kind == tag {
				class := classOf(d.doc[s.from:s.to])
				classes = append(append(classes, class...), variable)
				said = bytes.ReplaceAll(said, plainClass(said), nil)
			}
			h.Write(said)
			for k := range d.units[s.first:s.last] {
				x.rank(d, s, &d.units[s.first+k])
			}
		}
		x.name, x.classes = h.Sum64(), string(classes)
		if _, twice := by[x.name]; twice {
			return nil, nil
		}
		by[x.name] = len(items)
		items = append(items, x)
	}
	return items, by
}

// classOf returns the classes of a tag.
func classOf(seg []byte) []byte {
	for rest := seg[1:]; len(rest) > 0; {
		name, value, n := nextAttr(rest)
		if rest = rest[n:]; bytes.EqualFold(name, []byte("class")) {
			return value
		}
	}
	return nil
}

// plainClass returns the attribute of a tag that has its classes.
func plainClass(seg []byte) []byte {
	v := classOf(seg)
	if len(v) == 0 {
		return []byte{0}
	}
	i := bytes.Index(seg, v)
	return seg[i : i+len(v)]
}

// rank takes a number of an item.
func (x *item) rank(d *document, s *segmentAt, u *unit) {
	digits := strings.Map(func(r rune) rune {
		if r == ',' || r == '.' {
			return -1
		}
		return r
	}, string(d.of(u)))
	n, err := strconv.Atoi(digits)
	if err != nil || u.leads || u.ages || u.dates {
		return
	}
	start := d.doc[u.tag.from:u.tag.to]
	length, _ := cut(start)
	name, _, _ := nextAttr(start[min(1, len(start)):])
	behind := bytes.TrimLeft(d.doc[u.to:s.to], " ")
	word := behind[:wordEnd(behind, 0)]
	inTag := byte(s.kind)
	named := xxh3.Hash(bytes.Join([][]byte{name, plain(classOf(start[:length])), word, {inTag}}, []byte{0}))
	for _, again := x.ranks[named]; again; _, again = x.ranks[named] {
		named++
	}
	x.ranks[named] = n
}

// ranked returns a list in the order of an older one; nil when numbers do not explain how it differs.
func ranked(old, now []byte) []byte {
	was, by := rankable(old)
	is, at := rankable(now)
	if len(was) < leastRanked || len(was) != len(is) {
		return nil
	}
	order, moved, places := make([]int, len(was)), false, true // for each older item the newer one
	for i := range was {
		k, ok := at[was[i].name]
		if !ok {
			return nil
		}
		order[i], moved, places = k, moved || k != i, places && was[i].classes == is[i].classes
	}
	if !moved || !slices.ContainsFunc(numbers(was), func(n uint64) bool { return explains(was, is, by, n) }) {
		return nil
	}
	var out []byte
	end := 0
	for i, k := range order {
		out = append(out, now[end:is[i].from]...)
		text := now[is[k].from:is[k].to]
		if places {
			text = classed(text, old[was[i].from:was[i].to])
		}
		out, end = append(out, text...), is[i].to
	}
	return append(out, now[end:]...)
}

// numbers returns the names of the numbers that items have.
func numbers(items []item) (out []uint64) {
	for n := range items[0].ranks {
		out = append(out, n)
	}
	for n := range items[len(items)-1].ranks {
		out = append(out, n)
	}
	return out
}

// explains reports whether a number explains the order of two lists: what moved has it, both lists are in its
// order, and items that had the same number both times did not move past one another.
func explains(was, is []item, by map[uint64]int, n uint64) bool {
	type level struct{ then, now int }
	var now []int
	then, last := map[int]int{}, map[level]int{} // by place before; the place before of the last such item
	for i := range is {
		before := by[is[i].name]
		x, ok := is[i].ranks[n]
		y, also := was[before].ranks[n]
		switch {
		case ok && also && before >= last[level{y, x}]:
			last[level{y, x}], then[before], now = before, y, append(now, x)
		case ok && also, before != i:
			return false
		}
	}
	var before []int
	for _, place := range slices.Sorted(maps.Keys(then)) {
		before = append(before, then[place])
	}
	if slices.IsSorted(before) && slices.IsSorted(now) {
		return true
	}
	slices.Reverse(before)
	slices.Reverse(now)
	return slices.IsSorted(before) && slices.IsSorted(now)
}

// classed returns an item with the classes of another one that says the same.
func classed(now, old []byte) (out []byte) {
	d, o := read(now), read(old)
	if len(d.segs) != len(o.segs) {
		return now
	}
	for i := range d.segs {
		seg, had := d.doc[d.segs[i].from:d.segs[i].to], o.doc[o.segs[i].from:o.segs[i].to]
		if d.segs[i].kind == tag && len(classOf(seg)) > 0 {
			seg = bytes.Replace(seg, classOf(seg), classOf(had), 1)
		}
		out = append(out, seg...)
	}
	return out
}
