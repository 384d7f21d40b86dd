// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"unicode/utf8"
)

// HelpWidth is how many characters a line of help has at most.
const HelpWidth = 80

// Wrap breaks the lines of a text at blanks. Lines that follow one another are one paragraph; those that are
// indented, or begin a list or a table, stay lines of their own, and what follows of them is indented.
func Wrap(text string) string {
	var b strings.Builder
	paragraph := ""
	flush := func() {
		if paragraph != "" {
			fill(&b, paragraph)
		}
		paragraph = ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "":
			flush()
			b.WriteByte('\n')
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "- "):
			flush()
			paragraph = line
		case strings.HasPrefix(paragraph, " "):
			flush()
			paragraph = line
		case paragraph == "":
			paragraph = line
		default:
			paragraph += " " + line
		}
	}
	flush()
	return strings.TrimRight(b.String(), "\n")
}

// fill writes one paragraph, the lines after the first below its text.
func fill(b *strings.Builder, text string) {
	hang := len(text) - len(strings.TrimLeft(text, " "))
	if rest := strings.TrimLeft(text, " "); strings.HasPrefix(rest, "- ") {
		hang += 2
	} else if i := strings.Index(rest, "  "); hang > 0 && i > 0 {
		column := len(rest[i:]) - len(strings.TrimLeft(rest[i:], " "))
		hang += utf8.RuneCountInString(rest[:i]) + column
	}
	indent := strings.Repeat(" ", min(hang, HelpWidth/2))
	for utf8.RuneCountInString(text) > HelpWidth {
		head := string([]rune(text)[:HelpWidth+1])
		at := strings.LastIndexByte(head, ' ')
		if at <= len(indent) || strings.TrimSpace(head[:at]) == "" {
			break // one long word
		}
		b.WriteString(strings.TrimRight(head[:at], " ") + "\n")
		text = indent + strings.TrimLeft(text[at:], " ")
	}
	b.WriteString(text + "\n")
}
