// SPDX-License-Identifier: Apache-2.0

package volatile

import (
	"strings"
	"time"
)

// momentForms are how programs write parts of the time of an answer.
var momentForms = strings.Fields(`
	2006-01-02 2006/01/02 02.01.2006 2.1.2006 02/01/2006 2/1/2006 01/02/2006 1/2/2006 20060102
	02-01-2006 2-1-2006 01-02-2006 1-2-2006 02-Jan-2006
	Monday Mon January Jan 2 02 2006 15:04 15:04:05 3:04 3:04:05 03:04 03:04:05 3pm 03pm PM
	2006-01-02T15:04:05 20060102150405`)

// answerTakes is how long before it came an answer may have been made.
const answerTakes = 3 * time.Second

// tellTime reports whether two parts of a text are of the date or the time of the answers in which they came,
// in one zone: then they say nothing of the page.
func tellTime(old, now []byte, at *Times) bool {
	if unixTime(old) && unixTime(now) {
		return isUnix(old, at.Old) && isUnix(now, at.New)
	}
	was, is := partOfTime(old), partOfTime(now)
	for _, form := range momentForms {
		if !hasForm(was, form) || !hasForm(is, form) {
			continue
		}
		for hour := -12 * time.Hour; hour <= 14*time.Hour; hour += time.Hour {
			if says(was, form, at.Old.UTC().Add(hour)) && says(is, form, at.New.UTC().Add(hour)) {
				return true
			}
		}
	}
	return false
}

// partOfTime returns a part of a date or a time without what programs write behind it: its zone, or "th".
func partOfTime(text []byte) string {
	return string(timeEnd.ReplaceAll(text, []byte("$1$2")))
}

// unixTime reports whether digits are a time of 2001 to 2033 in seconds or milliseconds.
func unixTime(d []byte) bool {
	return (len(d) == 10 || len(d) == 13) && d[0] == '1' && digitsIn(d) == len(d)
}

// movedAlong reports whether two Unix times are as far from the answers in which they came: the end of a
// span before or after now. The beginning of a day or an hour is a date.
func movedAlong(old, now []byte, at *Times) bool {
	if len(old) != len(now) || !unixTime(old) || !unixTime(now) {
		return false
	}
	was, is := secondsOf(old), secondsOf(now)
	moved := time.Duration(is-was) * time.Second
	return (was%minute != 0 || is%minute != 0) && (moved-at.New.Sub(at.Old)).Abs() <= answerTakes
}

const minute = 60 // seconds

// secondsOf reads Unix time, in seconds or milliseconds.
func secondsOf(digits []byte) (s int64) {
	for _, d := range digits[:10] {
		s = 10*s + int64(d-'0')
	}
	return s
}

func hasForm(text, form string) bool {
	_, err := time.Parse(form, text)
	return err == nil
}

// isUnix reports whether digits are Unix time, in seconds or milliseconds, of an answer that came at a time.
func isUnix(digits []byte, at time.Time) bool {
	return at.Sub(time.Unix(secondsOf(digits), 0)).Abs() <= answerTakes
}

// says reports whether a text is a part of the time of an answer that came at a time.
func says(text, form string, at time.Time) bool {
	for s := time.Duration(0); s <= answerTakes; s += time.Second {
		if strings.EqualFold(text, at.Add(-s).Format(form)) {
			return true
		}
	}
	return false
}

// WithoutClock returns an address without the steps and parameters of it that are Unix time, and whether it
// had any.
func WithoutClock(address string) (without string, had bool) {
	const between = "/?&;="
	for from := 0; from < len(address); {
		to := len(address)
		if n := strings.IndexAny(address[from:], between); n >= 0 {
			to = from + n
		}
		if part := address[from:to]; unixTime([]byte(part)) {
			had = true
		} else {
			without += part
		}
		without += address[to:min(to+1, len(address))]
		from = to + 1
	}
	return without, had
}
