// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// checkText refuses bytes that no TOML file may have, with the place of the first; nil when all are good. The
// parser would name the character that it could not read, not what happened to the file.
func checkText(data []byte) (at place, err error) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return place{1, 1}, problemf("save it as UTF-8", "the file is UTF-16")
	}
	line, start := 1, 0
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		switch loneReturn := c == '\r' && (i+1 >= len(data) || data[i+1] != '\n'); {
		case c == utf8.RuneError && size == 1:
			err = problemf("save the file as UTF-8", "byte 0x%02X is not UTF-8", data[i])
		case c == '\n':
			line, start = line+1, i+1
		case loneReturn:
			err = problemf("save the file with the line ends of Unix or Windows",
				"a carriage return stands without a line feed")
		case (c < ' ' && c != '\t' && c != '\r') || c == 0x7f:
			err = problemf("remove it", "the control character %U is not allowed", c)
		}
		if err != nil {
			return place{line, i - start + 1}, err
		}
		i += size
	}
	return place{}, nil
}

// syntax records the error of the TOML parser, with what to do about it.
func (p *parser) syntax(err error, data []byte) {
	e := Error{
		File: p.file,
		Line: 1,
		Col:  1,
		Msg:  strings.TrimPrefix(err.Error(), "toml: "),
	}
	var de *toml.DecodeError
	if errors.As(err, &de) {
		e.Line, e.Col = de.Position()
		e.Key = strings.Join(de.Key(), ".")
	}
	lines := strings.Split(string(data), "\n")
	e.Msg = wholeCharacter(e, lines)
	e.Hint = syntaxHint(e, lines)
	p.errs = append(p.errs, e)
}

// wholeCharacter is the message of an error with the character that stands at its place: the parser names the
// first byte of it.
func wholeCharacter(e Error, lines []string) string {
	if e.Line > len(lines) || e.Col < 1 || e.Col > len(lines[e.Line-1]) {
		return e.Msg
	}
	at := lines[e.Line-1][e.Col-1:]
	if c, size := utf8.DecodeRuneInString(at); size > 1 {
		return strings.Replace(e.Msg, fmt.Sprintf("%U %q", at[0], rune(at[0])), fmt.Sprintf("%U %q", c, c), 1)
	}
	return e.Msg
}

const (
	quoteHint   = "text needs quotes"
	commentHint = "a comment begins with #"
	lineHint    = `a line is KEY = VALUE, [TABLE] or # comment, as in url = "https://www.example.org/"`
)

// syntaxHint says what was probably meant in the line that the parser could not read.
func syntaxHint(e Error, lines []string) string {
	if e.Line > len(lines) {
		return ""
	}
	line := strings.TrimRight(lines[e.Line-1], "\r")
	rest := line[min(max(e.Col-1, 0), len(line)):]
	has := func(text string) bool { return strings.Contains(e.Msg, text) }
	switch {
	case strings.ContainsAny(line, "“”„‘’«»"):
		return `use straight quotes: "text"`
	case strings.ContainsAny(line, "\u00a0\u200b\ufeff"):
		return "an invisible character such as a non-breaking space is in this line; type the line again"
	case has("start of value"):
		return valueHint(rest)
	case has("must be quoted"), has("incomplete number"):
		return quoteHint
	case has("leading zeroes"):
		return "remove the zero in front"
	case has("control characters"), has("new lines"):
		return "the closing quote is missing"
	case has("not terminated"):
		return "the closing quotes are missing"
	case has("escape character"):
		return `write \\ for a backslash, or put the text in 'single quotes'`
	case has("expected newline"):
		return afterValueHint(line[:len(line)-len(rest)], rest)
	case has(`"nan"`), has(`"inf"`):
		return "no value has this name; leave the key out, or put text in quotes"
	case has("already"), has("should be a table"), has("should be a value"):
		return againHint(lines, e.Line)
	case has("close table name"):
		return "a table is written [limits], alone in its line"
	case has("array"), has("']'"):
		return `a list is written ["a", "b"]: a comma, a quote or the closing ] is missing`
	}
	return plainLineHint(line)
}

// valueHint is the hint for what cannot begin a value.
func valueHint(rest string) string {
	word := strings.TrimSpace(rest)
	if word == "" || word[0] == '#' {
		return "a value is missing after ="
	}
	word, _, _ = strings.Cut(word, " ")
	switch strings.ToLower(word) {
	case "true", "yes", "on":
		return "write true"
	case "false", "no", "off":
		return "write false"
	}
	return quoteHint
}

// afterValueHint is the hint for what stands behind a whole value.
func afterValueHint(before, rest string) string {
	switch _, next, ok := strings.Cut(rest, "="); {
	case isComment(rest):
		return commentHint
	case ok && (rest[0] == ',' || rest[0] == ';') && !strings.HasPrefix(next, "="):
		return "each key has a line of its own"
	}
	_, value, _ := strings.Cut(before, "=")
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'") {
		return `the text ends at its second quote; a quote inside of a text is written \" in "double quotes"`
	}
	return quoteHint
}

// againHint says where the key or table of a line stands already.
func againHint(lines []string, at int) string {
	name := func(line string) string {
		line, _, _ = strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "["), "]")
		line, _, _ = strings.Cut(line, "=")
		return strings.TrimSpace(line)
	}
	want := name(lines[at-1])
	for i, line := range lines[:at-1] {
		got := name(line)
		if want != "" && (got == want || strings.HasPrefix(got, want+".")) {
			return fmt.Sprintf("it is in line %d already; put all of it there", i+1)
		}
	}
	return "each key and each table stands once"
}

// isComment reports whether a text begins as comments of other languages do.
func isComment(text string) bool {
	return strings.HasPrefix(text, "//") || strings.HasPrefix(text, "--") || strings.HasPrefix(text, "/*")
}

// isConflict reports whether a line is one that git puts around the sides of a conflict.
func isConflict(line string) bool {
	return strings.HasPrefix(line, "<<<<<<<") || strings.HasPrefix(line, "=======") ||
		strings.HasPrefix(line, ">>>>>>>")
}

// plainLineHint is the hint for a line that has the form of another language.
func plainLineHint(line string) string {
	t := strings.TrimSpace(line)
	switch {
	case isConflict(t):
		return "a merge left both sides here; keep one, and remove the lines of <<<, === and >>>"
	case strings.HasPrefix(t, ";"), isComment(t):
		return commentHint
	case regexp.MustCompile(`^[\w.-]+[ \t]*:`).MatchString(t):
		return "write = for the colon: " + lineHint
	}
	return lineHint
}
