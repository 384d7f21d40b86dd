// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
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

//go:embed page.html
var pageText string

// WriteHTML writes the difference as a page of its own. Nothing of the compared pages is markup in it.
func (p *Page) WriteHTML(w io.Writer, title string, t Titles) error {
	page, err := template.New("").Funcs(template.FuncMap{"printable": printable}).Parse(pageText)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	err = page.Execute(b, struct {
		*Page
		Titles
		Title string
	}{p, t, title})
	return errors.Join(err, b.Flush())
}

// NumberedLine is a line with its numbers in the versions that have it; 0 in the other one.
type NumberedLine struct {
	Line
	Old, New int
}

// Numbered are the lines with their numbers.
func (h *Hunk) Numbered() (lines []NumberedLine) {
	old, now := h.OldStart, h.NewStart
	for _, l := range h.Lines {
		n := NumberedLine{Line: l}
		if l.Op != "+" {
			n.Old = old
			old++
		}
		if l.Op != "-" {
			n.New = now
			now++
		}
		lines = append(lines, n)
	}
	return lines
}
