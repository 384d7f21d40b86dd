// SPDX-License-Identifier: Apache-2.0

package text

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"mirrord/internal/charset"
)

func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsText says whether a body can be text (see [charset.IsText]). Pages that are none have no words.
func IsText(body []byte) bool { return charset.IsText(body) }

// decoded is a body that is UTF-8 or Latin-1.
type decoded struct {
	text   []byte
	latin1 bool
	guess  bool // it is UTF-8 unless there is something in the text that is not, and charset.MostlyUTF8 says no
}

// decode finds how a body is to be read. In UTF-8 an invalid byte counts as a character that is no letter.
// Only other encodings than that and Latin-1 cost a copy.
func decode(body []byte, label string) decoded {
	how := charset.Content(body, label)
	if !how.IsUTF16() && !charset.IsText(body) {
		return decoded{}
	}
	body = body[how.Mark:]
	switch {
	case how.IsUTF8():
		return decoded{text: body, guess: how.Guess}
	case how.Name == "windows-1252":
		return decoded{text: body, latin1: true}
	}
	if out, err := how.Encoding.NewDecoder().Bytes(body); err == nil {
		return decoded{text: out}
	}
	return decoded{text: body, guess: true}
}

// latin1 is the character of a byte beyond ASCII in what says that it is ISO 8859-1, or says nothing: that of
// windows-1252, as browsers have it. What the two have apart are control characters in the former.
func latin1(b byte) rune {
	if b >= 0xa0 {
		return rune(b)
	}
	return charmap.Windows1252.DecodeByte(b)
}

// rune decodes the character at text[i], which is not ASCII. Where that shows that all of the text is to be
// read as Latin-1, from the beginning, again is true.
func (d *decoded) rune(i int) (r rune, size int, again bool) {
	if d.latin1 {
		return latin1(d.text[i]), 1, false
	}
	r, size = utf8.DecodeRune(d.text[i:])
	if d.guess && r == utf8.RuneError && size == 1 {
		d.guess = false
		d.latin1 = !charset.MostlyUTF8(d.text)
		again = d.latin1
	}
	return r, size, again
}
