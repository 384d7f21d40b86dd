// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// tag finds the units of a tag's attributes.
func (d *document) tag(s span) {
	seg := d.doc[s.from:s.to]
	if len(seg) < 3 || !letter(seg[1]) {
		return
	}
	var near Position
	if n := len(d.open); n > 0 {
		near = d.open[n-1].near
	}
	var self Position // computed when it is needed
	for at := 1; at < len(seg); {
		name, value, n := nextAttr(seg[at:])
		start := at
		at += n
		if len(value) == 0 {
			continue
		}
		from := s.from + start + bytes.Index(seg[start:at], value)
		if i := bytes.LastIndex(seg[start:at], value); i >= 0 {
			from = s.from + start + i // behind the name, which may be the same
		}
		v := span{from, from + len(value)}
		where := attribute(name)
		leads := where == address || (where != words && leadsTo(value))
		if leads {
			d.leads = append(d.leads, v)
		}
		if !bytes.ContainsAny(value, "0123456789") && len(value) < leastToken {
			continue
		}
		if self == 0 {
			self, _ = d.named(seg, near)
		}
		base, first := hashOf(self, bytes.ToLower(name)), len(d.units)
		if leads {
			d.address(v, s, base)
		} else {
			d.value(v, s, base)
		}
		for i := range d.units[first:] {
			d.units[first+i].fixed = !mayVary(name)
		}
	}
}

// use is what an attribute holds.
type use uint8

const (
	other use = iota
	address
	words
)

func attribute(name []byte) use {
	switch strings.ToLower(string(name)) {
	case "href", "src", "action", "srcset", "poster", "cite", "formaction", "data-src", "data-href", "data":
		return address
	case "title", "alt", "placeholder", "class", "style", "aria-label":
		return words
	}
	return other
}

// leadsTo reports whether the value of an attribute is an address.
func leadsTo(v []byte) bool {
	return bytes.Contains(v, []byte("://")) || (v[0] == '/' && !isBase64(v)) || v[0] == '?' ||
		bytes.HasPrefix(v, []byte("./"))
}

// unit adds a unit.
func (d *document) unit(s, value, where span) *unit {
	d.units = append(d.units, unit{span: s, value: value, tag: where})
	return &d.units[len(d.units)-1]
}

// value finds the units of a value that is not an address: all of it, or its words.
func (d *document) value(v, where span, base Position) {
	if b := d.doc[v.from:v.to]; isNumber(b) || isToken(b) || isLetters(b) {
		d.unit(v, v, where).narrow = base
		return
	}
	d.text(v, where, base, 0, false)
}

// address finds the units of an address: steps of its path, and parameters. A parameter is named by its name,
// all else by how many parts follow.
func (d *document) address(v, where span, base Position) {
	type part struct {
		span
		name []byte
	}
	var parts []part
	b := d.doc[v.from:v.to]
	for i := 0; i <= len(b); {
		j := i
		for j < len(b) && strings.IndexByte("/?&;#, ", b[j]) < 0 {
			j++
		}
		p := part{span: span{v.from + i, v.from + j}}
		if name, _, ok := bytes.Cut(b[i:j], []byte("=")); ok && len(name) > 0 && p.to-p.from > len(name)+1 {
			p.from, p.name = p.from+len(name)+1, name
		}
		if bytes.HasPrefix(b[j:], []byte("&amp;")) {
			j += len("&amp;") - 1
		}
		parts = append(parts, p)
		i = j + 1
	}
	for i, p := range parts {
		w := d.doc[p.from:p.to]
		if !isNumber(w) && !isToken(w) {
			continue
		}
		name := p.name
		if name == nil {
			name = binary.AppendUvarint([]byte{0}, uint64(len(parts)-i))
		}
		u := d.unit(p.span, v, where)
		u.narrow, u.leads = hashOf(base, name), true
	}
}

// raw finds the units of the content of an element without tags.
func (d *document) raw(s span) {
	if o := d.open[len(d.open)-1]; bytes.EqualFold(o.name, []byte("script")) {
		d.script(s, hashOf(0))
		return
	}
	d.prose(s)
}

// prose finds the units of a text that readers see.
func (d *document) prose(s span) {
	if n := len(d.open); n > 0 {
		o := &d.open[n-1]
		wide := Position(0)
		if o.own {
			wide = hashOf(o.self, []byte("text"))
		}
		d.text(s, span{o.tag.from, s.to}, hashOf(o.self, []byte("text")), wide, true)
		return
	}
	d.text(s, s, hashOf(0, []byte("text")), 0, true)
}

// text finds the units of a text: words between others.
func (d *document) text(s, where span, base, wide Position, prose bool) {
	b := d.doc[s.from:s.to]
	first, found, before := len(d.units), 0, d.last
	beside := func() bool { return toldBeside(d.doc[:s.from], d.doc[s.to:]) }
	var next []int // units that want the word behind them
	end := func(w []byte) {
		for _, i := range next {
			d.units[i].narrow = hashOf(d.units[i].narrow, w)
		}
		next = next[:0]
	}
	for i := 0; i < len(b); {
		j := wordEnd(b, i)
		if j == i {
			i++
			continue
		}
		if _, from, to := ageAt(b, i, beside); to > 0 { // it varies by itself, at no position
			end([]byte("#"))
			d.unit(span{s.from + from, s.from + to}, s, where).ages = true
			found++
			i, before = to, []byte("#")
			continue
		}
		if dateKind(b[i:j]) != "" {
			d.unit(span{s.from + i, s.from + j}, s, where).dates = true
		}
		lead, core := coreOf(b[i:j])
		tail := b[i+len(lead)+len(core) : j]
		is := len(core) > 0
		if w := plain(b[i:j]); is {
			end([]byte("#"))
			u := d.unit(span{s.from + i + len(lead), s.from + j - len(tail)}, s, where)
			u.narrow, u.prose = hashOf(base, bytes.ToLower(before), lead, tail), prose
			if u.wide = wide; wide != 0 && len(lead)+len(tail) > 0 {
				u.wide = hashOf(wide, lead, tail)
			}
			found++
			next, before = append(next, len(d.units)-1), []byte("#")
		} else {
			end(w)
			before = w
		}
		i = j
	}
	end(nil)
	if prose && !blank(b) {
		d.last = before
	}
	if wide != 0 && found > mostWide { // a list or a table of numbers
		for i := range d.units[first:] {
			d.units[first+i].wide = 0
		}
	}
}

// mostWide is how many units a text has of which each may vary regardless of the words.
const mostWide = 8

// script finds the units of a script or of data: the values of its members.
func (d *document) script(s span, base Position) {
	b := d.doc[s.from:s.to]
	for i := 0; i < len(b); {
		j := i
		for j < len(b) && strings.IndexByte("\n,;{}[]()", b[j]) < 0 {
			j++
		}
		if j > i {
			d.member(span{s.from + i, s.from + j}, s, base)
		}
		i = j + 1
	}
}

// mostName is how many bytes of a script before ":" or "=" are a name.
const mostName = 48

// member finds the unit of a member of a script: name: value, or name = value.
func (d *document) member(m, s span, base Position) {
	b := d.doc[m.from:m.to]
	where := span{m.from, min(m.to+1, s.to)}
	i := bytes.IndexAny(b, ":=")
	if i < 0 || i > mostName {
		d.text(m, where, hashOf(base, []byte("script")), 0, false)
		return
	}
	name := bytes.Trim(b[:i], " \t\r\n\"'")
	v := b[i+1:]
	from := m.from + i + 1
	for len(v) > 0 && strings.IndexByte(" \t\"'=", v[0]) >= 0 {
		v, from = v[1:], from+1
	}
	v = bytes.TrimRight(v, " \t\r\"'")
	if len(v) == 0 {
		return
	}
	at, key := span{from, from + len(v)}, hashOf(base, []byte("member"), name)
	if leadsTo(v) || bytes.Contains(v, []byte(`:\/\/`)) {
		d.address(at, where, key)
		return
	}
	d.value(at, where, key)
}

// wordEnd returns where the word ends that begins at b[i]; i when none does.
func wordEnd(b []byte, i int) int {
	j := i
	if i == 0 || !inBase64(b[i-1]) {
		for j < len(b) && inBase64(b[j]) {
			j++
		}
		if isBase64(b[i:j]) {
			return j
		}
	}
	for j = i; j < len(b) && partOfWord(b, j); {
		j++
	}
	return j
}

// partOfWord reports whether b[i] belongs to a word: a letter, a digit, or what joins such ones.
func partOfWord(b []byte, i int) bool {
	c := b[i]
	if wordByte(c) || c == '_' {
		return true
	}
	if i == 0 || i+1 == len(b) || !wordByte(b[i-1]) || !wordByte(b[i+1]) {
		return c == '=' && i > 0 && (wordByte(b[i-1]) || b[i-1] == '=') // the end of base64
	}
	return strings.IndexByte(".:-/+,", c) >= 0
}

// coreOf returns what may vary in a word, with what stands before it: all of it, or the number in web03,
// 12ms,
// v1.2. An empty core: nothing does.
func coreOf(w []byte) (lead, core []byte) {
	switch {
	case isNumber(w), len(w) >= longWord && isToken(w):
		return nil, w
	case !bytes.ContainsAny(w, "0123456789"):
		if isToken(w) {
			return nil, w
		}
		return nil, nil
	}
	i := 0
	for i < len(w) && letter(w[i]) {
		i++
	}
	j := len(w)
	for j > i && letter(w[j-1]) {
		j--
	}
	if i <= mostLead && len(w)-j <= mostTail && isNumber(w[i:j]) {
		return w[:i], w[i:j]
	}
	if isToken(w) {
		return nil, w
	}
	return nil, nil
}

// Words of letters and digits.
const (
	leastToken = 6  // bytes of a token
	longWord   = 8  // bytes from which letters before or after a number belong to a token
	mostLead   = 12 // letters before a number
	mostTail   = 4  // letters behind a number

	leastLetters = 8 // bytes of a token without a digit
	leastTurns   = 4 // between capital and small letters in it
)

// isNumber reports whether a word is a number, a date or a time.
func isNumber(w []byte) bool {
	if len(w) > 0 && (w[0] == '-' || w[0] == '+') {
		w = w[1:]
	}
	if len(w) == 0 || len(w) > 40 || !digit(w[0]) || (!digit(w[len(w)-1]) && w[len(w)-1] != 'Z') {
		return false
	}
	return !bytes.ContainsFunc(w, func(r rune) bool {
		return (r < '0' || r > '9') && !strings.ContainsRune(".,:-/+TZ", r)
	})
}

// isToken reports whether a word looks as if it were made for one answer: it has a digit, or capital letters
// inside, or is padded base64. At a position that is known for such ones a number may be one, too.
func isToken(w []byte) bool {
	if len(w) < leastToken {
		return false
	}
	var digits, upper, lower int
	for i, c := range w {
		switch {
		case digit(c):
			digits++
		case 'a' <= c && c <= 'z':
			lower++
		case 'A' <= c && c <= 'Z':
			if i > 0 {
				upper++
			}
		case strings.IndexByte("+/=_-", c) < 0 && (c != '.' || len(w) < longWord):
			return false
		}
	}
	padded := len(w)%4 == 0 && w[len(w)-1] == '='
	return digits > 0 || (upper > 0 && padded) || (upper > 1 && lower > 1 && len(w) >= 16)
}

// isLetters reports whether a value is a token that has no digit, as one of 2 500 hexadecimal ones of eight
// bytes: its end is hexadecimal, or changes between capital and small letters as no word does.
func isLetters(v []byte) bool {
	end := v[bytes.LastIndexAny(v, "-_.")+1:]
	if len(end) < leastLetters {
		return false
	}
	turns := 0
	for i, c := range end {
		if !letter(c) {
			return false
		}
		if i > 0 && c&0x20 != end[i-1]&0x20 {
			turns++
		}
	}
	return isHex(end) || turns >= leastTurns
}

// isBase64 reports whether a value is a long random one in base64, of which one in 64 begins as a path does:
// it has digits and capital letters, and most of its bytes are of another class than the one before. Of
// 727 000 paths of recorded sites one is so.
func isBase64(v []byte) bool {
	if len(v) < leastBase64 || len(v)%4 != 0 {
		return false
	}
	var of [4]int
	turns, before := 0, -1
	for _, c := range v {
		class := 3
		switch {
		case !inBase64(c):
			return false
		case digit(c):
			class = 0
		case 'A' <= c && c <= 'Z':
			class = 1
		case letter(c):
			class = 2
		}
		if of[class]++; class != before {
			turns++
		}
		before = class
	}
	return turns > len(v)*2/5 && of[0] > 0 && of[1] >= len(v)/8
}

func inBase64(c byte) bool { return letter(c) || digit(c) || c == '+' || c == '/' || c == '=' }

// leastBase64 is how many bytes a random value in base64 has at least: 16 bytes, a usual key.
const leastBase64 = 24

// isHex reports whether a word has only hexadecimal digits and dashes, as a UUID has.
func isHex(w []byte) bool {
	return !slices.ContainsFunc(w, func(c byte) bool {
		return !digit(c) && (c|0x20 < 'a' || c|0x20 > 'f') && c != '-'
	})
}
