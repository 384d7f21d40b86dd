// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bufio"
	"fmt"
	"html"
	"io"
)

// Titles name the two sides of a difference.
type Titles struct{ Old, New string }

// Note says why there are no lines, or that they are not all of the truth; "" when there is nothing to say.
func (p *Page) Note() string {
	switch {
	case p.Binary:
		return "the files differ; they are no text"
	case p.Large:
		return "the files differ; they are too large to be compared line by line"
	case p.Cut:
		return "comparing took too long: more is shown as changed than did change"
	case len(p.Hunks) == 0:
		return "nothing to be seen differs"
	}
	return ""
}

// WriteText writes the difference as diff -u does. What would act on a terminal is replaced by visible signs.
func (p *Page) WriteText(w io.Writer, t Titles) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "--- %s\n+++ %s\n", printable(t.Old), printable(t.New))
	if n := p.Note(); n != "" {
		fmt.Fprintf(b, "(%s)\n", n)
	}
	for i := range p.Hunks {
		h := &p.Hunks[i]
		fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for j := range h.Lines {
			fmt.Fprintf(b, "%s%s\n", h.Lines[j].Op, printable(h.Lines[j].Text()))
		}
	}
	return b.Flush()
}

const htmlHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>%s</title>
<style>
body { font: 14px/1.4 sans-serif; margin: 2em }
table { border-collapse: collapse; width: 100%% }
td { font: 13px/1.4 monospace; white-space: pre-wrap; overflow-wrap: anywhere; vertical-align: top; padding: 0 .5em }
td.n { color: #666; text-align: right; width: 4em; user-select: none }
tr.h td { color: #666; background: #f4f4f4; padding: .3em .5em }
tr.d { background: #ffecec } tr.d del { background: #f8b8b8; text-decoration: none }
tr.i { background: #eaffea } tr.i ins { background: #a6f3a6; text-decoration: none }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } tr.h td { background: #222 } tr.d { background: #411 } tr.d del { background: #822 } tr.i { background: #131 } tr.i ins { background: #262 } }
</style>
</head>
<body>
<h1>%s</h1>
<p>%s<br>%s</p>
`

// WriteHTML writes the difference as a page of its own. Nothing of the compared pages is markup in it.
func (p *Page) WriteHTML(w io.Writer, title string, t Titles) error {
	b := bufio.NewWriter(w)
	e := html.EscapeString(printable(title))
	fmt.Fprintf(b, htmlHead, e, e, html.EscapeString("− "+printable(t.Old)),
		html.EscapeString("+ "+printable(t.New)))
	if n := p.Note(); n != "" {
		fmt.Fprintf(b, "<p><em>%s</em></p>\n", html.EscapeString(n))
	}
	b.WriteString("<table>\n")
	for i := range p.Hunks {
		p.Hunks[i].writeHTML(b)
	}
	b.WriteString("</table>\n</body>\n</html>\n")
	return b.Flush()
}

func (h *Hunk) writeHTML(b *bufio.Writer) {
	fmt.Fprintf(b, "<tr class=\"h\"><td colspan=\"4\">@@ -%d,%d +%d,%d @@</td></tr>\n", h.OldStart, h.OldLines,
		h.NewStart, h.NewLines)
	old, now := h.OldStart, h.NewStart
	for i := range h.Lines {
		l := &h.Lines[i]
		class, mark, left, right := "", "", "", ""
		if l.Op != "+" {
			left = fmt.Sprint(old)
			old++
		}
		if l.Op != "-" {
			right = fmt.Sprint(now)
			now++
		}
		switch l.Op {
		case "-":
			class, mark = ` class="d"`, "del"
		case "+":
			class, mark = ` class="i"`, "ins"
		}
		fmt.Fprintf(b, `<tr%s><td class="n">%s</td><td class="n">%s</td><td>%s</td><td>`, class, left, right, l.Op)
		for _, s := range l.Spans {
			text := html.EscapeString(printable(s.Text))
			if s.Changed {
				text = "<" + mark + ">" + text + "</" + mark + ">"
			}
			b.WriteString(text)
		}
		b.WriteString("</td></tr>\n")
	}
}
