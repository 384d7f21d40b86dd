// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"fmt"
	"strings"
	"time"
)

// sine returns 10000 sin(deg) by Bhaskara I's formula (about the year 600): whole numbers, so that every
// machine agrees.
func sine(deg int) int {
	deg = ((deg % 360) + 360) % 360
	sign := 1
	if deg >= 180 {
		deg, sign = deg-180, -1
	}
	p := deg * (180 - deg)
	return sign * 10000 * 4 * p / (40500 - p)
}

// sunTimes returns rising and setting in minutes after midnight, good to some minutes: it is a fictional
// almanac.
func sunTimes(d time.Time) (rise, set int) {
	year := (d.YearDay()*360 + 182) / 365
	half := 6*60 + 122*sine(year-80)/10000 // half the day's length; equinox at day 80
	noon := 12*60 + 17 - 10*sine(2*year-162)/10000 + 8*sine(year)/10000
	return noon - half, noon + half
}

// moonAge returns the moon's age in tenths of a day: new on 2000-01-06 18:14, synodic month 29.530589 days.
func moonAge(d time.Time) int {
	const month = 29_530_589 // millionths of a day
	since := d.Unix() - time.Date(2000, 1, 6, 18, 14, 0, 0, time.UTC).Unix()
	age := (since*1_000_000/86400%month + month) % month
	return int(age / 100_000)
}

func clock(minutes int) string { return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60) }

func (b *builder) almanacPages(version int) map[string]*file {
	first, last := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), Published(version)
	files := map[string]*file{}
	name := func(m time.Time) string { return m.Format("/almanac/2006/01.html") }
	var list strings.Builder
	list.WriteString(
		"<h1>Almanac</h1>\n<p class=\"lead\">Sun and moon at Kestrel Point, month by month. A month that has " +
			"been printed is never changed.</p>\n<ul>\n")
	for m := first; !m.After(last); m = m.AddDate(0, 1, 0) {
		fmt.Fprintf(&list, "<li><a href=\"%s\">%s</a></li>\n", m.Format("2006/01.html"), m.Format("January 2006"))
		var t strings.Builder
		fmt.Fprintf(&t,
			"<h1>%s</h1>\n<div class=\"scroll\"><table><caption>Times in UTC; the moon’s age in "+
				"days</caption>\n<thead><tr><th>Day</th><th>Sun rises</th><th>sets</th><th "+
				"class=\"moon\">Moon</th></tr></thead>\n<tbody>\n", m.Format("January 2006"))
		for d := m; d.Month() == m.Month(); d = d.AddDate(0, 0, 1) {
			rise, set := sunTimes(d)
			age := moonAge(d)
			fmt.Fprintf(&t,
				"<tr><td>%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%d.%d</td></tr>\n",
				d.Format("Mon 2"), clock(rise), clock(set), age/10, age%10)
		}
		t.WriteString("</tbody></table></div>\n<p class=\"pager\">")
		if m.After(first) {
			fmt.Fprintf(&t, "<a rel=\"prev\" href=\"%s\">← %s</a> ", name(m.AddDate(0, -1, 0)),
				m.AddDate(0, -1, 0).Format("January"))
		}
		// A printed month knows nothing of the next: its page stays as it is. Within 2025 all months are there from
		// the start.
		if next := m.AddDate(0, 1, 0); next.Year() == 2025 {
			fmt.Fprintf(&t, "<a rel=\"next\" href=\"%s\">%s →</a>", name(next), next.Format("January"))
		}
		fmt.Fprintf(&t,
			"</p>\n<p class=\"meta\">One night at a time: <a rel=\"nofollow\" href=\"/sky/?night=%s\">tonight’s "+
				"sky</a>, a program without end.</p>", m.Format("2006-01-02"))
		files[name(m)] = b.page("Almanac for "+m.Format("January 2006"),
			"Rising and setting of the sun and the age of the moon for "+m.Format("January 2006")+".", t.String())
	}
	list.WriteString(
		"</ul>\n<p class=\"tonight\">The nights of the comet: <a href=\"/data/comet.csv\">table</a>.</p>")
	files["/almanac/"] = b.page("Almanac", "Sun and moon at Kestrel Point.", list.String())
	comet := "night,altitude\n2026-02-23,6.1\n2026-02-24,6.8\n2026-02-25,7.4\n"
	files["/data/comet.csv"] = &file{mime: "text/csv; charset=utf-8", body: []byte(comet)}
	if version >= 8 {
		files["/data/comet.json"] = &file{
			mime: "application/json",
			body: []byte(
				"{\"source\": \"/data/comet.csv\", \"nights\": [[\"2026-02-23\", 6.1], [\"2026-02-24\", 6.8], " +
					"[\"2026-02-25\", 7.4]]}\n"),
		}
	}
	return files
}
