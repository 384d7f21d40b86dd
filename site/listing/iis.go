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

// readDates sets the times of entries from the dates as IIS wrote them, in the locale of the server. Years of
// four digits tell themselves; day and month of "6/12/2014" are distinguished by the other dates of the page,
// and by the dot of "12.6.2014", which puts the day first. If neither helps, or the page contradicts itself,
// these times stay unknown.
func readDates(entries []Entry, dates []string) {
	if len(dates) != len(entries) {
		return
	}
	const monthDay, dayMonth = "1/2/2006", "2/1/2006"
	monthFirst, dayFirst := true, true // what the dates of numbers can be
	for i, s := range dates {
		if t, ok := iisDate(s, "Monday January 2 2006", "Monday 2 January 2006", "January 2 2006",
			"2 January 2006", "2006/1/2"); ok {
			entries[i].setTime(t)
			continue
		}
		_, m := iisDate(s, monthDay)
		_, d := iisDate(s, dayMonth)
		if m || d {
			monthFirst = monthFirst && m && !strings.Contains(s, ".")
			dayFirst = dayFirst && d
		}
	}
	layout := monthDay
	if dayFirst {
		layout = dayMonth
	}
	for i, s := range dates {
		if t, ok := iisDate(s, layout); ok && monthFirst != dayFirst {
			entries[i].setTime(t)
		}
	}
}

// iisDate reads a date with a time of day: "Sunday, January 19, 2025  4:05 AM", "12.06.2014 15:25".
func iisDate(s string, layouts ...string) (stamp, bool) {
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, ",", " ")), " ")
	s = strings.NewReplacer("-", "/", ".", "/", " AM", "AM", " PM", "PM").Replace(strings.ToUpper(s))
	for _, day := range layouts {
		for _, clock := range []string{"15:04", "15:04:05", "3:04PM", "3:04:05PM"} {
			if t, err := time.Parse(day+" "+clock, s); err == nil && t.Year() >= 1000 {
				return stamp{t, ToMinute, true}, true
			}
		}
	}
	return stamp{}, false
}
