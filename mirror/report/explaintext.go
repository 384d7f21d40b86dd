// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"mirrord/fetch/heads"
)

// visible replaces what a terminal would obey: the reason phrase of an answer may hold any bytes.
func visible(r rune) rune {
	if unicode.IsControl(r) && r != '\t' {
		return unicode.ReplacementChar
	}
	return r
}

// writeHead writes a head line by line.
func writeHead(line func(what, text string), what string, h *heads.Head) {
	if h == nil {
		return
	}
	for text := range strings.Lines(h.String()) {
		line(what, strings.Map(visible, strings.TrimSuffix(text, "\n")))
		what = ""
	}
	if h.Normalised {
		line("", "(normalised: order and spelling of the fields are not those of the server)")
	}
}

// WriteText writes the explanation for a person.
func (x *Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n", x.URL, x.Answer)
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-9s %s\n", what, text)
		}
	}
	line("path", x.Path)
	line("redirect", x.Redirect)
	line("source", x.Source)
	line("space", x.Space)
	switch {
	case x.SameText:
		line("text", "the same as "+x.Like)
	case x.Like != "":
		line("text", "nearly the same as "+x.Like)
	}
	for _, r := range x.Rules {
		line("rule", r)
	}
	line("last", x.Last)
	line("asked", x.Checked)
	for i, f := range x.Found {
		if i == 0 {
			line("found in", f)
		} else {
			line("  from", f)
		}
	}
	writeHead(line, "head", x.Head)
	writeHead(line, "last head", x.LastHead)
	line("head", x.NoHead)
	_, err := io.WriteString(w, b.String())
	return err
}
