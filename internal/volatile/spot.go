// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"slices"

	"github.com/zeebo/xxh3"
)

// A Spot is a place of pages: an element with an id or a class, named by a hash of these and of those of the
// elements around it. A quote of the day, a list of articles drawn by lot or an advertisement is another one
// in each answer, which no look at two versions tells from news. Two answers that came within seconds do:
// Apart finds the places at which they differ.
type Spot uint64

// Limits of a place.
const (
	MaxSpots  = 16      // at which two answers differ
	mostSpot  = 8 << 10 // bytes of a place
	mostDepth = 256     // open elements of a document
)

// element is an element with an id or a class.
type element struct {
	path     Spot
	tag      []byte // its start tag
	from, to int    // its content; to is 0 when it has no end tag
}

// small reports whether the content is as short as that of a place may be, in bytes and beside the document.
func (e *element) small(doc []byte) bool {
	n := e.to - e.from
	return (e.to > 0) && (n <= mostSpot) && n <= len(doc)/2
}

// opened is an element whose end tag has not come.
type opened struct {
	name []byte
	path Spot // of the innermost element with an id or a class up to here
	at   int  // of the element in the result, or -1
}

// elements returns the elements of a document with an id or a class, in order.
func elements(doc []byte) (out []element) {
	var open []opened
	for i := 0; i < len(doc); {
		n, k := cut(doc[i:])
		seg := doc[i : i+n]
		i += n
		if (k != tag) || len(seg) < 3 {
			continue
		}
		if seg[1] == '/' {
			name, _, _, _ := nextAttr(seg[2:])
			open = closed(open, name, i-n, out)
			continue
		}
		name, _, _, _ := nextAttr(seg[1:])
		if !letter(seg[1]) || isVoid(name) || bytes.HasSuffix(seg, []byte("/>")) || len(open) == mostDepth {
			continue
		}
		o := opened{name: name, at: -1}
		if len(open) > 0 {
			o.path = open[len(open)-1].path
		}
		if h, ok := tagHash(seg, o.path); ok {
			o.path, o.at = h, len(out)
			out = append(out, element{path: h, tag: seg, from: i})
		}
		if open = append(open, o); isRaw(name) {
			i += rawLen(doc[i:], name)
		}
	}
	return out
}

// closed returns the open elements after an end tag at a position.
func closed(open []opened, name []byte, at int, out []element) []opened {
	for k, o := range slices.Backward(open) {
		if bytes.EqualFold(o.name, name) {
			if o.at >= 0 {
				out[o.at].to = at
			}
			return open[:k]
		}
	}
	return open
}

// tagHash hashes the id and the class of a start tag below a path; ok is false when it has neither.
func tagHash(seg []byte, below Spot) (p Spot, ok bool) {
	var h xxh3.Hasher
	for b := range 8 {
		h.Write([]byte{byte(below >> (8 * b))})
	}
	for rest := seg[1:]; len(rest) > 0; {
		name, value, _, n := nextAttr(rest)
		if (len(value) > 0) && (bytes.EqualFold(name, []byte("id")) || bytes.EqualFold(name, []byte("class"))) {
			h.Write(name)
			h.Write([]byte{variable})
			h.Write(value)
			h.Write([]byte{variable})
			ok = true
		}
		rest = rest[n:]
	}
	return Spot(max(h.Sum64(), 1)), ok
}

func isVoid(name []byte) bool {
	switch string(bytes.ToLower(name)) {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr":
		return true
	}
	return false
}

// isRaw reports whether an element holds text, in which no tags are.
func isRaw(name []byte) bool {
	switch string(bytes.ToLower(name)) {
	case "script", "style", "textarea", "title":
		return true
	}
	return false
}

// rawLen returns how much of b stands before the end tag of an element that holds text.
func rawLen(b, name []byte) int {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("</"))
		if i < 0 {
			return len(b)
		}
		if at += i; len(b)-at-2 >= len(name) && bytes.EqualFold(b[at+2:at+2+len(name)], name) {
			return at
		}
		at += 2
	}
}

// single returns the elements that are the only ones of their path and may be places, by path.
func single(doc []byte, all []element) map[Spot]*element {
	out := make(map[Spot]*element, len(all))
	for i := range all {
		e := &all[i]
		if _, twice := out[e.path]; twice {
			out[e.path] = nil
			continue
		}
		out[e.path] = e
	}
	for p, e := range out {
		if (e == nil) || !e.small(doc) {
			delete(out, p)
		}
	}
	return out
}

// Apart returns the places, at most MaxSpots, at which two answers differ that came within seconds: none
// when they are the same, or differ elsewhere, too, in more than what Compare allows. Of nested places it is
// the innermost one.
func Apart(a, b []byte) (places []Spot) {
	if len(a) > MaxBody || len(b) > MaxBody {
		return nil
	}
	a, b = revealed(a), revealed(b)
	all := elements(a)
	inA, inB := single(a, all), single(b, elements(b))
	var s, t segment
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		n, k := cut(a[i:])
		m, l := cut(b[j:])
		if bytes.Equal(a[i:i+n], b[j:j+m]) {
			i, j = i+n, j+m
			continue
		}
		s.parse(a[i:i+n], k)
		t.parse(b[j:j+m], l)
		if (k == l) && s.like(&t, a[max(0, i-nearBefore):min(len(a), i+n+nearAfter)], 0) {
			i, j = i+n, j+m
			continue
		}
		var in, to *element
		for e := range slices.Values(all) { // the last one that holds i is the innermost
			if e.from > i {
				break
			}
			x, y := inA[e.path], inB[e.path]
			if (x != nil) && (y != nil) && x.to >= i && y.from <= j && y.to >= j {
				in, to = x, y
			}
		}
		if (in == nil) || len(places) == MaxSpots {
			return nil
		}
		places = append(places, in.path)
		i, j = in.to, to.to
	}
	if i < len(a) || j < len(b) {
		return nil
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// Beside returns two bodies without what stands at some places, which are sorted, and the tags of the places
// that one of them has, for a person.
func Beside(old, now []byte, places []Spot) (a, b []byte, tags []string) {
	if len(places) == 0 || len(old) > MaxBody || len(now) > MaxBody {
		return old, now, nil
	}
	a, tags = without(old, places, tags)
	b, tags = without(now, places, tags)
	return a, b, tags
}

// without returns a document without the content of some places.
func without(doc []byte, places []Spot, tags []string) ([]byte, []string) {
	out, done := []byte(nil), 0
	for e := range slices.Values(elements(doc)) {
		if _, is := slices.BinarySearch(places, e.path); !is || e.from < done || !e.small(doc) {
			continue
		}
		out, done = append(out, doc[done:e.from]...), e.to
		mark := segment{norm: e.tag}
		if s := mark.example(); !slices.Contains(tags, s) {
			tags = append(tags, s)
		}
	}
	return append(out, doc[done:]...), tags
}
