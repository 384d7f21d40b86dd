// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"math"
	"slices"
	"strings"

	"mirrord/replica/hash"
	"mirrord/replica/text"
)

// Terms that say nothing of what a path is about, and terms of URLs that are no documents (Bharat, Broder,
// section 3.1).
func stopTerms() []string {
	return []string{"htm", "html", "txt", "main", "index", "home", "bin", "cgi"}
}
func avoidTerms() []string { return []string{"nph", "dynaweb", "zyview"} }

// term is a word of a host or path.
type term struct {
	text  []byte
	depth int // of its segment, from 0
}

// words takes the terms of paths, one path after the other, in the same memory.
type words struct {
	text  []byte // the path, decoded
	terms []term
}

// Feature is a bigram of a host, or one of a path with its position.
type Feature struct {
	Path     bool
	A, B     string
	Position int // 0 of a host's
}

// hostTerms are the letter runs of a host without its port.
func hostTerms(host string) []string {
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	var out []string
	for i := 0; i < len(host); {
		if !text.IsLetter(host[i]) {
			i++
			continue
		}
		from := i
		for i < len(host) && text.IsLetter(host[i]) {
			i++
		}
		out = append(out, strings.ToLower(host[from:i]))
	}
	return out
}

// of returns the terms of a path: percent-decoded once, runs of letters and of bytes beyond ASCII, in lower
// case. Those of the query belong to the last segment. They are valid until the next call.
func (w *words) of(path []byte) []term {
	text, query := w.text[:0], math.MaxInt
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '?' {
			query = min(query, len(text))
		}
		if c == '%' && i+2 < len(path) {
			if hi, lo := unhex(path[i+1]), unhex(path[i+2]); hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				i += 2
			}
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		text = append(text, c)
	}
	terms, depth := w.terms[:0], -1
	if len(text) == 0 || text[0] != '/' {
		depth = 0
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c == '/' && i < query {
			depth++
		}
		if !isTerm(c) {
			i++
			continue
		}
		from := i
		for i < len(text) && isTerm(text[i]) {
			i++
		}
		terms = append(terms, term{text[from:i], depth})
	}
	w.text, w.terms = text, terms
	return terms
}

func isTerm(c byte) bool { return ('a' <= c && c <= 'z') || c >= 0x80 }

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// HostFeatures are the bigrams of a host, each once, in order.
func HostFeatures(host string) []Feature {
	terms := hostTerms(host)
	var out []Feature
	for i := 1; i < len(terms); i++ {
		out = append(out, Feature{A: terms[i-1], B: terms[i]})
	}
	return sortFeatures(out)
}

// PathFeatures are the bigrams of a path without its stop terms, each once, in order; avoided says that the
// path has a term for which its URL is not sampled.
func PathFeatures(path string, o StageOne) (features []Feature, avoided bool) {
	o = o.withDefaults()
	terms := new(words).of([]byte(path))
	avoided = o.avoids(terms)
	terms = slices.DeleteFunc(terms, func(t term) bool { return t.in(o.Stop) })
	for i := 1; i < len(terms); i++ {
		f := Feature{
			Path:     true,
			A:        string(terms[i-1].text),
			B:        string(terms[i].text),
			Position: terms[i-1].depth,
		}
		if o.PositionIsIndex {
			f.Position = i - 1
		}
		features = append(features, f)
	}
	return sortFeatures(features), avoided
}

func (o StageOne) avoids(terms []term) bool {
	return slices.ContainsFunc(terms, func(t term) bool { return t.in(o.Avoid) })
}

// mayAvoid says whether a path may have a term for which it is avoided: quickly, and not if it has none of
// them as it stands.
func (o StageOne) mayAvoid(path []byte) bool {
	first := uint32(0) // letters that they begin with
	for _, t := range o.Avoid {
		if len(t) == 0 || t[0] < 'a' || t[0] > 'z' {
			return true
		}
		first |= 1 << (t[0] & 31)
	}
	for i, c := range path {
		if c == '%' {
			return true
		}
		if first>>(c&31)&1 == 0 || c < 'A' {
			continue
		}
		for _, t := range o.Avoid {
			if len(path)-i >= len(t) && c|0x20 == t[0] && (len(t) == 1 || path[i+1]|0x20 == t[1]|0x20) {
				return true
			}
		}
	}
	return false
}

func (t term) in(list []string) bool {
	for _, s := range list {
		if string(t.text) == s {
			return true
		}
	}
	return false
}

func sortFeatures(fs []Feature) []Feature {
	slices.SortFunc(fs, func(a, b Feature) int {
		if c := strings.Compare(a.A, b.A); c != 0 {
			return c
		}
		if c := strings.Compare(a.B, b.B); c != 0 {
			return c
		}
		return a.Position - b.Position
	})
	return slices.Compact(fs)
}

// key stands for a feature: 64 bits keep apart what any input has.
func (f Feature) key() uint64 {
	h := featureKey(hash.Token(f.A), hash.Token(f.B), f.Position)
	return h &^ pathBit
}

// Bits of the key of a feature: it is of paths; it is of two words of three letters or more, which is
// rarely by chance.
const pathBit, wordsBit = 1, 2

// isPathKey says whether a key is that of a path's feature.
func isPathKey(key uint64) bool { return key&pathBit != 0 }

func featureKey(a, b uint64, position int) uint64 {
	return hash.Mix(a*hash.RollPrime + b + uint64(position)*hash.TextPrime)
}

// pathKeys appends the keys of the features of a path, each once.
func (v *Inventory) pathKeys(keys []uint64, path []byte) []uint64 {
	first, n := len(keys), 0
	var last uint64
	position, long := 0, false
	for _, t := range v.words.of(path) {
		if t.in(v.Stop) {
			continue
		}
		hash := hash.Token(t.text)
		if n++; n > 1 {
			if v.PositionIsIndex {
				position = n - 2
			}
			k := featureKey(last, hash, position)&^3 | pathBit
			if long && len(t.text) >= 3 {
				k |= wordsBit
			}
			keys = append(keys, k)
		}
		last, position, long = hash, t.depth, len(t.text) >= 3
	}
	slices.Sort(keys[first:])
	return append(keys[:first], slices.Compact(keys[first:])...)
}
