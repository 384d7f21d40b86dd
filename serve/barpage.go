// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"html/template"
	"time"
)

// barScript shows the part of the page that the address names, gives the page the keyboard, and closes the
// calendar when the reader is elsewhere.
const barScript = `"use strict";
{
	const frame = document.querySelector("iframe"), src = frame.src
	const part = () => { frame.src = src + location.hash }
	if (location.hash) part()
	addEventListener("hashchange", part)
	const close = () => { for (const d of document.querySelectorAll("details")) d.open = false }
	addEventListener("blur", close)
	addEventListener("keydown", e => { if (e.key === "Escape") close() })
	frame.addEventListener("load", () => { if (document.activeElement === document.body) frame.focus() })
}
`

const barScriptPath = wellKnown + "bar.js"

// bar is what a bar says.
type bar struct {
	W              *words
	Name, Of       string // the mirror, and whose copy it is
	Time           time.Time
	Number, Newest int // of the version
	Earlier, Later barLink
	Here           string // the page in this version; "" when it lacks it
	Changed        string // what made it so; "" when it did not change
	Live           string // the page at its origin; "" without one
	Find           string // where texts are searched; "" when they are not
	Alone          string // the page without its bar
	Calendar       []barMonth
}

// barMonth are the versions of a month in the calendar.
type barMonth struct {
	Name string
	Days []barDay
}

// barDay is one version in the calendar.
type barDay struct {
	Time          time.Time
	Timed         bool // there are others of that day
	Address, What string
	Here          bool // it is the one that is shown
}

// barLink is a link to the version before or after; Address is "" without one.
type barLink struct{ Sign, Address, What, Day string }

// strong is say for a page, with bold values.
func strong(s string, values ...any) template.HTML {
	for i := 1; i < len(values); i += 2 {
		in, ok := values[i].(template.HTML)
		if !ok {
			in = template.HTML(template.HTMLEscaper(values[i]))
		}
		values[i] = "<b>" + in + "</b>"
	}
	return template.HTML(say(template.HTMLEscapeString(s), values...))
}
