// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"regexp"
	"strings"
	"time"
)

// A stamp is a time as a page gives it.
type stamp struct {
	t         time.Time
	precision Precision
	local     bool
}

// parseStamp reads a date of one of the forms that need no guess, at the start of s, and returns what follows
// it.
//
//	2006-01-02 15:04:05   2006-Jan-02 15:04:05   02-Jan-2006 15:04:05   02 Jan 2006 15:04
//
// Seconds, and the time of day, may be missing; between date and time one space or 'T'; a 'Z' at the end
// makes it UTC.
func parseStamp(s string) (st stamp, rest string, ok bool) {
	m := dateForm.FindStringSubmatch(s)
	if m == nil || m[2]+m[7] != m[4]+m[9] {
		return st, s, false
	}
	layout := "2006-1-2 15:4:5"
	if len(m[3]+m[8]) == len("Jan") {
		layout = "2006-Jan-2 15:4:5"
	}
	of, precision, rest := clock(s[len(m[0]):])
	t, err := time.Parse(layout, m[1]+m[10]+"-"+m[3]+m[8]+"-"+m[5]+m[6]+" "+of)
	if c := first(rest); err != nil || t.Year() < 1 || (precision == ToDay && '0' <= c && c <= '9') {
		return st, s, false
	}
	if precision == ToSecond && first(rest) == 'Z' {
		return stamp{t, precision, false}, rest[1:], true
	}
	return stamp{t, precision, true}, rest, true
}

var (
	// a month in numbers may be the day unless the year is before it
	dateForm = regexp.MustCompile(`^(?:(\d{4})([-/])(\d{1,2}|[A-Za-z]{3})([-/])(\d{1,2})|` +
		`(\d{1,2})([-/ ])([A-Za-z]{3})([-/ ])(\d{4}))`)
	clockForm = regexp.MustCompile(`^[ T](\d{1,2}):(\d\d)(?::(\d\d))?`)
)

// clock reads a separator and a time of day, if s starts so.
func clock(s string) (text string, p Precision, rest string) {
	m := clockForm.FindStringSubmatch(s)
	switch {
	case m == nil:
		return "0:0:0", ToDay, s
	case m[3] == "":
		return m[1] + ":" + m[2] + ":0", ToMinute, s[len(m[0]):]
	}
	return m[1] + ":" + m[2] + ":" + m[3], ToSecond, s[len(m[0]):]
}

func first(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// parseExactStamp reads a machine's time: the datetime attribute of caddy and nginx's XML, or RFC 3339.
func parseExactStamp(s string) (stamp, bool) {
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(s))
	if err != nil || t.Year() < 1 {
		return stamp{}, false
	}
	return stamp{t.UTC(), ToSecond, false}, true
}
