// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"unicode/utf8"
)

// view is a text to scan and where each of its bytes came from in the raw document: the document itself, or
// an attribute value or a nested document after its character references or escapes were decoded.
type view struct {
	s       []byte
	m       []int32 // m[i] is the raw offset of s[i], m[len(s)] of the end; nil: off + i
	off     int32
	utf8    bool // s is UTF-8, regardless of the document's charset
	escaped bool // s differs from the raw text
}

// at returns the raw offset of s[i], or of the end of s.
func (v *view) at(i int) int32 {
	if v.m != nil {
		return v.m[i]
	}
	return v.off + int32(i)
}

func (v *view) sub(a, b int) view {
	w := view{
		s:       v.s[a:b:b],
		off:     v.off + int32(a),
		utf8:    v.utf8,
		escaped: v.escaped,
	}
	if v.m != nil {
		w.m = v.m[a : b+1]
	}
	return w
}

// MaxDecoded bounds a value or document that must be decoded with a map of its offsets (5 bytes of memory per
// byte). Longer ones are left alone and the Doc is marked truncated.
const MaxDecoded = 16 << 20

// decoder builds a view from another one. Text goes to the scanner's arena, which lives as long as the Doc;
// so does the map.
type decoder struct {
	sc   *scanner
	v    *view
	text int // start in sc.arena
	pos  int // start in sc.maps
}

func (sc *scanner) newDecoder(v *view) decoder {
	return decoder{
		sc:   sc,
		v:    v,
		text: len(sc.arena),
		pos:  len(sc.maps),
	}
}

// memory is a state of the scanner's buffers of decoded text.
type memory struct{ arena, maps, links int }

func (sc *scanner) mark() memory { return memory{len(sc.arena), len(sc.maps), len(sc.d.Links)} }

// release frees what was decoded since m: the maps, which are not needed once links have their spans, and
// the text, too, if no link found since refers to it.
func (sc *scanner) release(m memory) {
	sc.maps = sc.maps[:m.maps]
	if len(sc.d.Links) == m.links {
		sc.arena = sc.arena[:m.arena]
	}
}

// put adds bytes that were written at v.s[i].
func (d *decoder) put(i int, b ...byte) {
	at := d.v.at(i)
	for _, c := range b {
		d.sc.arena = append(d.sc.arena, c)
		d.sc.maps = append(d.sc.maps, at)
	}
}

func (d *decoder) rune(i int, r rune) {
	var buf [utf8.UTFMax]byte
	d.put(i, buf[:utf8.EncodeRune(buf[:], r)]...)
}

// view returns what was put, whose source ended at v.s[end].
func (d *decoder) view(end int) view {
	d.sc.maps = append(d.sc.maps, d.v.at(end))
	n, k := len(d.sc.arena), len(d.sc.maps)
	return view{
		s:       d.sc.arena[d.text:n:n],
		m:       d.sc.maps[d.pos:k:k],
		utf8:    true,
		escaped: true,
	}
}

// attrText returns the text of an attribute value or of escapable text: character references decoded, line
// ends normalised, in UTF-8 whenever anything had to be decoded or the document's charset is not UTF-8 and
// the value not ASCII.
func (sc *scanner) attrText(v view, xml bool) view {
	foreign := !v.utf8 && !sc.cs.IsUTF8()
	plain := bytes.IndexByte(v.s, '&') < 0 && bytes.IndexByte(v.s, '\r') < 0 && bytes.IndexByte(v.s, 0) < 0
	if plain && (!foreign || ascii(v.s)) {
		return v
	}
	if len(v.s) > MaxDecoded {
		sc.d.Truncated |= BoundText
		return v.sub(0, 0)
	}
	d := sc.newDecoder(&v)
	s := v.s
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '&':
			r1, r2, n := entityAt(s[i:], xml)
			if n == 0 {
				d.put(i, '&')
				i++
				continue
			}
			d.rune(i, r1)
			if r2 != 0 {
				d.rune(i, r2)
			}
			i += n
		case c == '\r':
			d.put(i, '\n')
			if i++; i < len(s) && s[i] == '\n' {
				i++
			}
		case c == 0:
			d.rune(i, utf8.RuneError)
			i++
		case c >= 0x80 && foreign:
			n := sc.cs.Len(s[i:])
			d.put(i, sc.cs.Decode(s[i:i+n])...)
			i += n
		default:
			d.put(i, c)
			i++
		}
	}
	return d.view(len(s))
}

// plainText returns text without character references, such as <style>: it only converts text that is not
// UTF-8 and could be misread bytewise, because a trailing byte may be a backslash.
func (sc *scanner) plainText(v view) view {
	if v.utf8 || sc.cs.IsUTF8() || ascii(v.s) {
		return v
	}
	if len(v.s) > MaxDecoded {
		sc.d.Truncated |= BoundText
		return v.sub(0, 0)
	}
	d := sc.newDecoder(&v)
	for i := 0; i < len(v.s); {
		if c := v.s[i]; c < 0x80 {
			d.put(i, c)
			i++
			continue
		}
		n := sc.cs.Len(v.s[i:])
		d.put(i, sc.cs.Decode(v.s[i:i+n])...)
		i += n
	}
	w := d.view(len(v.s))
	w.escaped = v.escaped
	return w
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
