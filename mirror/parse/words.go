// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/site"
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

// Said finds out what a page says, which is the body that was read last.
func (rd *Reader) Said(body []byte, at site.URL, charset string, w Words) text.Said {
	if rd.sketcher == nil {
		rd.sketcher = text.NewSketcher(text.SketchOptions{})
	}
	switch {
	case w != MarkupText:
		charset = ""
	case charset == "" && rd.doc.CharsetFrom == relocate.FromDocument && rd.doc.Charset == "utf-8":
		charset = "utf-8" // so it is not looked for again
	}
	return rd.sketcher.Said(body, at.RequestURI(), charset, w == MarkupText)
}
