// SPDX-License-Identifier: Apache-2.0

package replicatest

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"mirrord/internal/charset"
)

// ToUTF16 writes a page in UTF-16, with a byte order mark or without.
func ToUTF16(order binary.AppendByteOrder, mark bool) func([]byte) []byte {
	return func(body []byte) []byte {
		r := charset.Content(body, "")
		if !utf8.Valid(body) && r.Guess && !charset.MostlyUTF8(body) {
			r.Charset = charset.Windows1252()
		}
		runes := []rune(string(r.Decode(body[r.Mark:])))
		if mark {
			runes = append([]rune{0xfeff}, runes...)
		}
		var out []byte
		for _, u := range utf16.Encode(runes) {
			out = order.AppendUint16(out, u)
		}
		return out
	}
}
