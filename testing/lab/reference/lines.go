// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// lineWidth is the width that Lines fills, in characters.
const lineWidth = 72

// Lines re-flows every block of a text to lines of at most 72 characters, filled greedily; a longer word has
// a line of its own. So lines depend on the text and not on the source of the page.
func Lines(text string) []string {
	var out []string
	for block := range strings.SplitSeq(text, "\n") {
		var line []byte
		width := 0
		for word := range strings.FieldsSeq(block) {
			n := utf8.RuneCountInString(word)
			if width > 0 && width+1+n > lineWidth {
				out = append(out, string(line))
				line, width = line[:0], 0
			}
			if width > 0 {
				line = append(line, ' ')
				width++
			}
			line = append(line, word...)
			width += n
		}
		if width > 0 {
			out = append(out, string(bytes.TrimSpace(line)))
		}
	}
	return out
}
