// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"slices"
	"strings"

	"mirrord/replica/hash"
	"mirrord/site"
)

// term is a word of a path.
type term struct {
	text  string
	depth int // of its segment, from 0
}

// Feature is a bigram of a host, or one of a path with its position.
type Feature struct {
	Path     bool
	A, B     string
	Position int // 0 of a host's
}

// hostTerms are the letter runs of a host without its port.
func hostTerms(host string) []string {
	return strings.FieldsFunc(strings.ToLower(hostname(host)), func(r rune) bool { return r < 'a' || r > 'z' })
}

// termsOf are the terms of a path: percent-decoded once, runs of letters and of bytes beyond ASCII, in lower
// case. Those of the query belong to the last segment.
func termsOf(path string) (out []term) {
	head, query, _ := strings.Cut(path, "?")
	segments, depth := strings.Split(site.Unescape(head), "/"), 0
	if segments[0] == "" && len(segments) > 1 {
		depth = -1
	}
	add := func(s string) {
		b := []byte(s)
		for i, c := range b {
			if 'A' <= c && c <= 'Z' {
				b[i] |= 0x20
			}
		}
		for w := range strings.FieldsFuncSeq(string(b), func(r rune) bool { return r < 0x80 && !isTerm(byte(r)) }) {
			out = append(out, term{w, depth})
		}
	}
	for i, s := range segments {
		if i > 0 {
			depth++
		}
		add(s)
	}
	add(site.Unescape(query))
	return out
}

func isTerm(c byte) bool { return ('a' <= c && c <= 'z') || c >= 0x80 }

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
	terms := termsOf(path)
	avoided = slices.ContainsFunc(terms, term.isAvoided)
	terms = slices.DeleteFunc(terms, term.isStop)
	for i := 1; i < len(terms); i++ {
		f := Feature{
			Path:     true,
			A:        terms[i-1].text,
			B:        terms[i].text,
			Position: terms[i-1].depth,
		}
		if o.PositionIsIndex {
			f.Position = i - 1
		}
		features = append(features, f)
	}
	return sortFeatures(features), avoided
}

// isStop reports whether a term says nothing of what a path is about (Bharat, Broder, section 3.1).
func (t term) isStop() bool {
	return slices.Contains([]string{"htm", "html", "txt", "main", "index", "home", "bin", "cgi"}, t.text)
}

// isAvoided reports whether a term is one of URLs that are no documents (the same).
func (t term) isAvoided() bool { return slices.Contains([]string{"nph", "dynaweb", "zyview"}, t.text) }

func sortFeatures(fs []Feature) []Feature {
	slices.SortFunc(fs, func(a, b Feature) int {
		return cmp.Or(strings.Compare(a.A, b.A), strings.Compare(a.B, b.B), cmp.Compare(a.Position, b.Position))
	})
	return slices.Compact(fs)
}

// Bits of the key of a feature: it is of paths; it is of two words of three letters or more, which is
// rarely by chance.
const pathBit, wordsBit = 1, 2

// isPathKey says whether a key is that of a path's feature.
func isPathKey(key uint64) bool { return key&pathBit != 0 }

// key stands for a feature: 62 bits keep apart what any input has.
func (f Feature) key() uint64 {
	position := uint64(f.Position) * hash.TextPrime
	k := hash.Mix(hash.Token(f.A)*hash.RollPrime+hash.Token(f.B)+position) &^ (pathBit | wordsBit)
	if f.Path {
		k |= pathBit
	}
	if min(len(f.A), len(f.B)) >= 3 {
		k |= wordsBit
	}
	return k
}
