// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"slices"
	"strings"
)

// kind of a segment.
type kind uint8

const (
	text kind = iota
	tag
	comment
	script
)

// mostTag is how many bytes a tag or comment has at most; longer ones count as text. So many "<" without
// an end do not take the square of the time.
const mostTag = 32 << 10

// cut returns the length and the kind of the first segment of b, which is not empty.
func cut(b []byte) (int, kind) {
	if b[0] == '<' && len(b) > 1 {
		near := b[:min(len(b), mostTag)]
		switch {
		case bytes.HasPrefix(b, []byte("<!--")):
			if end := bytes.Index(near[4:], []byte("-->")); end >= 0 {
				return 4 + end + 3, comment
			}
		case letter(b[1]) || b[1] == '/' || b[1] == '!' || b[1] == '?':
			if end := bytes.IndexByte(near, '>'); end >= 0 && !isMail(near[1:end]) {
				return end + 1, tag
			}
		}
	}
	for i, c := range b {
		if c == '\n' {
			return i + 1, text
		}
		if c == '<' && i > 0 {
			return i, text
		}
	}
	return len(b), text
}

// isMail reports whether what stands between < and > is an address, as in mails that a program packs: it
// opens no element.
func isMail(b []byte) bool {
	at := bytes.IndexAny(b, "@ \"'=/\n")
	return at >= 0 && b[at] == '@'
}

func blank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

// nextAttr reads a name, and its value if it has one. n is at least 1.
func nextAttr(b []byte) (name, value []byte, n int) {
	for n < len(b) && (space(b[n]) || b[n] == '/' || b[n] == '>' || b[n] == '"' || b[n] == '\'' || b[n] == '=') {
		n++
	}
	start := n
	for n < len(b) && !space(b[n]) && b[n] != '=' && b[n] != '>' && b[n] != '/' {
		n++
	}
	name = b[start:n]
	v := n
	for v < len(b) && space(b[v]) {
		v++
	}
	if v >= len(b) || b[v] != '=' {
		return name, nil, max(n, 1)
	}
	v++
	for v < len(b) && space(b[v]) {
		v++
	}
	if v < len(b) && (b[v] == '"' || b[v] == '\'') {
		if end := bytes.IndexByte(b[v+1:], b[v]); end >= 0 {
			return name, b[v+1 : v+1+end], v + end + 2
		}
	}
	start = v
	for v < len(b) && !space(b[v]) && b[v] != '>' {
		v++
	}
	return name, b[start:v], max(v, 1)
}

// leads reports whether a text may lead somewhere: then a change of it is one.
func leads(b []byte) bool {
	return !isBase64(b) && (bytes.Contains(b, []byte("//")) || bytes.Contains(b, []byte("url")) ||
		bytes.Contains(b, []byte("@import")) || bytes.Contains(b, []byte("www.")) ||
		(len(b) > 0 && (b[0] == '/' || b[0] == '.')) || bytes.Contains(b, []byte(".htm")) ||
		bytes.Contains(b, []byte("src=")) || bytes.Contains(b, []byte("href=")))
}

// mayVary reports whether an attribute holds nothing that leads somewhere or is shown as something else.
func mayVary(name []byte) bool {
	n := strings.ToLower(string(name))
	switch n {
	case "nonce", "value", "content", "datetime", "title":
		return true
	}
	return strings.HasPrefix(n, "data-") && !strings.Contains(n, "src") && !strings.Contains(n, "href") &&
		!strings.Contains(n, "url")
}

// counted reports whether the text around a number or token says that it is a counter, a timing, or made for
// one answer.
func counted(around []byte) bool {
	for w := range bytes.FieldsFuncSeq(bytes.ToLower(around), func(r rune) bool { return r < 'a' || r > 'z' }) {
		word := string(w)
		if counters[word] || slices.ContainsFunc(marks(), func(part string) bool {
			return strings.Contains(word, part)
		}) {
			return true
		}
	}
	return false
}

// marks are parts of words that stand beside values made for one answer.
func marks() []string {
	return []string{"token", "nonce", "csrf", "xsrf", "session", "viewstate", "requestid", "responsetime",
		"cputime", "walltime"}
}

const maxExample = 60 // bytes

// wordByte is true for letters, digits, and all bytes beyond ASCII.
func wordByte(c byte) bool { return letter(c) || digit(c) || c >= 0x80 }

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
func space(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

// The names of months and days that servers write, and words beside counters and timings.
var (
	counters = setOf(`
		visit visits visitor visitors hits views counter generated rendered served elapsed took seconds
		sec secs ms msec milliseconds queries besucher zugriffe visiteurs visitas timestamp`)
	months = setOf(`
		january february march april may june july august september october november december jan feb
		mar apr jun jul aug sep sept oct nov dec januar februar mai juni juli oktober dezember okt dez
		janvier mars avril juin juillet septembre octobre novembre enero febrero marzo abril mayo junio
		julio agosto septiembre octubre noviembre diciembre`)
	days = setOf(`
		monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat
		sun montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi
		vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo`)
)

// dateKind says what a word of a date is, "" for another word.
func dateKind(w []byte) string {
	var room [12]byte
	if len(w) > len(room) {
		return ""
	}
	for i, c := range w {
		if room[i] = c; 'A' <= c && c <= 'Z' {
			room[i] |= 0x20
		}
	}
	switch word := room[:len(w)]; {
	case months[string(word)]:
		return "month"
	case days[string(word)]:
		return "day"
	case string(word) == "am", string(word) == "pm":
		return "half of a day"
	}
	return ""
}

// setOf is the set of the words of a text.
func setOf(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}
