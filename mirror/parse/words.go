// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"mirrord/relocate"
	"mirrord/replica/text"
)

// Words says how the words of a body are found.
type Words uint8

// The kinds of words.
const (
	NoWords    Words = iota // it is no page
	MarkupText              // HTML
	PlainText
)

// WordsOf says how the words of a body of a format and type are found.
func WordsOf(format relocate.Format, mime string, body []byte) Words {
	switch {
	case format == relocate.HTML && mime == "text/html",
		format == relocate.SVG && mime == "application/xhtml+xml":
		return MarkupText
	case format == relocate.Unknown && mime == "text/plain" && text.IsText(body):
		return PlainText
	}
	return NoWords
}

// Digest makes the digest of the words of a page.
func (rd *Reader) Digest(body []byte, charset string, w Words) text.ContentDigest {
	if rd.sketcher == nil {
		rd.sketcher = text.NewSketcher(text.SketchOptions{})
	}
	if w == MarkupText {
		return rd.sketcher.HTMLIn(body, charset)
	}
	return rd.sketcher.Plain(body)
}
