// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Limits of the comparison by lines. Beyond them two files are only reported as different.
const (
	MaxBytes = 8 << 20 // of each file
	// of both; the library has a character for each distinct line, and there are about 1.1 million characters
	maxLines   = 500_000
	maxRefined = 200                   // stretches of lines in which the changed words are looked for
	refineTime = 10 * time.Millisecond // for one of them
)

// Body is one side of a comparison.
type Body struct {
	Data []byte
	Type string // MIME type
}

// Options say how pages are compared. The zero value is good.
type Options struct {
	Context int           // unchanged lines around a change; default 3, negative: none
	Timeout time.Duration // after which the rest counts as changed; default 5 s
}

func (o Options) withDefaults() Options {
	switch {
	case o.Context == 0:
		o.Context = 3
	case o.Context < 0:
		o.Context = 0
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	return o
}

// Page is the difference of two pages.
type Page struct {
	Binary bool `json:"binary,omitempty"`    // no text: they differ, that is all
	Large  bool `json:"too_large,omitempty"` // too much to be compared line by line
	// time ran out: more is marked as changed than did change. Set by callers with a clock
	Cut     bool   `json:"cut,omitempty"`
	Added   int    `json:"added"` // lines
	Removed int    `json:"removed"`
	Hunks   []Hunk `json:"hunks,omitempty"`
}

// Hunk is a stretch of lines around changes. Lines are counted from 1, as they are shown: those of markup are
// broken at tags.
type Hunk struct {
	OldStart int    `json:"old_start"`
	OldLines int    `json:"old_lines"`
	NewStart int    `json:"new_start"`
	NewLines int    `json:"new_lines"`
	Lines    []Line `json:"lines"`
}

// Line is one line: Op is ' ' for both versions, '-' for the older and '+' for the newer one.
type Line struct {
	Op    string `json:"op"`
	Spans []Span `json:"spans"` // the text in pieces
}

// Span is a piece of a line. Changed marks what the other version has not, where that could be told within
// the line.
type Span struct {
	Text    string `json:"text"`
	Changed bool   `json:"changed,omitempty"`
}

// Text is the whole line.
func (l *Line) Text() string {
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Pages compares two pages.
func Pages(a, b Body, o Options) *Page {
	o = o.withDefaults()
	p := new(Page)
	if bytes.Equal(a.Data, b.Data) {
		return p
	}
	if len(a.Data) > MaxBytes || len(b.Data) > MaxBytes {
		p.Large = true
		return p
	}
	x, okX := decode(a)
	y, okY := decode(b)
	if !okX || !okY {
		p.Binary = true
		return p
	}
	x, y = split(x, isMarkup(a)), split(y, isMarkup(b))
	if strings.Count(x, "\n")+strings.Count(y, "\n") > maxLines {
		p.Large = true
		return p
	}
	p.hunks(lineDiff(x, y, o.Timeout), o.Context)
	return p
}

// lineDiff compares texts line by line: every distinct line is one character for the library, so that its
// work depends on the number of lines alone. Each line ends in a newline.
func lineDiff(x, y string, timeout time.Duration) []Line {
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = timeout
	rx, ry, all := dmp.DiffLinesToRunes(x, y)
	diffs := dmp.DiffCharsToLines(dmp.DiffMainRunes(rx, ry, false), all)
	var out []Line
	var before, after []string // of one change
	flush := func() {
		out = append(out, pair(before, after)...)
		before, after = nil, nil
	}
	for _, d := range diffs {
		lines := strings.Split(strings.TrimSuffix(d.Text, "\n"), "\n")
		switch {
		case d.Text == "":
		case d.Type == diffmatchpatch.DiffDelete:
			before = append(before, lines...)
		case d.Type == diffmatchpatch.DiffInsert:
			after = append(after, lines...)
		default:
			flush()
			for _, l := range lines {
				out = append(out, Line{" ", []Span{{Text: l}}})
			}
		}
	}
	flush()
	return refine(out)
}

// pair puts the lines that went before those that came.
func pair(before, after []string) []Line {
	out := make([]Line, 0, len(before)+len(after))
	for _, l := range before {
		out = append(out, Line{"-", []Span{{Text: l}}})
	}
	for _, l := range after {
		out = append(out, Line{"+", []Span{{Text: l}}})
	}
	return out
}

// refine marks the words that differ where lines were replaced by others.
func refine(lines []Line) []Line {
	done := 0
	for i := 0; i < len(lines) && done < maxRefined; {
		from := i
		for i < len(lines) && lines[i].Op == "-" {
			i++
		}
		mid := i
		for i < len(lines) && lines[i].Op == "+" {
			i++
		}
		switch {
		case from == i:
			i++
		case from < mid && mid < i:
			markWords(lines[from:mid], lines[mid:i])
			done++
		}
	}
	return lines
}

// markWords marks the words that differ between lines and those that replaced them.
func markWords(a, b []Line) {
	x, y := wordsOf(a), wordsOf(b)
	compareWords(x, y, Options{Timeout: refineTime})
	common, all := 0, [2]int{}
	for i, side := range [][]piece{x, y} {
		for _, p := range side {
			all[i] += len(p.word)
			if i == 0 && !p.changed {
				common += len(p.word)
			}
		}
	}
	if 3*common < min(all[0], all[1]) { // other lines, not changed ones
		return
	}
	setSpans(a, x)
	setSpans(b, y)
}

// wordsOf are the words of lines, without their punctuation; each line ends with a piece of its own.
func wordsOf(lines []Line) (out []piece) {
	isWord := func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) || spaceless(r) }
	for i := range lines {
		out = append(append(out, wordsIn(lines[i].Text(), isWord)...), piece{raw: "\n"})
	}
	return out
}

// setSpans is the reverse of wordsOf: it parts lines where changed words begin and end.
func setSpans(lines []Line, all []piece) {
	var spans []Span
	for _, p := range all {
		n := len(spans)
		switch {
		case p.raw == "\n":
			if n > 0 {
				lines[0].Spans = spans
			}
			lines, spans = lines[1:], nil
		case n > 0 && spans[n-1].Changed == p.changed:
			spans[n-1].Text += p.raw
		default:
			spans = append(spans, Span{p.raw, p.changed})
		}
	}
}

// hunks keeps the changed lines and those around them.
func (p *Page) hunks(lines []Line, context int) {
	old, now := 1, 1
	var h *Hunk
	end := 0 // of h in lines
	for i := range lines {
		if lines[i].Op == " " {
			old, now = old+1, now+1
			continue
		}
		from := max(i-context, end)
		if h == nil || i-context > end {
			p.close(h)
			h = &Hunk{OldStart: old - (i - from), NewStart: now - (i - from)}
		}
		h.Lines = append(h.Lines, lines[from:i+1]...)
		if lines[i].Op == "-" {
			p.Removed++
			old++
		} else {
			p.Added++
			now++
		}
		end = i + 1
		for end < len(lines) && end <= i+context && lines[end].Op == " " {
			h.Lines = append(h.Lines, lines[end])
			end++
		}
	}
	p.close(h)
}

func (p *Page) close(h *Hunk) {
	if h == nil {
		return
	}
	for i := range h.Lines {
		switch h.Lines[i].Op {
		case "-":
			h.OldLines++
		case "+":
			h.NewLines++
		default:
			h.OldLines++
			h.NewLines++
		}
	}
	if h.OldLines == 0 {
		h.OldStart-- // as diff -u counts
	}
	if h.NewLines == 0 {
		h.NewStart--
	}
	p.Hunks = append(p.Hunks, *h)
}

// printable replaces what would do something to a terminal, or hide text, by visible signs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case r < 0x20:
			return 0x2400 + r // control pictures
		case r >= 0x7f && r < 0xa0, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e,
			r >= 0x2066 && r <= 0x2069, r == 0xfeff, r == 0x2028, r == 0x2029:
			return utf8.RuneError
		}
		return r
	}, s)
}
