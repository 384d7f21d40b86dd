// SPDX-License-Identifier: Apache-2.0

package listing

import (
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
	a, s, n := digits(s, 4)
	if n != 1 && n != 2 && n != 4 {
		return st, s, false
	}
	sep := first(s)
	if (sep != '-' && sep != ' ' && sep != '/') || (sep == ' ' && n == 4) {
		return st, s, false
	}
	month, s, m := monthOrDigits(s[1:])
	if m == 0 || first(s) != sep {
		return st, s, false
	}
	b, s, k := digits(s[1:], 4)
	year, day := a, b
	switch {
	case n == 4 && (k == 1 || k == 2):
	case n <= 2 && k == 4 && m == 3: // the month must be a word: else it may be the day
		year, day = b, a
	default:
		return st, s, false
	}
	if c := first(s); '0' <= c && c <= '9' {
		return st, s, false
	}
	hour, minute, second, precision, rest := clock(s)
	st.t = time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if st.t.Day() != day || int(st.t.Month()) != month || hour > 23 || minute > 59 || second > 59 || year < 1 {
		return stamp{}, rest, false
	}
	st.precision, st.local = precision, true
	if precision == ToSecond && first(rest) == 'Z' {
		st.local, rest = false, rest[1:]
	}
	return st, rest, true
}

// clock reads a separator and a time of day, if s starts so.
func clock(s string) (hour, minute, second int, p Precision, rest string) {
	if c := first(s); c != ' ' && c != 'T' {
		return 0, 0, 0, ToDay, s
	}
	hour, t, n := digits(s[1:], 2)
	if n == 0 || first(t) != ':' {
		return 0, 0, 0, ToDay, s
	}
	minute, t, n = digits(t[1:], 2)
	if n != 2 {
		return 0, 0, 0, ToDay, s
	}
	if first(t) == ':' {
		if sec, after, n := digits(t[1:], 2); n == 2 {
			return hour, minute, sec, ToSecond, after
		}
	}
	return hour, minute, 0, ToMinute, t
}

func first(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// digits reads up to most digits; n is how many there were.
func digits(s string, most int) (v int, rest string, n int) {
	for n < len(s) && n < most && '0' <= s[n] && s[n] <= '9' {
		v = v*10 + int(s[n]-'0')
		n++
	}
	return v, s[n:], n
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// monthOrDigits reads a month: n is 3 for a word, 1 or 2 for digits, 0 for neither.
func monthOrDigits(s string) (month int, rest string, n int) {
	if month, rest, n = digits(s, 2); n > 0 {
		return month, rest, n
	}
	if len(s) < 3 {
		return 0, s, 0
	}
	for i := 0; i < len(months); i += 3 {
		if strings.EqualFold(s[:3], months[i:i+3]) {
			return i/3 + 1, s[3:], 3
		}
	}
	return 0, s, 0
}

// parseExactStamp reads a machine's time: the datetime attribute of caddy and nginx's XML, or RFC 3339.
func parseExactStamp(s string) (stamp, bool) {
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(s))
	if err != nil || t.Year() < 1 {
		return stamp{}, false
	}
	return stamp{t.UTC(), ToSecond, false}, true
}
