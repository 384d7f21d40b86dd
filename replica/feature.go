package replica

import (
	"slices"
	"strings"
)

// Terms that say nothing of what a path is about, and terms of URLs that are no documents (Bharat, Broder, section 3.1).
func stopTerms() []string {
	return []string{"htm", "html", "txt", "main", "index", "home", "bin", "cgi"}
}
func avoidTerms() []string { return []string{"nph", "dynaweb", "zyview"} }

// term is a word of a host or path.
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
func hostTerms(host string) []term {
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host = host[:colon]
	}
	var out []term
	for i := 0; i < len(host); {
		if !isLetter(host[i]) {
			i++
			continue
		}
		from := i
		for i < len(host) && isLetter(host[i]) {
			i++
		}
		out = append(out, term{text: strings.ToLower(host[from:i])})
	}
	return out
}

// appendPathTerms appends the terms of a path: percent-decoded once, runs of letters and of bytes beyond ASCII, in lower case.
func appendPathTerms(out []term, path string) []term {
	decoded := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			if hi, lo := unhex(path[i+1]), unhex(path[i+2]); hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				i += 2
			}
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		decoded = append(decoded, c)
	}
	text := string(decoded)
	depth := -1
	if len(text) == 0 || text[0] != '/' {
		depth = 0
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c == '/' {
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
		out = append(out, term{text[from:i], depth})
	}
	return out
}

func isTerm(c byte) bool { return 'a' <= c && c <= 'z' || c >= 0x80 }

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
		out = append(out, Feature{A: terms[i-1].text, B: terms[i].text})
	}
	return sortFeatures(out)
}

// PathFeatures are the bigrams of a path without its stop terms, each once, in order; avoided says that the path has a term for which its
// URL is not sampled.
func PathFeatures(path string, o StageOne) (features []Feature, avoided bool) {
	o = o.withDefaults()
	terms := appendPathTerms(nil, path)
	avoided = o.avoids(terms)
	terms = slices.DeleteFunc(terms, func(t term) bool { return slices.Contains(o.Stop, t.text) })
	for i := 1; i < len(terms); i++ {
		f := Feature{Path: true, A: terms[i-1].text, B: terms[i].text, Position: terms[i-1].depth}
		if o.PositionIsIndex {
			f.Position = i - 1
		}
		features = append(features, f)
	}
	return sortFeatures(features), avoided
}

func (o StageOne) avoids(terms []term) bool {
	return slices.ContainsFunc(terms, func(t term) bool { return slices.Contains(o.Avoid, t.text) })
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
	h := mix(tokenHash(f.A)*rollPrime + tokenHash(f.B) + uint64(f.Position)*textPrime)
	if f.Path {
		return h | 1
	}
	return h &^ 1
}
