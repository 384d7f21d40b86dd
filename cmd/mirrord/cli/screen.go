// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// defaultColumns is the width of a terminal that does not state it.
const defaultColumns = 80

// Screen describes the terminal that progress is drawn on. The zero value is no terminal.
type Screen struct {
	Drawn   bool       // it is one, and lines can be rewritten in place
	Columns func() int // how wide it is now, 0 when it does not say; nil is defaultColumns
	Color   bool       // colours are wanted
}

// Width is how many characters a line may have that must not wrap.
func (s *Screen) Width() int {
	n := 0
	if s.Columns != nil {
		n = s.Columns()
	}
	if n <= 0 {
		n = defaultColumns
	}
	return n - 1
}

// ColorsWanted follows https://no-color.org: any value of NO_COLOR but the empty one switches colours off.
func ColorsWanted(lookupEnv func(string) (string, bool)) bool {
	v, _ := lookupEnv("NO_COLOR")
	return v == ""
}

// AsciiLocale reports whether the locale names a character set that is not UTF-8. Without any locale, as in
// containers, terminals are taken to show UTF-8.
func AsciiLocale(lookupEnv func(string) (string, bool)) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v, _ := lookupEnv(name); v != "" {
			_, set, _ := strings.Cut(strings.ToLower(v), ".")
			set, _, _ = strings.Cut(set, "@")
			return strings.ReplaceAll(set, "-", "") != "utf8"
		}
	}
	return false
}

// asciiWriter replaces what a terminal without UTF-8 cannot show. A write ends at the end of a character.
type asciiWriter struct {
	w    io.Writer
	json func() bool // JSON is written: characters are escaped as it does
}

func (a *asciiWriter) Write(p []byte) (int, error) {
	if IsASCII(p) {
		return a.w.Write(p)
	}
	var b strings.Builder
	for _, r := range string(p) {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case a.json() && r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case a.json():
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(inASCII(r))
		}
	}
	if _, err := io.WriteString(a.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func IsASCII(p []byte) bool {
	for _, c := range p {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// inASCII is what stands for a character.
func inASCII(r rune) string {
	switch r {
	case '…':
		return "..."
	case '–', '—', '−':
		return "-"
	case '“', '”', '„':
		return `"`
	case '‘', '’':
		return "'"
	case '→':
		return "->"
	case '×':
		return "x"
	case '\u00a0', '\u202f':
		return " "
	}
	return "?"
}
