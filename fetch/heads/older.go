// SPDX-License-Identifier: Apache-2.0

package heads

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mirrord/internal/binread"
)

// Until site format 9 a head was coded alone or over another one, its base:
//
//	flags   1 byte: 1 normalised, 2 a status line follows, 4 a list of fields follows
//	status  uvarint length, bytes; absent when it is the base's
//	fields  without flag 4: one bit for each field of the base, low bits first: its value differs; the values
//	        that do;
//	        with flag 4: uvarint count; for each field
//	            uvarint 0, name (uvarint length, bytes) and value: a name that the base does not have here
//	            uvarint 1 + 2·zigzag(i - expected) + same: the name of the base's field i, expected is the one
//	                after the last one named; its value, unless same is 1
//	value   1 byte, whose lowest three bits are its kind:
//	        0  text: uvarint length, bytes
//	        1  a date: zigzag seconds after the base's, which counts as 1970 when it is no date
//	        2  a date that is as much later than the base's as the last one of kind 1
//	        3  a number
//	        4  parts: the base's words of letters and digits, of which those with a bit set are packed text.
//
// The
//
//	   bits of the first five words are in the first byte, the others follow
//	5  uvarint bytes at the beginning that are the base's, uvarint those at the end, packed text
//
// between
//
// The numbers of kinds 1 and 3: the highest four bits of the byte are the lowest ones, and bit 3 says that
// the others follow as a uvarint.
//
// Packed text is uvarint length·8 + alphabet, and the characters in bits of the alphabet, low bits first: 0
// bytes, 1 and 2 hexadecimal digits, 3 and 4 base64. Instead of an alphabet 5 says that the word begins and
// ends as the base's: the length is how much that is at the beginning, 1 byte at the end, and packed text is
// between.
const (
	olderStatus = 2
	olderFields = 4
	dateFormat  = "Mon, 02 Jan 2006 15:04:05 GMT"
)

// olderReader reads such a head.
type olderReader struct {
	binread.Reader
	room  int   // bytes that the head may still have
	moved int64 // by how many seconds the last date that was told differs from the base's
}

// DecodeOlder reads a head that an older version coded over base, nil for none. What comes from a file may be
// damaged: no more memory is taken than MaxSize allows.
func DecodeOlder(b []byte, base *Head) (*Head, error) {
	if base == nil {
		base = new(Head)
	}
	d := olderReader{Reader: binread.Sharing(b), room: MaxSize}
	flags := d.Byte()
	h := &Head{Status: base.Status, Normalised: flags&flagNormalised != 0}
	if flags&olderStatus != 0 {
		h.Status = d.Text()
	}
	d.room -= len(h.Status)
	add := func(f Field, reads bool) {
		if reads {
			f.Value = d.value(f.Value)
		}
		h.Fields = append(h.Fields, f)
		d.room -= len(f.Name) + len(f.Value)
	}
	if flags&olderFields == 0 {
		bits := d.Take((len(base.Fields) + 7) / 8)
		for i := 0; i < len(base.Fields) && !d.Bad; i++ {
			add(base.Fields[i], bits[i/8]&(1<<(i%8)) != 0)
		}
	} else {
		expected := 0
		for n := d.Uvarint(); n > 0 && !d.Bad && d.room >= 0; n-- {
			ref := d.Uvarint()
			if ref == 0 {
				add(Field{Name: d.Text()}, true)
				continue
			}
			i := int64(expected) + unzigzag((ref-1)/2)
			if i < 0 || i >= int64(len(base.Fields)) {
				d.Fail()
				break
			}
			expected = int(i) + 1
			add(base.Fields[i], ref%2 == 1)
		}
	}
	if d.Bad || d.room < 0 || len(d.Rest) > 0 || flags >= plainHead {
		return nil, fmt.Errorf("coded head: %w", errMalformed)
	}
	return h, nil
}

func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// value reads a value over the base's.
func (d *olderReader) value(base string) string {
	first := d.Byte()
	kind := first & 7
	n := uint64(first >> 4)
	if (kind == 1 || kind == 3) && first&8 != 0 {
		n |= d.Uvarint() << 4
	}
	switch kind {
	case 0:
		return d.Text()
	case 1:
		d.moved = unzigzag(n)
		fallthrough
	case 2:
		was := int64(0)
		if t, err := time.Parse(dateFormat, base); err == nil && t.Format(dateFormat) == base {
			was = t.Unix()
		}
		t := time.Unix(was+d.moved, 0).UTC()
		if d.Bad = d.Bad || t.Year() < 0 || t.Year() > 9999; !d.Bad {
			return t.Format(dateFormat)
		}
	case 3:
		return strconv.FormatUint(n, 10)
	case 4:
		return d.parts(first>>3, base)
	case 5:
		pre, post := d.Uvarint(), d.Uvarint()
		if n := uint64(len(base)); pre <= n && post <= n-pre {
			return base[:pre] + d.packed("") + base[n-post:]
		}
		d.Fail()
	default:
		d.Fail()
	}
	return ""
}

// nextWord returns where the first word from i on begins and ends; both are len(s) at the end.
func nextWord(s string, i int) (from, to int) {
	isWord := func(c byte) bool {
		lower := c | 0x20
		return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z')
	}
	for i < len(s) && !isWord(s[i]) {
		i++
	}
	from = i
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return from, i
}

func (d *olderReader) parts(first byte, base string) string {
	const inFirst = 5
	n := 0
	for j := 0; j < len(base); n++ {
		_, j = nextWord(base, j)
	}
	rest := d.Take((max(n-inFirst, 0) + 7) / 8)
	var text strings.Builder
	for k, j := 0, 0; j < len(base) && !d.Bad; k++ {
		was, end := nextWord(base, j)
		text.WriteString(base[j:was])
		differs := first>>k&1 != 0
		if i := k - inFirst; i >= 0 {
			differs = rest[i/8]>>(i%8)&1 != 0
		}
		if differs {
			text.WriteString(d.packed(base[was:end]))
		} else {
			text.WriteString(base[was:end])
		}
		j = end
	}
	return text.String()
}

// packed reads packed text, which may be over a word of the base.
func (d *olderReader) packed(word string) string {
	const upper, lower, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"
	alphabets := [...]string{1: digits + "abcdef", digits + "ABCDEF", upper + lower + digits + "-_",
		upper + lower + digits + "+/"}
	v := d.Uvarint()
	n, a := v>>3, int(v&7)
	switch {
	case a == len(alphabets):
		post := uint64(d.Byte())
		if n > uint64(len(word)) || post > uint64(len(word))-n || word == "" {
			d.Fail()
			return ""
		}
		return word[:n] + d.packed("") + word[uint64(len(word))-post:]
	case a > len(alphabets) || n > MaxSize:
		d.Fail()
		return ""
	case a == 0:
		return string(d.Take(int(n)))
	}
	bits := 4
	if a > 2 {
		bits = 6
	}
	in := d.Take((int(n)*bits + 7) / 8)
	if d.Bad {
		return ""
	}
	out := make([]byte, n)
	for i := range out {
		at := i * bits
		c := uint(in[at/8]) >> (at % 8)
		if at%8+bits > 8 {
			c |= uint(in[at/8+1]) << (8 - at%8)
		}
		out[i] = alphabets[a][c&(1<<bits-1)]
	}
	return string(out)
}
