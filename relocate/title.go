// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"html"
	"strings"

	"mirrord/internal/charset"
)

// TitleWithin is how many bytes of a page are searched for its title.
const TitleWithin = 64 << 10

// Title returns the title of a page, "" when it has none, at a fraction of the cost of a scan. label is the
// charset of its Content-Type, "" for none.
func Title(page []byte, label string) string {
	head := page[:min(len(page), TitleWithin)]
	c := charset.Content(head, label)
	if c.Transcoded() {
		head, c = c.Decode(head[c.Mark:]), charset.Reading{Guess: true}
	}
	text, ok := titleText(head)
	if !ok {
		return ""
	}
	if c.Guess && c.IsUTF8() && !charset.MostlyUTF8(text) {
		c.Charset = charset.Windows1252()
	}
	plain := html.UnescapeString(string(c.Decode(text)))
	return strings.Join(strings.Fields(strings.ReplaceAll(plain, "\x00", "")), " ")
}

// titleText returns the content of the first title element that neither a comment nor a script has.
func titleText(head []byte) (text []byte, ok bool) {
	for {
		i := bytes.IndexByte(head, '<')
		if i < 0 {
			return nil, false
		}
		switch head = head[i+1:]; {
		case bytes.HasPrefix(head, []byte("!--")):
			_, head, _ = bytes.Cut(head[len("!"):], []byte("-->"))
		case begins(head, "title"):
			if _, head, ok = bytes.Cut(head, []byte(">")); ok {
				text, _, ok = cutFold(head, "</title")
			}
			return text, ok
		case begins(head, "script"):
			_, head, _ = cutFold(head, "</script")
		case begins(head, "style"):
			_, head, _ = cutFold(head, "</style")
		}
	}
}

// begins reports whether a tag without its "<" is one of a name, which is given in lower case.
func begins(tag []byte, name string) bool {
	if len(tag) <= len(name) || !strings.EqualFold(string(tag[:len(name)]), name) {
		return false
	}
	c := tag[len(name)]
	return space(c) || c == '>' || c == '/'
}

// cutFold cuts b at a word in ASCII letters of any case, which is given in lower case.
func cutFold(b []byte, word string) (before, after []byte, found bool) {
	for i := 0; ; i++ {
		k := bytes.IndexByte(b[i:], word[0])
		if k < 0 || i+k+len(word) > len(b) {
			return b, nil, false
		}
		i += k
		if strings.EqualFold(string(b[i:i+len(word)]), word) {
			return b[:i], b[i+len(word):], true
		}
	}
}
