// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"unicode/utf8"
)

// labels makes strings of the short texts of documents: titles, languages, robots metas.
type labels struct {
	text  []byte            // scratch
	known map[string]string // those of earlier documents
}

// collapse returns text with runs of white space as one space and none at the ends, at most limit bytes, cut
// at a character.
func (t *labels) collapse(b []byte, limit int) string {
	out := t.text[:0]
	for f, rest := word(b); len(f) > 0 && len(out) < limit; f, rest = word(rest) {
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = append(out, f...)
	}
	t.text = out
	if len(out) > limit {
		for out = out[:limit]; len(out) > 0 && !utf8.RuneStart(out[len(out)-1]); {
			out = out[:len(out)-1]
		}
		if len(out) > 0 && out[len(out)-1] >= 0x80 {
			out = out[:len(out)-1]
		}
	}
	if !utf8.Valid(out) {
		out = bytes.ToValidUTF8(out, []byte("\ufffd"))
	}
	return t.intern(out)
}

// internMax bounds the strings kept from one scan to the next.
const internMax = 256

// intern returns b as a string, the same one as last time if it can: titles, languages and robots metas
// repeat.
func (t *labels) intern(b []byte) string {
	if s, ok := t.known[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(t.known) >= internMax {
		clear(t.known)
	}
	if t.known == nil {
		t.known = make(map[string]string)
	}
	t.known[s] = s
	return s
}
