// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"html/template"
	"time"
)

const barPage = `<!DOCTYPE html>
<html lang="{{.W.Lang}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<link rel="icon" href="/.well-known/mirrord/icon.svg" type="image/svg+xml">
<style>
:root { color-scheme: light dark } html, body { height: 100%; margin: 0 } body { display: flex; flex-direction: column }
main { flex: 1; display: flex; min-height: 0 } iframe { flex: 1; border: 0; min-width: 0 } h1 { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; margin: 0 } @media print { .bar { display: none } }
` + barStyle + `</style></head>
<body>{{template "bar" .Bar}}<main><h1>{{.Title}}</h1><iframe src="{{.Frame}}" title="{{.Title}}" allowfullscreen sandbox="allow-downloads allow-forms allow-modals allow-orientation-lock allow-pointer-lock allow-popups allow-popups-to-escape-sandbox allow-presentation allow-same-origin allow-scripts allow-top-navigation-by-user-activation"></iframe></main>
<script src="` + barScriptPath + `"></script></body></html>
`

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

// barStyle is that of a bar, on whichever page it is.
const barStyle = `.bar { display: flex; flex-wrap: wrap; gap: 4px 18px; align-items: center; padding: 6px 16px; background: #1d2530; color: #e9edf2; font: 13.5px/1.5 system-ui, sans-serif }
.bar a { color: #a9d0ff } .bar nav { display: flex; gap: 6px } .bar :focus-visible { outline: 3px solid #a9d0ff; outline-offset: 1px }
.bar .b { padding: 2px 9px; border: 1px solid #7f8b99; border-radius: 6px; background: #2b3644; color: #e9edf2; text-decoration: none; white-space: nowrap } .bar a.b:hover { background: #3a4757 } .bar .off { opacity: .45 }
.bar form { flex: 1 1 150px; max-width: 320px } .bar input { box-sizing: border-box; width: 100%; font: inherit; padding: 3px 9px; border: 1px solid #7f8b99; border-radius: 6px; background: #10161d; color: #e9edf2 } .bar ::placeholder { color: #a8b2bd; opacity: 1 }
.bar details { position: relative } .bar summary { list-style: none; cursor: pointer } .bar summary::-webkit-details-marker { display: none } .bar summary:hover, .bar [open] summary { background: #3a4757 }
.bar dl { position: absolute; z-index: 1; inset-inline-start: 0; top: 100%; box-sizing: border-box; width: 22em; max-height: 70vh; overflow: auto; margin: 9px 0 0; padding: 6px 14px; background: #1d2530; border: 1px solid #7f8b99; border-radius: 8px }
.bar dl div { display: flex; padding: 3px 0 } .bar dt { flex: none; width: 6.5em; padding: 3px 0 } .bar dd { margin: 0; display: flex; flex-wrap: wrap } .bar dd a { min-width: 1.5em; padding: 3px 5px; border-radius: 5px; text-align: center; font-variant-numeric: tabular-nums } .bar dd a:hover { background: #3a4757 } .bar [aria-current] { background: #a9d0ff; color: #10161d; font-weight: 600 } .bar a[aria-current]:hover { background: #a9d0ff }
@media (max-width: 600px) { .bar details { position: static } .bar dl { inset-inline: 0; width: auto; margin: 0; max-height: 60vh } .bar { position: relative; padding: 6px 10px; gap: 6px 12px } .bar .of { display: none } }
`

const barText = `<header class="bar" lang="{{.W.Lang}}"><span class="of">{{strong .W.Copy "site" .Of}}</span><span>{{strong .W.AsOf "date" (.W.When .Time) "n" .Number "m" .Newest}}</span>
<nav aria-label="{{.W.About}}">{{template "step" .Earlier}}{{template "step" .Later}}{{if and .Calendar (gt .Newest 1)}}<details><summary class="b">{{.W.Calendar}}</summary>{{template "days" .Calendar}}</details>{{end}}</nav>
{{with .Changed}}<a href="{{.}}">{{$.W.Changed}}</a>
{{end}}{{with .Live}}<a href="{{.}}" rel="noreferrer">{{$.W.Live}} ↗</a>
{{end}}{{with .Find}}<form action="{{.}}" role="search"><input type="hidden" name="site" value="{{$.Name}}"><input type="search" name="q" maxlength="1000" required placeholder="{{$.W.Search}}" aria-label="{{$.W.Search}}"></form>
{{end}}{{with .Alone}}<a class="b" href="{{.}}" title="{{$.W.Alone}}" referrerpolicy="origin">{{$.W.Hide}}</a>
{{end}}</header>`

const barDays = `<dl>
{{range .}}<div><dt>{{.Name}}</dt><dd>{{range .Days}}<a href="{{.Address}}" title="{{.What}}" aria-label="{{.What}}"{{if .Here}} aria-current="page"{{end}}>{{.Time.Day}}{{if .Timed}} {{.Time.Format "15:04"}}{{end}}</a>
{{end}}</dd></div>{{end}}</dl>`

// barAbove is a bar over one of our own pages.
const barAbove = `<style>body:has(.bar) { max-width: none; margin: 0; padding: 0 } .bar + main { max-width: 66rem; margin: 2rem auto; padding: 0 1rem }
` + barStyle + `</style>{{template "bar" .}}`

const barStep = `{{if .Address}}<a class="b" href="{{.Address}}" title="{{.What}}" aria-label="{{.What}}">{{.Sign}}</a>{{else}}<span class="b off" role="img" title="{{.What}}" aria-label="{{.What}}">{{.Sign}}</span>{{end}}`

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
