// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
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
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if d.Decode(f) == nil && len(bytes.TrimSpace(line[d.InputOffset():])) == 0 {
		return f, nil
	}
	*f = File{}
	if err := json.Unmarshal(line, f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	extra, err := extraFields(line, fileFields)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	f.Extra = extra
	return f, nil
}

// parseOwn reads a line in the spelling that AppendFile gives to a file without escapes and foreign fields,
// which is nearly every one, at a fraction of the cost. ok is false for every other line.
func parseOwn(s string) (f *File, ok bool) {
	if !utf8.ValidString(s) {
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
		t := l.text(`,"modified":"`)
		var err error
		if f.Modified, err = time.Parse("2006-01-02T15:04:05Z", t); err != nil ||
			len(t) != len("2006-01-02T15:04:05Z") {
			return nil, false
		}
	}
	if l.next(`,"edits":[`) {
		before := `,"edits":[{"kind":"`
		for l.next(before) {
			kind := l.text(before)
			f.Edits = append(f.Edits, Edit{kind, l.number(`,"at":`)})
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

// lineScanner takes a line apart; ok turns false at the first thing that is not expected.
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

// text takes a string that begins after prefix and has no escape.
func (l *lineScanner) text(prefix string) string {
	l.skip(prefix)
	for i := 0; l.ok && i < len(l.rest); i++ {
		switch c := l.rest[i]; {
		case c == '"':
			s := l.rest[:i]
			l.rest = l.rest[i+1:]
			return s
		case c == '\\' || c < ' ':
			l.ok = false
		}
	}
	l.ok = false
	return ""
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
