// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"mirrord/internal/count"
)

// exact writes a time with its zone, that of the server. The script of the pages writes it in the reader's.
func exact(t time.Time) string { return t.Local().Format("2 Jan 2006, 15:04 MST") }

// timeTag is a time as people say it, with the exact one for the pointer, programs and readers of screens.
func timeTag(t time.Time, text string) template.HTML {
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, t.UTC().Format(time.RFC3339),
		exact(t), template.HTMLEscapeString(text)))
}

// when is a time of which a reader wants to know the hour: a script shows it in the zone of the browser.
func when(t time.Time) template.HTML {
	return template.HTML(strings.Replace(string(timeTag(t, exact(t))), "<time ", `<time class="when" `, 1))
}

// ago says how long ago a time was: "4 min ago", "yesterday", "9 days ago".
func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < time.Minute:
		return "just now"
	case d/(24*time.Hour) == 1:
		return "yesterday"
	case d < 60*24*time.Hour:
		return count.Ago(d) + " ago"
	}
	return t.Local().Format("2 Jan 2006")
}

// soon says when something will be: "in 14 min", "Sun 02:00", "3 Jan 02:00". The zone is that of the job.
func soon(now, t time.Time, zone string) string {
	at, err := time.LoadLocation(zone)
	if err != nil || zone == "" {
		at = time.Local
	}
	switch d := t.Sub(now); {
	case d < time.Minute:
		return "now"
	case d < 24*time.Hour:
		return "in " + count.Ago(d)
	case d < 7*24*time.Hour:
		return t.In(at).Format("Mon 15:04")
	}
	return t.In(at).Format("2 Jan 15:04")
}
