// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"strings"
	"time"
)

// iisColumns reads "6/12/2014 3:25 AM 148420 " before the name. The date is kept as it is: see readDates.
func (p *parser) iisColumns(e *Entry, before, after string) bool {
	if after != "" || len(p.links) != 1 {
		return false
	}
	date, last := "", before
	if i := strings.LastIndexByte(before, ' '); i >= 0 {
		date, last = trim(before[:i]), before[i+1:]
	}
	if last == "<dir>" {
		e.Dir = true
	} else {
		z, ok := parseSize(last)
		if !ok || !z.exact || e.Dir {
			return false
		}
		e.setSize(z)
	}
	p.iis = append(p.iis, date)
	return true
}

// A numericDate is a date of three numbers, in the order in which they are written.
type numericDate struct {
	n      [3]int
	sep    byte
	hour   int
	minute int
}

// readDates sets the times of entries from the dates as IIS wrote them, in the locale of the server. Years of
// four digits tell themselves; day and month of "6/12/2014" are distinguished by the other dates of the page,
// and by the dot of "12.6.2014", which puts the day first. If neither helps, or the page contradicts itself,
// these times stay unknown.
func readDates(entries []Entry, dates []string) {
	if len(dates) != len(entries) {
		return
	}
	dayFirst, monthFirst := false, false
	parsed := make([]numericDate, len(dates))
	for i, s := range dates {
		if st, ok := longDate(s); ok {
			entries[i].setTime(st)
			continue
		}
		d, ok := readNumericDate(s)
		if !ok {
			continue
		}
		parsed[i] = d
		if d.n[0] <= 31 {
			dayFirst = dayFirst || d.n[0] > 12 || d.sep == '.'
			monthFirst = monthFirst || d.n[1] > 12
		}
	}
	for i, d := range parsed {
		year, month, day := d.n[0], d.n[1], d.n[2]
		if d.n[0] <= 31 {
			if dayFirst == monthFirst {
				continue
			}
			year, month, day = d.n[2], d.n[0], d.n[1]
			if dayFirst {
				month, day = day, month
			}
		}
		t := time.Date(year, time.Month(month), day, d.hour, d.minute, 0, 0, time.UTC)
		if year >= 1000 && t.Day() == day && int(t.Month()) == month {
			entries[i].setTime(stamp{t, ToMinute, true})
		}
	}
}

// readNumericDate reads "6/12/2014  3:25 AM", "12.06.2014 15:25" or "2014-06-12 15:25".
func readNumericDate(s string) (d numericDate, ok bool) {
	for i := range d.n {
		var n int
		d.n[i], s, n = digits(s, 4)
		if n == 0 || n == 3 {
			return d, false
		}
		if i == 2 {
			break
		}
		if c := first(s); (c != '/' && c != '-' && c != '.') || (i == 1 && c != d.sep) {
			return d, false
		}
		d.sep, s = s[0], s[1:]
	}
	d.hour, d.minute, ok = clock12(s)
	return d, ok
}

// clock12 reads all of s as "  3:25 AM" or " 15:25".
func clock12(s string) (hour, minute int, ok bool) {
	hour, minute, _, p, rest := clock(" " + strings.TrimLeft(s, " "))
	if (p != ToMinute && p != ToSecond) || hour > 23 || minute > 59 {
		return 0, 0, false
	}
	switch half := strings.ToUpper(trim(rest)); {
	case half == "":
	case (half == "AM" || half == "PM") && 1 <= hour && hour <= 12:
		hour %= 12
		if half == "PM" {
			hour += 12
		}
	default:
		return 0, 0, false
	}
	return hour, minute, true
}

// longDate reads "Sunday, January 19, 2025  4:05 AM" or "Sunday, 19 January 2025 04:05".
func longDate(s string) (stamp, bool) {
	if day, rest, ok := strings.Cut(s, ", "); ok && strings.HasSuffix(day, "day") {
		s = rest
	}
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, ",", " ")), " ")
	w := strings.SplitN(s, " ", 4)
	if len(w) != 4 {
		return stamp{}, false
	}
	if c := first(w[0]); '0' <= c && c <= '9' {
		w[0], w[1] = w[1], w[0]
	}
	name, err := time.Parse("January", w[0])
	if err != nil {
		return stamp{}, false
	}
	day, rest1, n1 := digits(w[1], 2)
	year, rest2, n2 := digits(w[2], 4)
	hour, minute, ok := clock12(w[3])
	t := time.Date(year, name.Month(), day, hour, minute, 0, 0, time.UTC)
	if !ok || n1 == 0 || n2 != 4 || rest1+rest2 != "" || t.Day() != day || year < 1000 {
		return stamp{}, false
	}
	return stamp{t, ToMinute, true}, true
}
