// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"mirrord/replica/text"
)

// Marked are two versions of a page in UTF-8, in which the words that the other one has not are elements: del
// in the older, ins in the newer. Their scripts, and what acts like a head of the answer, are left out.
type Marked struct {
	Pages [2][]byte
	Words [2]int // how many are marked
	Cut   bool   // time ran out, or there is too much: nothing is marked
}

// Said is what a page says: a line for each block of its text, after its title unless a line repeats that. A
// body that is no page stays. Its type may have the charset that the answer named.
func Said(b Body) Body {
	if m := mimeType(b); m != "text/html" && m != "application/xhtml+xml" {
		return b
	}
	_, charset, _ := strings.Cut(b.Type, "charset=")
	title, said := text.Page(b.Data, charset, true)
	if !slices.Contains(strings.Split(said, "\n"), title) {
		said = title + "\n" + said
	}
	return Body{Data: []byte(said), Type: "text/plain"}
}

// Mark compares two pages by words. head is what each gets at the start of its head element. ok is false
// when one of them is no page, or too large.
func Mark(a, b Body, head string, o Options) (m Marked, ok bool) {
	var pages [2][]piece
	for i, body := range []Body{a, b} {
		text, isText := decode(body)
		if !isText || !isMarkup(body) || len(body.Data) > MaxBytes {
			return m, false
		}
		pages[i] = pieces(text)
	}
	m.Cut = !compareWords(pages[0], pages[1], o.withDefaults())
	for i, tag := range []string{"del", "ins"} {
		m.Pages[i], m.Words[i] = write(pages[i], tag, head)
	}
	return m, true
}

// piece is a stretch of a page as it is written: a word, or what separates words.
type piece struct {
	raw     string
	word    string // what it says; "" for all but words
	head    bool   // what belongs at the start of the head goes before it
	changed bool
}

// pieces takes a page apart.
func pieces(text string) (out []piece) {
	z := html.NewTokenizer(strings.NewReader(text))
	var within atom.Atom // element whose text is no text of the page
	placed := false      // what belongs into the head
	for {
		kind := z.Next()
		raw := string(z.Raw()) // before the name is read, which changes it
		name, attributes := z.TagName()
		tag := atom.Lookup(name)
		switch {
		case kind == html.ErrorToken:
			return append(out, piece{raw: raw, head: !placed})
		case kind == html.TextToken && within == 0:
			out = append(out, wordsIn(raw, spaceless)...)
			continue
		case within != 0 && kind == html.EndTagToken && tag == within:
			within = 0
		}
		isStart := kind == html.StartTagToken || kind == html.SelfClosingTagToken
		closed := kind == html.SelfClosingTagToken && (tag == atom.Svg || tag == atom.Math) // no other may be
		if within == 0 && isStart && !closed && isOpaque(tag) {
			within = tag
		}
		acts := isStart && (tag == atom.Base || (tag == atom.Meta && attributes && isDirective(z)))
		switch {
		case acts, tag == atom.Script, within == atom.Script:
		case isStart && !placed && tag == atom.Head:
			out, placed = append(out, piece{raw: raw}, piece{head: true}), true
		case isStart && !placed && tag != atom.Html:
			out, placed = append(out, piece{head: true}, piece{raw: raw}), true
		default:
			out = append(out, piece{raw: raw})
		}
	}
}

// isOpaque reports whether the text of an element is not shown as words, or may have no elements in it.
func isOpaque(tag atom.Atom) bool {
	return slices.Contains([]atom.Atom{
		atom.Script, atom.Style, atom.Title, atom.Textarea, atom.Noscript, atom.Iframe,
		atom.Noembed, atom.Noframes, atom.Xmp, atom.Plaintext, atom.Svg, atom.Math,
	}, tag)
}

// isDirective reports whether a meta element sets a field of the head of the answer.
func isDirective(z *html.Tokenizer) bool {
	for more := true; more; {
		var key []byte
		if key, _, more = z.TagAttr(); string(key) == "http-equiv" || string(key) == "charset" {
			return true
		}
	}
	return false
}

// spaceless are the scripts without spaces: in them a character is a word.
func spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// wordsIn parts a text into words and what separates them; some characters are a word each.
func wordsIn(raw string, isWord func(rune) bool) (out []piece) {
	add := func(s string, isWord bool) {
		p := piece{raw: s}
		if isWord {
			p.word = html.UnescapeString(s)
		}
		if s != "" {
			out = append(out, p)
		}
	}
	from, inWord := 0, false
	for i, r := range raw {
		alone := isWord(r)
		if within := !unicode.IsSpace(r); (within == inWord) && !alone {
			continue
		}
		add(raw[from:i], inWord)
		from, inWord = i, !unicode.IsSpace(r)
		if alone {
			from = i + utf8.RuneLen(r)
			add(raw[i:from], true)
			inWord = false
		}
	}
	add(raw[from:], inWord)
	return out
}

// compareWords marks the words that the other page has not. Each word is a line for the library.
func compareWords(a, b []piece, o Options) bool {
	text := func(all []piece) (string, int) {
		var s strings.Builder
		n := 0
		for _, p := range all {
			if p.word != "" {
				s.WriteString(strings.ReplaceAll(p.word, "\n", " ") + "\n")
				n++
			}
		}
		return s.String(), n
	}
	x, n := text(a)
	y, m := text(b)
	if n+m > maxLines {
		return false
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = o.Timeout
	rx, ry, words := dmp.DiffLinesToRunes(x, y)
	defer markBetween(a)
	defer markBetween(b)
	for _, d := range dmp.DiffCharsToLines(dmp.DiffMainRunes(rx, ry, false), words) {
		count := strings.Count(d.Text, "\n")
		if d.Type != diffmatchpatch.DiffInsert {
			a = pass(a, count, d.Type == diffmatchpatch.DiffDelete)
		}
		if d.Type != diffmatchpatch.DiffDelete {
			b = pass(b, count, d.Type == diffmatchpatch.DiffInsert)
		}
	}
	return true
}

// markBetween marks what separates words that are marked.
func markBetween(all []piece) {
	for i := 1; i < len(all)-1; i++ {
		isSpace := all[i].raw != "" && strings.TrimSpace(all[i].raw) == ""
		all[i].changed = all[i].changed || (isSpace && all[i-1].changed && all[i+1].changed)
	}
}

// pass returns the pieces after so many words, each of which is changed or not.
func pass(all []piece, words int, changed bool) []piece {
	i := 0
	for ; words > 0; i++ {
		if all[i].word != "" {
			all[i].changed = changed
			words--
		}
	}
	return all[i:]
}

// write puts a page together. Words that follow one another with nothing but space between are one element.
func write(all []piece, tag, head string) (page []byte, words int) {
	changed := func(i int) bool { return 0 <= i && i < len(all) && all[i].changed }
	var b bytes.Buffer
	for i, p := range all {
		if p.head {
			b.WriteString(head)
		}
		if p.changed && !changed(i-1) {
			b.WriteString("<" + tag + ">")
		}
		b.WriteString(p.raw)
		if p.changed && !changed(i+1) {
			b.WriteString("</" + tag + ">")
		}
		if p.changed && p.word != "" {
			words++
		}
	}
	return b.Bytes(), words
}
