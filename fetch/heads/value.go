// SPDX-License-Identifier: Apache-2.0

package heads

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"mirrord/internal/binread"
)

// A value is coded over the value that the base has in its place in the way that is shortest:
//
//	0  text: uvarint length, bytes
//	1  a date as HTTP writes it: zigzag seconds after the base's, which counts as 1970 when it is no date; see
//	   below
//	2  a date that is as much later than the base's as the last date of this head that was coded as 1
//	3  a number, see below
//	4  parts: the value and the base's are words of letters and digits with the same bytes between; one bit for
//	   each word, low bits first: it
//	   differs; those that do, packed. The bits of the first five words are the high ones of the kind
//	5  uvarint bytes at the beginning that are the base's, uvarint those at the end, between them packed text
//
// The number of kinds 1 and 3: its lowest four bits are the high ones of the kind's byte, behind a bit for
// "the rest is not 0, and follows as a uvarint".
//
// Packed text is uvarint length·8 + alphabet, and the characters in bits of the alphabet, low bits first: 0
// bytes, 1 and 2 hexadecimal digits in lower and upper case, 3 base64 for URLs, 4 base64. Instead of an
// alphabet 5 says that the word begins and ends as the base's: the length is how much that is at the
// beginning, 1 byte at the end, and packed text is between.
const (
	valueText = iota
	valueDate
	valueMoved
	valueNumber
	valueParts
	valueMiddle
)

const timeFormat = "Mon, 02 Jan 2006 15:04:05 GMT"

const (
	maxParts   = 64 // words of a value; one with more is coded otherwise
	kindBits   = 3
	partsInOne = 8 - kindBits // bits of words that are in the kind's byte
	overWord   = 5            // in place of an alphabet
)

// alphabets of packed text: bits of a character, and all of them in order.
var alphabets = [...]struct {
	bits  int
	chars string
}{
	hexLower:  {4, "0123456789abcdef"},
	hexUpper:  {4, "0123456789ABCDEF"},
	base64URL: {6, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"},
	base64Std: {6, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"},
}

const (
	hexLower = 1 + iota
	hexUpper
	base64URL
	base64Std
)

// alphabetsWith is the alphabets that have a character, as bits.
func alphabetsWith(c byte) uint {
	switch {
	case c >= '0' && c <= '9':
		return 1<<hexLower | 1<<hexUpper | 1<<base64URL | 1<<base64Std
	case c >= 'a' && c <= 'f':
		return 1<<hexLower | 1<<base64URL | 1<<base64Std
	case c >= 'A' && c <= 'F':
		return 1<<hexUpper | 1<<base64URL | 1<<base64Std
	case isWord(c):
		return 1<<base64URL | 1<<base64Std
	case c == '-' || c == '_':
		return 1 << base64URL
	case c == '+' || c == '/':
		return 1 << base64Std
	}
	return 0
}

// place is the index of a character in an alphabet that has it.
func place(a int, c byte) uint {
	switch {
	case a <= hexUpper && c <= '9':
		return uint(c - '0')
	case a <= hexUpper:
		return uint(c&^0x20-'A') + 10
	case c >= 'a' && c <= 'z':
		return uint(c-'a') + 26
	case c >= 'A' && c <= 'Z':
		return uint(c - 'A')
	case c >= '0' && c <= '9':
		return uint(c-'0') + 52
	case c == '-' || c == '+':
		return 62
	}
	return 63
}

// coder codes the values of one head.
type coder struct {
	moved int64 // by how many seconds the last valueDate differs from the base's
	a, b  []byte
	w     []byte // of a word
}

// value codes s over the base's value.
func (c *coder) value(b []byte, s, base string) []byte {
	if t, ok := date(s); ok {
		was, isDate := date(base)
		if isDate && t-was == c.moved {
			return append(b, valueMoved)
		}
		c.moved = t - was
		return appendKind(b, valueDate, zigzag(t-was))
	}
	if n, ok := number(s); ok {
		return appendKind(b, valueNumber, n)
	}
	c.a = binread.AppendString(append(c.a[:0], valueText), s)
	best := c.a
	if base != "" || len(s) > 3 {
		c.b = appendMiddle(append(c.b[:0], valueMiddle), s, base)
		if len(c.b) < len(best) {
			best = c.b
		}
	}
	start := len(b)
	if parts, ok := c.parts(append(b, valueParts), s, base); ok && len(parts)-start < len(best) {
		return parts
	}
	return append(b[:start], best...)
}

// appendKind writes a kind and its number.
func appendKind(b []byte, kind byte, n uint64) []byte {
	kind |= byte(n&15) << (kindBits + 1)
	if n >>= 4; n == 0 {
		return append(b, kind)
	}
	return binary.AppendUvarint(append(b, kind|1<<kindBits), n)
}

// value reads a value over the base's.
func (d *reader) value(base string) string {
	kind := d.Byte()
	more := kind >> kindBits
	kind &= 1<<kindBits - 1
	var n uint64
	switch kind {
	case valueDate, valueNumber:
		if n = uint64(more >> 1); more&1 != 0 {
			rest := d.Uvarint()
			d.Bad = d.Bad || rest == 0 || rest > math.MaxUint64>>4
			n |= rest << 4
		}
	case valueParts:
	default:
		if more != 0 {
			d.Bad = true
			return ""
		}
	}
	switch kind {
	case valueText:
		return d.string()
	case valueDate:
		was, _ := date(base)
		d.moved = unzigzag(n)
		return d.date(was + d.moved)
	case valueMoved:
		was, ok := date(base)
		if !ok {
			break
		}
		return d.date(was + d.moved)
	case valueNumber:
		return strconv.FormatUint(n, 10)
	case valueParts:
		return d.parts(more, base)
	case valueMiddle:
		pre, post := d.Uvarint(), d.Uvarint()
		if n := uint64(len(base)); pre > n || post > n-pre {
			break
		}
		return base[:pre] + d.packed("") + base[uint64(len(base))-post:]
	}
	d.Bad = true
	return ""
}

// date reads a date that is written as HTTP prefers it (RFC 9110 §5.6.7), in Unix seconds.
func date(s string) (int64, bool) {
	const months = "JanFebMarAprMayJunJulAugSepOctNovDec"
	if len(s) != len(timeFormat) || s[3:5] != ", " || s[7] != ' ' || s[11] != ' ' || s[16] != ' ' ||
		s[19] != ':' || s[22] != ':' || s[25:] != " GMT" {
		return 0, false
	}
	month := strings.Index(months, s[8:11])
	day, year, hour, minute, second := digits(s[5:7]), digits(s[12:16]), digits(s[17:19]), digits(s[20:22]),
		digits(s[23:25])
	if month%3 != 0 || min(day, year, hour, minute, second) < 0 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(year, time.Month(month/3+1), day, hour, minute, second, 0, time.UTC)
	return t.Unix(), t.Day() == day && t.Weekday().String()[:3] == s[:3]
}

// digits reads a number of a fixed width, -1 for other text.
func digits(s string) (n int) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = 10*n + int(s[i]-'0')
	}
	return n
}

// The first and the last date that have a year of four digits, in Unix seconds. Servers that mean "never"
// send the last one.
const (
	firstDate = -62167219200 // Sat, 01 Jan 0000 00:00:00 GMT
	lastDate  = 253402300799 // Fri, 31 Dec 9999 23:59:59 GMT
)

func (d *reader) date(t int64) string {
	if t < firstDate || t > lastDate {
		d.Bad = true
		return ""
	}
	return time.Unix(t, 0).UTC().Format(timeFormat)
}

// number reads a number that has one way to be written.
func number(s string) (uint64, bool) {
	if s == "" || len(s) > 20 || s[0] < '0' || s[0] > '9' || (s[0] == '0' && len(s) > 1) {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

func isWord(c byte) bool {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

// nextWord returns where the first word from i on begins and ends; both are len(s) at the end.
func nextWord(s string, i int) (from, to int) {
	for i < len(s) && !isWord(s[i]) {
		i++
	}
	from = i
	for i < len(s) && isWord(s[i]) {
		i++
	}
	return from, i
}

// parts codes s as valueParts behind that byte; ok is false when it cannot be.
func (c *coder) parts(b []byte, s, base string) (_ []byte, ok bool) {
	n := 0
	kind, rest := len(b)-1, len(b)
	for j := 0; j < len(base); n++ {
		_, j = nextWord(base, j)
	}
	if n > maxParts {
		return b, false
	}
	b = append(b, make([]byte, partBytes(n))...)
	k := 0
	for i, j := 0, 0; i < len(s) || j < len(base); k++ {
		from, to := nextWord(s, i)
		was, end := nextWord(base, j)
		if k == n || s[i:from] != base[j:was] || (from == to) != (was == end) {
			return b, false
		}
		if s[from:to] != base[was:end] {
			if k < partsInOne {
				b[kind] |= 1 << (kindBits + k)
			} else {
				b[rest+(k-partsInOne)/8] |= 1 << ((k - partsInOne) % 8)
			}
			b = c.word(b, s[from:to], base[was:end])
		}
		i, j = to, end
	}
	return b, k == n
}

// partBytes is how many bytes of bits follow the kind for n words.
func partBytes(n int) int { return (max(n-partsInOne, 0) + 7) / 8 }

// word packs a word, over the base's where that is shorter.
func (c *coder) word(b []byte, s, base string) []byte {
	start := len(b)
	b = appendPacked(b, s)
	pre, post := common(s, base)
	if post = min(post, 255); pre+post < 3 {
		return b
	}
	c.w = binary.AppendUvarint(c.w[:0], uint64(pre)<<3|overWord)
	c.w = appendPacked(append(c.w, byte(post)), s[pre:len(s)-post])
	if len(c.w) < len(b)-start {
		return append(b[:start], c.w...)
	}
	return b
}

// common returns how many bytes two texts have in common at the beginning, and beside that at the end.
func common(s, base string) (pre, post int) {
	most := min(len(s), len(base))
	for pre < most && s[pre] == base[pre] {
		pre++
	}
	for post < most-pre && s[len(s)-1-post] == base[len(base)-1-post] {
		post++
	}
	return pre, post
}

func (d *reader) parts(first byte, base string) string {
	n := 0
	for j := 0; j < len(base); n++ {
		_, j = nextWord(base, j)
	}
	rest := d.Take(partBytes(n))
	d.text.Reset()
	for k, j := 0, 0; j < len(base) && !d.Bad; k++ {
		was, end := nextWord(base, j)
		d.text.WriteString(base[j:was])
		bit := first>>k&1 != 0
		if k >= partsInOne {
			bit = rest[(k-partsInOne)/8]>>((k-partsInOne)%8)&1 != 0
		}
		if bit {
			d.text.WriteString(d.packed(base[was:end]))
		} else {
			d.text.WriteString(base[was:end])
		}
		j = end
	}
	return d.text.String()
}

// appendMiddle codes what of s is not the beginning or the end of base.
func appendMiddle(b []byte, s, base string) []byte {
	pre, post := common(s, base)
	b = binary.AppendUvarint(b, uint64(pre))
	b = binary.AppendUvarint(b, uint64(post))
	return appendPacked(b, s[pre:len(s)-post])
}

// appendPacked packs s in the alphabet that takes least.
func appendPacked(b []byte, s string) []byte {
	in := ^uint(0)
	for i := 0; i < len(s) && in != 0; i++ {
		in &= alphabetsWith(s[i])
	}
	if in == 0 || s == "" {
		b = binary.AppendUvarint(b, uint64(len(s))<<3)
		return append(b, s...)
	}
	a := bits.TrailingZeros(in)
	b = binary.AppendUvarint(b, uint64(len(s))<<3|uint64(a))
	acc, have := uint(0), 0
	for i := range len(s) {
		acc |= place(a, s[i]) << have
		for have += alphabets[a].bits; have >= 8; have -= 8 {
			b = append(b, byte(acc))
			acc >>= 8
		}
	}
	if have > 0 {
		b = append(b, byte(acc))
	}
	return b
}

// packed reads packed text, which may be over a word of the base.
func (d *reader) packed(word string) string {
	v := d.Uvarint()
	n, a := v>>3, int(v&7)
	if a == overWord {
		post := int(d.Byte())
		if n > uint64(len(word)) || post > len(word)-int(n) || word == "" {
			d.Bad = true
			return ""
		}
		return word[:n] + d.packed("") + word[len(word)-post:]
	}
	if n > math.MaxInt32 || a >= len(alphabets) {
		d.Bad = true
		return ""
	}
	if a == 0 {
		return d.chars(int(n))
	}
	in := d.Take((int(n)*alphabets[a].bits + 7) / 8)
	if d.Bad {
		return ""
	}
	out := make([]byte, n)
	acc, have, k := uint(0), 0, 0
	for i := range out {
		if have < alphabets[a].bits {
			acc |= uint(in[k]) << have
			have += 8
			k++
		}
		out[i] = alphabets[a].chars[acc&(1<<alphabets[a].bits-1)]
		acc >>= alphabets[a].bits
		have -= alphabets[a].bits
	}
	return string(out)
}
