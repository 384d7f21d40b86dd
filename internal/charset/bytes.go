// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// textWindow is how far bytes are looked at for being text at all.
const textWindow = 1024

// IsText says whether a body can be text: it has a byte order mark, is UTF-16 without one, or has no NUL
// among its first 1024 bytes.
func IsText(body []byte) bool {
	if _, n := marked(body); n > 0 {
		return true
	}
	if _, ok := unmarkedUTF16(body); ok {
		return true
	}
	return bytes.IndexByte(body[:min(len(body), textWindow)], 0) < 0
}

// MostlyUTF8 says whether more characters of several bytes are UTF-8 than bytes are none.
func MostlyUTF8(b []byte) bool {
	right, wrong := 0, 0
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if i += size; r == utf8.RuneError && size == 1 {
			wrong++
		} else {
			right++
		}
	}
	return right > wrong
}

// unmarkedUTF16 finds UTF-16 that has no byte order mark: every second byte of what comes first is zero, and
// the others are readable.
func unmarkedUTF16(body []byte) (Charset, bool) {
	const looked = 16
	if len(body) < looked || (body[0] != 0 && body[1] != 0) {
		return Charset{}, false
	}
	name, order := "utf-16le", binary.ByteOrder(binary.LittleEndian)
	if body[0] == 0 {
		name, order = "utf-16be", binary.BigEndian
	}
	for i := 0; i < looked; i += 2 {
		c := order.Uint16(body[i:])
		isBlank := c == '\t' || c == '\n' || c == '\r'
		if !isBlank && (c < ' ' || c > '~') {
			return Charset{}, false
		}
	}
	return named(name), true
}
