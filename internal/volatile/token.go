// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"strings"
)

// tokenKind says what a token may be.
type tokenKind uint8

const (
	literal tokenKind = iota
	number            // anything in digits
	when              // a date or time in digits
	month             // in words
	day               // of the week, in words
	clock             // am, pm
	opaque            // hexadecimal or random
	suffix            // the number at the end of a name: web03, mw1423
	ago               // how long ago something was: 3 days
)

// token is b[start:end].
type token struct {
	kind       tokenKind
	start, end int
}

// digits returns the leading digits of a number, without an ordinal's ending.
func (t token) digits(b []byte) []byte {
	n := t.start
	for n < t.end && digit(b[n]) {
		n++
	}
	return b[t.start:n]
}

// form is what must be equal of two tokens that take the same place. That of a date ends with variable.
func (t token) form(b []byte) []byte {
	if t.kind != when {
		return []byte{"?#wmdcosa"[t.kind]}
	}
	f := []byte{'w'}
	for _, c := range b[t.start:t.end] {
		if !digit(c) && (!letter(c) || c == 'T' || c == 'Z') { // not the endings of 3pm and 20th
			f = append(f, c)
		}
	}
	return append(f, variable)
}

// tokenize cuts b into tokens without gaps.
func tokenize(b []byte) (out []token) {
	lit, plain := 0, 0 // nothing random starts before plain
	emit := func(k tokenKind, start, end int) {
		if start > lit {
			out = append(out, token{literal, lit, start})
		}
		out = append(out, token{k, start, end})
		lit = end
	}
	for i := 0; i < len(b); {
		if !wordByte(b[i]) {
			i++
			continue
		}
		end := i
		for end < len(b) && wordByte(b[end]) {
			end++
		}
		if i >= plain {
			n, run := random(b[i:])
			if n >= end-i && n > 0 {
				emit(opaque, i, i+n)
				i += n
				continue
			}
			plain = i + run // what fails as a whole fails in part
		}
		w := b[i:end]
		switch _, from, to := ageAt(b, i); {
		case to > 0:
			emit(ago, from, to)
			end = to
		case digit(w[0]):
			n, isTime := numeral(b[i:])
			switch {
			case n >= len(w) && isTime:
				emit(when, i, i+n)
				end = i + n
			case n >= len(w):
				emit(number, i, i+n)
				end = i + n
			case ordinal(w):
				emit(number, i, end)
			case clockWord(w):
				emit(when, i, end)
			case hexWord(w):
				emit(opaque, i, end)
			}
		case months[strings.ToLower(string(w))]:
			emit(month, i, end)
		case days[strings.ToLower(string(w))]:
			emit(day, i, end)
		case bytes.EqualFold(w, []byte("am")) || bytes.EqualFold(w, []byte("pm")):
			emit(clock, i, end)
		case hexWord(w):
			emit(opaque, i, end)
		default:
			if n := suffixOf(w); n > 0 {
				emit(suffix, end-n, end)
			}
		}
		i = end
	}
	if lit < len(b) {
		out = append(out, token{literal, lit, len(b)})
	}
	return out
}

// wordByte is true for letters, digits, and all bytes beyond ASCII.
func wordByte(c byte) bool { return letter(c) || digit(c) || c >= 0x80 }

// numeral returns the length of the text in digits at the start of b, separators between digits
// included, and whether it is a date or a time: 12:30, 12:30:05.123, 2026-11-20, 20/11/2026, 20.11.2026,
// 2026-11-20T12:30:05Z, 20261120123005, or Unix time.
func numeral(b []byte) (n int, isTime bool) {
	var groups [8]int // lengths
	var seps [8]byte
	g := 0
	for n < len(b) && g < len(groups) {
		start := n
		for n < len(b) && digit(b[n]) {
			n++
		}
		groups[g] = n - start
		g++
		if n+1 >= len(b) || !digit(b[n+1]) || g == len(groups) {
			break
		}
		c := b[n]
		if (c == 'T' && (g != 3 || seps[0] != '-')) || (c != 'T' && strings.IndexByte(".:,/-", c) < 0) {
			break
		}
		seps[g-1] = c
		n++
	}
	if n < len(b) && b[n] == 'Z' && g > 3 {
		n++
	}
	s := string(seps[:max(g-1, 0)])
	switch {
	case g == 1:
		return n, unixTime(b[:n]) || compact(b[:n])
	case strings.HasPrefix(s, "--T:"):
		return n, groups[0] == 4
	case s == "--":
		return n, (groups[0] == 4 && groups[1] <= 2 && groups[2] <= 2) ||
			(groups[2] == 4 && groups[0] <= 2 && groups[1] <= 2)
	case s == "//":
		return n, (groups[0] <= 2 && groups[1] <= 2 && (groups[2] == 2 || groups[2] == 4)) ||
			(groups[0] == 4 && groups[1] <= 2 && groups[2] <= 2)
	case s == "..":
		return n, groups[2] == 4 && groups[0] <= 2 && groups[1] <= 2
	case s == ":", s == "::", s == "::.", s == "::,":
		return n, groups[0] <= 2 && groups[1] == 2 && (s == ":" || groups[2] == 2)
	}
	return n, false
}

// unixTime reports whether digits are a time of 2001 to 2033 in seconds or milliseconds.
func unixTime(d []byte) bool {
	return (len(d) == 10 || len(d) == 13) && d[0] == '1' && digitsIn(d) == len(d)
}

// compact reports whether digits are 20261120 or 20261120123005.
func compact(d []byte) bool {
	return (len(d) == 8 || len(d) == 14) && d[0] == '2' && d[1] == '0' && string(d[4:6]) >= "01" &&
		string(d[4:6]) <= "12" && string(d[6:8]) >= "01" && string(d[6:8]) <= "31"
}

// ordinal reports whether w is 1st, 2nd, 20th.
func ordinal(w []byte) bool {
	n := len(w) - 2
	if n < 1 || n > 2 || !digit(w[0]) || (n == 2 && !digit(w[1])) {
		return false
	}
	switch strings.ToLower(string(w[n:])) {
	case "st", "nd", "rd", "th":
		return true
	}
	return false
}

// clockWord reports whether w is 3pm, 12am.
func clockWord(w []byte) bool {
	n := len(w) - 2
	return n >= 1 && n <= 2 && digit(w[0]) && digit(w[n-1]) &&
		(bytes.EqualFold(w[n:], []byte("am")) || bytes.EqualFold(w[n:], []byte("pm")))
}

// suffixOf returns the length of the number at the end of a word of letters: servers are called so.
func suffixOf(w []byte) int {
	name := bytes.TrimRight(w, "0123456789")
	if len(name) == 0 || len(w)-len(name) > maxSuffix || bytes.ContainsFunc(name, func(r rune) bool {
		return r > 'z' || !letter(byte(r))
	}) {
		return 0
	}
	return len(w) - len(name)
}

const maxSuffix = 6 // digits

// hexWord reports whether w is hexadecimal and long enough not to be a word.
func hexWord(w []byte) bool {
	if len(w) < 8 {
		return false
	}
	digits := 0
	for _, c := range w {
		switch {
		case digit(c):
			digits++
		case c|0x20 < 'a' || c|0x20 > 'f':
			return false
		}
	}
	return digits > 0
}

// random returns the length of the token at the start of b that looks like base64 or a UUID, 0 for none, and
// of all that could belong to one.
func random(b []byte) (n, run int) {
	var upper, lower, digits, dashes int
	hex := true
	for n < len(b) && (letter(b[n]) || digit(b[n]) || strings.IndexByte("+/=_-", b[n]) >= 0) {
		switch c := b[n]; {
		case digit(c):
			digits++
		case 'a' <= c && c <= 'z':
			lower++
			hex = hex && c <= 'f'
		case 'A' <= c && c <= 'Z':
			upper++
			hex = hex && c <= 'F'
		case c == '-':
			dashes++
		default:
			hex = false
		}
		n++
	}
	switch {
	case n == 36 && dashes == 4 && hex && b[8] == '-' && b[13] == '-' && b[18] == '-' && b[23] == '-':
		return n, n
	case n >= 16 && upper > 1 && lower > 1 && digits > 1:
		return n, n
	}
	return 0, n
}
