// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"bytes"
	"slices"
	"strings"
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
			if end := bytes.IndexByte(near, '>'); end >= 0 {
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

func blank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

// A template is the segment with each of its parts replaced by variable and a byte that says how it may look.
const variable = 0x01

// part is a piece of a segment that may vary.
type part struct {
	text []byte
	when bool // a date or time; else a number or token
	age       // how long ago something was; the zero value for anything else
}

// segment is one segment, taken apart.
type segment struct {
	kind  kind
	raw   []byte
	norm  []byte
	parts []part
	attrs []attr

	varied int // parts that like found to differ, but for ages
}

// attr is an attribute of a tag.
type attr struct {
	name, value []byte
	first, last int // parts of the value: parts[first:last]
}

// parse takes a segment apart.
func (s *segment) parse(raw []byte, k kind) {
	s.kind, s.raw, s.norm, s.parts, s.attrs = k, raw, s.norm[:0], s.parts[:0], s.attrs[:0]
	s.varied = 0
	if k != tag {
		s.scan(raw)
		return
	}
	for rest := raw; len(rest) > 0; {
		name, value, lead, n := nextAttr(rest)
		s.norm = append(s.norm, lead...)
		s.norm = append(s.norm, name...)
		first := len(s.parts)
		if value != nil {
			s.norm = append(s.norm, '=')
			s.scan(value)
		}
		s.attrs = append(s.attrs, attr{name, value, first, len(s.parts)})
		rest = rest[n:]
	}
}

// nextAttr reads a name, and its value if it has one; lead is what stands before the name. n is at least 1.
func nextAttr(b []byte) (name, value, lead []byte, n int) {
	for n < len(b) && (space(b[n]) || b[n] == '/' || b[n] == '>' || b[n] == '"' || b[n] == '\'' || b[n] == '=') {
		n++
	}
	lead = b[:n]
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
		return name, nil, lead, max(n, 1)
	}
	v++
	for v < len(b) && space(b[v]) {
		v++
	}
	if v < len(b) && (b[v] == '"' || b[v] == '\'') {
		if end := bytes.IndexByte(b[v+1:], b[v]); end >= 0 {
			return name, b[v+1 : v+1+end], lead, v + end + 2
		}
	}
	start = v
	for v < len(b) && !space(b[v]) && b[v] != '>' {
		v++
	}
	return name, b[start:v], lead, max(v, 1)
}

// like reports whether two segments have one template, and differ only in parts that may change by
// themselves. around is what stands near the segment.
func (s *segment) like(t *segment, around []byte, at *Times) bool {
	if !bytes.Equal(s.norm, t.norm) || len(s.parts) != len(t.parts) || len(s.attrs) != len(t.attrs) {
		return false
	}
	if s.kind != tag {
		return !leads(s.raw) && !leads(t.raw) && s.vary(t, 0, len(s.parts), around, at)
	}
	for i := range s.attrs {
		a, b := &s.attrs[i], &t.attrs[i]
		if bytes.Equal(a.value, b.value) {
			continue
		}
		if !mayVary(a.name) || leads(a.value) || leads(b.value) || !s.vary(t, a.first, a.last, around, at) {
			return false
		}
	}
	return true
}

// vary reports whether all parts from first to last that differ may do so.
func (s *segment) vary(t *segment, first, last int, around []byte, at *Times) bool {
	varied, allowed := 0, s.kind == comment
	for i := first; i < last; i++ {
		a, b := &s.parts[i], &t.parts[i]
		if bytes.Equal(a.text, b.text) {
			continue
		}
		if a.unit > 0 {
			if !a.sameMoment(b.age, at.New.Sub(at.Old)) {
				return false
			}
			continue
		}
		if a.when && tellTime(a.text, b.text, at) {
			continue
		}
		s.varied++
		if varied++; varied > maxVaried {
			return false
		}
		if allowed = allowed || (!a.when && counted(around)); !a.when && !allowed {
			return false
		}
	}
	return true
}

// maxVaried is how many parts of one segment may differ: a date with time and zone has six.
const maxVaried = 8

// leads reports whether a text may lead somewhere: then a change of it is one.
func leads(b []byte) bool {
	return bytes.Contains(b, []byte("//")) || bytes.Contains(b, []byte("url")) ||
		bytes.Contains(b, []byte("@import")) || bytes.Contains(b, []byte("www.")) ||
		(len(b) > 0 && (b[0] == '/' || b[0] == '.')) || bytes.Contains(b, []byte(".htm")) ||
		bytes.Contains(b, []byte("src=")) || bytes.Contains(b, []byte("href="))
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
	return []string{"token", "nonce", "csrf", "xsrf", "session", "viewstate", "requestid", "responsetime"}
}

// example writes the segment for a person.
func (s *segment) example() string {
	b := make([]byte, 0, len(s.norm))
	for i := 0; i < len(s.norm); i++ {
		if s.norm[i] != variable {
			b = append(b, s.norm[i])
			continue
		}
		b = append(b, '#')
		if i++; i < len(s.norm) && s.norm[i] == 'w' {
			i += 1 + max(bytes.IndexByte(s.norm[i+1:], variable), 0)
		}
	}
	out := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "?")), " ")
	if len(out) > maxExample {
		out = strings.ToValidUTF8(out[:maxExample], "") + "…"
	}
	return out
}

const maxExample = 60 // bytes

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
func space(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

// scan appends the template of b to s.norm and its parts to s.parts.
func (s *segment) scan(b []byte) {
	tokens := tokenize(b)
	for i, t := range tokens {
		switch {
		case t.kind == literal:
			for _, c := range b[t.start:t.end] { // so that no page can write what stands for a part
				if c == variable {
					c = ' '
				}
				s.norm = append(s.norm, c)
			}
			continue
		case t.kind == number && nearMonth(tokens, i, b):
			t.kind = when
		}
		s.norm = append(s.norm, variable)
		s.norm = append(s.norm, t.form(b)...)
		p := part{text: b[t.start:t.end]}
		p.when = t.kind == when || t.kind == month || t.kind == day || t.kind == clock
		if t.kind == ago {
			p.age, _, _ = ageAt(b, t.start+blanks(b[t.start:]))
		}
		s.parts = append(s.parts, p)
	}
}

// nearMonth reports whether a number is the day or the year of a date with a month in words.
func nearMonth(tokens []token, i int, b []byte) bool {
	n := tokens[i].digits(b)
	if len(n) > 2 && (len(n) != 4 || (n[0] != '1' && n[0] != '2')) {
		return false
	}
	for _, step := range [...]int{-1, 1} {
		for j, seen := i+step, 0; j >= 0 && j < len(tokens) && seen < 2; j += step {
			t := tokens[j]
			if t.kind == month {
				return true
			}
			if t.kind == literal && bytes.ContainsFunc(b[t.start:t.end], func(r rune) bool {
				return r > ' ' && !strings.ContainsRune(",.-", r)
			}) {
				break
			}
			if t.kind != literal {
				seen++
			}
		}
	}
	return false
}

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

// setOf is the set of the words of a text.
func setOf(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}
