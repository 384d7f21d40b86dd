// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"strings"
	"unicode/utf8"
)

// collapse returns text with runs of white space as one space and none at the ends, at most limit bytes, cut
// at a character.
func collapse(b []byte, limit int) string {
	out := make([]byte, 0, min(len(b), limit))
	for f, rest := word(b); len(f) > 0 && len(out) < limit; f, rest = word(rest) {
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = append(out, f...)
	}
	if len(out) > limit {
		for out = out[:limit]; len(out) > 0 && !utf8.RuneStart(out[len(out)-1]); {
			out = out[:len(out)-1]
		}
		if len(out) > 0 && out[len(out)-1] >= 0x80 {
			out = out[:len(out)-1]
		}
	}
	return strings.ToValidUTF8(string(out), "\ufffd")
}
