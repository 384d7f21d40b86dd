// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// queryEncoder encodes characters for queries as the standard's encoders do (WHATWG Encoding standard). Where
// golang.org/x/text has characters that these leave out, or lacks some, it follows the standard; a test holds
// it against a browser.
type queryEncoder struct {
	charset string
	encoder *encoding.Encoder
	state   stateOf2022
}

// stateOf2022 is a state of ISO-2022-JP: the escape sequence that begins it.
type stateOf2022 string

const (
	initially stateOf2022 = "" // as inASCII
	inASCII   stateOf2022 = "\x1b(B"
	inRoman   stateOf2022 = "\x1b(J"
	inKanji   stateOf2022 = "\x1b$B"
)

// escape changes the state.
func (e *queryEncoder) escape(dst []byte, to stateOf2022) []byte {
	if e.state == to || (e.state == initially && to == inASCII) {
		return dst
	}
	e.state = to
	return appendQueryBytes(dst, []byte(to))
}

func (e *queryEncoder) append(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if e.state != inRoman || r == '\\' || r == '~' {
			dst = e.escape(dst, inASCII)
		}
		return append(dst, byte(r)) // it is escaped when the reference is resolved
	}
	if e.charset == "iso-2022-jp" && (r == '¥' || r == '‾') {
		return append(e.escape(dst, inRoman), yenOrOverline(r))
	}
	out := e.encode(r)
	switch {
	case out == nil:
		return appendReference(e.escape(dst, inASCII), r)
	case e.charset == "iso-2022-jp":
		dst = e.escape(dst, inKanji)
	}
	return appendQueryBytes(dst, out)
}

// yenOrOverline returns where these two stand in what else is ASCII.
func yenOrOverline(r rune) byte {
	if r == '¥' {
		return '\\'
	}
	return '~'
}

// encode returns a character that is not ASCII in the encoding, without escape sequences; nil when the
// encoding lacks it.
func (e *queryEncoder) encode(r rune) []byte {
	switch e.charset {
	case "shift_jis", "euc-jp", "iso-2022-jp":
		return e.encodeJIS(r)
	case "big5":
		if at := strings.IndexRune(big5Twice, r); at >= 0 {
			n := utf8.RuneCountInString(big5Twice[:at])
			return []byte(big5First[2*n : 2*n+2])
		}
	case "gbk", "gb18030":
		if at := strings.IndexRune(gbNewer, r); at >= 0 {
			n := utf8.RuneCountInString(gbNewer[:at])
			return []byte(gbNewerBytes[2*n : 2*n+2])
		}
	}
	out, err := e.encoder.Bytes(utf8.AppendRune(nil, r))
	if err != nil || (e.charset == "big5" && out[0] < 0xa1) { // Hong Kong's additions are only decoded
		return nil
	}
	return out
}

// encodeJIS is encode for the encodings of JIS X 0208.
func (e *queryEncoder) encodeJIS(r rune) []byte {
	switch {
	case r == '¥' || r == '‾':
		return []byte{yenOrOverline(r)}
	case r == '\u2212': // minus sign
		r = '\uff0d'
	case e.charset == "iso-2022-jp" && 0xff61 <= r && r <= 0xff9f: // it has no half-width katakana
		r = []rune(fullKatakana)[r-0xff61]
	}
	out, err := e.encoder.Bytes(utf8.AppendRune(nil, r))
	switch {
	case err != nil:
		return nil
	case e.charset == "euc-jp" && out[0] == 0x8f: // JIS X 0212 is only decoded
		return nil
	case e.charset == "iso-2022-jp":
		out = bytes.TrimSuffix(bytes.TrimPrefix(out, []byte(inKanji)), []byte(inASCII))
		if len(out) != 2 {
			return nil
		}
	case e.charset == "shift_jis" && (out[0] == 0xed || out[0] == 0xee):
		return ibmExtension(out[0], out[1])
	}
	return out
}

// ibmExtension returns the place among IBM's extensions of a character that stands among those that NEC
// selected of them too, which are only decoded.
func ibmExtension(lead, trail byte) []byte {
	pointer := int(lead-0xc1)*188 + int(trail) - 0x40
	if trail > 0x7e {
		pointer--
	}
	const (
		nec   = 8272 // 0xed40, the first kanji
		roman = 8634 // 0xeeef, the small numerals
		signs = 8645 // 0xeefa, broken bar and two quotation marks
		ibm   = 10716
	)
	switch {
	case pointer >= signs:
		pointer += ibm + 21 - signs
	case pointer >= roman:
		pointer += ibm - roman
	default:
		pointer += ibm + 28 - nec
	}
	trail = byte(pointer%188 + 0x40)
	if trail > 0x7e {
		trail++
	}
	return []byte{byte(pointer/188) + 0xc1, trail}
}

// The full-width forms of U+FF61 to U+FF9F (index ISO-2022-JP katakana).
const fullKatakana = "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソ" +
	"タチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜"

// appendQueryBytes appends bytes of an encoded character: the special-query percent-encode set is escaped.
func appendQueryBytes(dst, s []byte) []byte {
	for _, c := range s {
		switch {
		case c <= ' ' || c >= 0x7f, c == '"', c == '#', c == '<', c == '>', c == '\'':
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendReference appends what stands for a character that the encoding lacks.
func appendReference(dst []byte, r rune) []byte {
	dst = append(dst, "%26%23"...)
	return append(strconv.AppendInt(dst, int64(r), 10), "%3B"...)
}

// Characters that golang.org/x/text encodes otherwise, and their two bytes each.
const (
	// of the places that these have in Big5 the standard takes the first one
	big5Twice = "╭╮╯╰〃仝倩偽包卄卿婷幵廴彘撐无晴杞沜渝港煮瑜瓩癶砉"
	big5First = "\xa2\x7e\xa2\xa1\xa2\xa3\xa2\xa2\xa1\xb2\xc6\xdf\xad\xc5\xb0\xb0\xa5\x5d\xa2\xcd\xad\xeb" +
		"\xb4\x40\xc9\xdb\xc6\xcf\xd8\xf4\xbc\xb5\xc6\xd3\xb4\xb8\xa7\xfb\xcb\x58\xb4\xfc\xb4\xe4" +
		"\xb5\x4e\xb7\xec\xa2\x60\xc6\xd5\xcf\xf1"

	// characters of GB 18030 that were private ones before 2022
	gbNewer = "\u1e3f\u9fb4\u9fb5\u9fb6\u9fb7\u9fb8\u9fb9\u9fba\u9fbb" +
		"\ufe10\ufe11\ufe12\ufe13\ufe14\ufe15\ufe16\ufe17\ufe18\ufe19"
	gbNewerBytes = "\xa8\xbc\xfe\x59\xfe\x61\xfe\x66\xfe\x67\xfe\x6d\xfe\x7e\xfe\x90\xfe\xa0" +
		"\xa6\xd9\xa6\xdb\xa6\xda\xa6\xdc\xa6\xdd\xa6\xde\xa6\xdf\xa6\xec\xa6\xed\xa6\xf3"
)
