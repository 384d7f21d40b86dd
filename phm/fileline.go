// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// parseLine reads one line of phm.files, without its line feed.
func parseLine(line []byte) (*File, error) {
	if f, ok := parseOwn(string(line)); ok {
		return f, nil
	}
	return parseJSON(line)
}

// parseJSON reads any spelling.
func parseJSON(line []byte) (*File, error) {
	f := new(File)
	err := json.Unmarshal(line, f)
	if err == nil {
		f.Extra, err = extraFields(line, fileFields)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	return f, nil
}

// parseOwn reads a line in the spelling that AppendFile gives to a file without escapes and foreign fields,
// which is nearly every one, at a fraction of the cost. ok is false for every other line.
func parseOwn(s string) (f *File, ok bool) {
	if !utf8.ValidString(s) || !unescaped(s) {
		return nil, false
	}
	f = new(File)
	l := lineScanner{s, true}
	f.Path = l.text(`{"path":"`)
	f.URL = l.text(`,"url":"`)
	if l.next(`,"type":"`) {
		f.Type = l.text(`,"type":"`)
	}
	f.Size = l.number(`,"size":`)
	f.SHA256 = l.text(`,"sha256":"`)
	if l.next(`,"modified":"`) {
		var known bool
		if f.Modified, known = parseTime(l.text(`,"modified":"`)); !known {
			return nil, false
		}
	}
	if l.next(`,"edits":[`) {
		before := `,"edits":[{"kind":"`
		for l.next(before) {
			kind := l.text(before)
			f.Edits = append(f.Edits, DeclaredEdit{kind, l.number(`,"at":`)})
			l.skip(`}`)
			before = `,{"kind":"`
		}
		l.skip(`]`)
		l.ok = l.ok && f.Edits != nil
	}
	if l.next(`,"from":"`) {
		f.From = l.text(`,"from":"`)
	}
	l.skip(`}`)
	return f, l.ok && l.rest == ""
}

// unescaped reports whether a line has neither backslashes nor control characters, so that what stands
// between two quotes is a string.
func unescaped(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '\\' {
			return false
		}
	}
	return true
}

// parseTime reads a time in the spelling of AppendFile.
func parseTime(s string) (t time.Time, ok bool) {
	if len(s) != len("2006-01-02T15:04:05Z") {
		return t, false
	}
	t, err := time.Parse(time.RFC3339, s)
	return t, err == nil
}

// lineScanner takes a line apart that has no escapes; ok turns false at the first thing that is not expected.
type lineScanner struct {
	rest string
	ok   bool
}

func (l *lineScanner) next(prefix string) bool { return l.ok && strings.HasPrefix(l.rest, prefix) }

func (l *lineScanner) skip(prefix string) {
	l.ok = l.next(prefix)
	if l.ok {
		l.rest = l.rest[len(prefix):]
	}
}

// text takes a string that begins after prefix.
func (l *lineScanner) text(prefix string) (s string) {
	l.skip(prefix)
	end := strings.IndexByte(l.rest, '"')
	if !l.ok || end < 0 {
		l.ok = false
		return ""
	}
	s, l.rest = l.rest[:end], l.rest[end+1:]
	return s
}

// number takes a whole number of at most eighteen digits.
func (l *lineScanner) number(prefix string) int64 {
	l.skip(prefix)
	i := 0
	for i < len(l.rest) && l.rest[i] >= '0' && l.rest[i] <= '9' {
		i++
	}
	if !l.ok || i == 0 || i > 18 || (l.rest[0] == '0' && i > 1) {
		l.ok = false
		return 0
	}
	n, err := strconv.ParseInt(l.rest[:i], 10, 64)
	l.ok = err == nil
	l.rest = l.rest[i:]
	return n
}
