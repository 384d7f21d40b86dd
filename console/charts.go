// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/internal/count"
	"mirrord/scheduler/status"
)

// runsShown is how many runs the strip and the page of a job show.
const runsShown = 30

// Measures of the strip of the last runs, in pixels.
const (
	stripStep = 6 // from bar to bar
	stripHigh = 22
	stripLow  = 7 // a run that changed nothing
)

// runClass is the colour of how a run ended.
func runClass(verdict string) string {
	switch verdict {
	case status.VerdictComplete:
		return "good"
	case status.VerdictError:
		return "bad"
	}
	return "warn"
}

// strip draws how the last runs ended, oldest first, a bar for each; its height is how much changed, in a
// logarithmic scale. runs has the newest first.
func strip(runs []status.Run) template.HTML {
	if len(runs) == 0 {
		return ""
	}
	most := 1
	ended := map[string]int{}
	for _, r := range runs {
		most = max(most, r.Added+r.Changed+r.Removed)
		ended[runClass(r.Verdict)]++
	}
	paths := map[string]*strings.Builder{"good": {}, "warn": {}, "bad": {}}
	for i, r := range runs {
		share := math.Log1p(float64(r.Added+r.Changed+r.Removed)) / math.Log1p(float64(most))
		high := stripLow + int(math.Round(share*(stripHigh-stripLow)))
		x := stripStep * (runsShown - 1 - i)
		fmt.Fprintf(paths[runClass(r.Verdict)], "M%d %dv-%dh4v%dz", x, stripHigh, high, high)
	}
	says := fmt.Sprintf("%s: %d complete, %d held, incomplete or with missing resources, %d failed",
		count.Of(len(runs), "last run"), ended["good"], ended["warn"], ended["bad"])
	var b strings.Builder
	wide := stripStep*runsShown - 2
	fmt.Fprintf(&b, `<svg class="strip" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`,
		wide, stripHigh, wide, stripHigh, says)
	for _, class := range []string{"good", "warn", "bad"} {
		if d := paths[class].String(); d != "" {
			fmt.Fprintf(&b, `<path class="%s" d="%s"/>`, class, d)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// part is a piece of a bar: its colour, and how much it stands for. A negative one is drawn below the line.
type part struct {
	class string
	n     int64
}

// bar is a column of a chart.
type bar struct {
	says  string // for the pointer
	parts []part // from the line away
}

// Measures of a chart, in pixels.
const (
	chartWide = 340
	chartHigh = 130
	chartLeft = 58 // for the numbers of the axis
	chartFoot = 16 // for the dates
	dwarfs    = 4  // a bar that is so many times the next one, as that of a first run, is cut
)

// chart draws bars over the runs that they are of, oldest first. label says what they show; text writes a
// number of the axis. A single bar that dwarfs the others is cut, with its number beside it.
func chart(
	label string, runs []status.Run, text func(int64) string, barOf func(*status.Run) bar,
) template.HTML {
	bars := make([]bar, 0, len(runs))
	var top, next, low int64 // the highest bar, the one after it, the lowest
	for i := len(runs) - 1; i >= 0; i-- {
		b := barOf(&runs[i])
		bars = append(bars, b)
		var up, down int64
		for _, p := range b.parts {
			up, down = up+max(0, p.n), down+min(0, p.n)
		}
		top, next, low = max(top, up), max(next, min(top, up)), min(low, down)
	}
	marked, cut := max(top, 1), top+1 // the number of the axis; from which height on a bar is cut
	if top = marked; next > 0 && top >= dwarfs*next {
		marked, cut, top = next, top, next+max(1, next/4)
	}
	scale := float64(chartHigh-chartFoot-10) / float64(top-low)
	y := func(n int64) float64 { return 10 + float64(top-min(n, top))*scale }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWide, chartHigh,
		html.EscapeString(label))
	step := min(26, float64(chartWide-chartLeft)/float64(max(1, len(bars))))
	for i, column := range bars {
		x := chartLeft + float64(i)*step
		fmt.Fprintf(&b, `<g><title>%s</title>`, html.EscapeString(column.says))
		var up, down int64
		for _, p := range column.parts {
			if p.n == 0 {
				continue
			}
			from := &up
			if p.n < 0 {
				from = &down
			}
			a, z := y(*from), y(*from+p.n)
			*from += p.n
			fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, p.class, x,
				min(a, z), step-2, max(a, z)-min(a, z))
		}
		if up >= cut {
			fmt.Fprintf(&b, `<path class="cut" d="M%.1f 20l%.1f -6"/>`, x-1, step)
			at, anchor := x+step+2, "start"
			if 2*i > len(bars) {
				at, anchor = x-4, "end"
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="10" text-anchor="%s">%s</text>`, at, anchor,
				html.EscapeString(text(up)))
		}
		b.WriteString("</g>")
	}
	fmt.Fprintf(&b, `<path class="zero" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`,
		chartLeft, y(0), chartWide, chartLeft-6, y(marked)+4, html.EscapeString(text(marked)))
	if low < 0 {
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, chartLeft-6, y(low), text(low))
	}
	if n := len(runs); n > 0 {
		day := func(t time.Time) string { return t.Local().Format("2 Jan") }
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, chartLeft, chartHigh-2, day(runs[n-1].Started))
		if last := float64(chartLeft) + float64(n)*step; n > 5 {
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="end">%s</text>`, last-2, chartHigh-2,
				day(runs[0].Started))
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// runChart is a chart of the last runs, with the last of them in words.
type runChart struct {
	Title, Big, Says string
	Drawn            template.HTML
	Legend           [][2]string // class and label of each colour
}

// runCharts draws what the last runs cost and found; nothing for a single run. runs has the newest first.
func runCharts(runs []status.Run) []runChart {
	if len(runs) < 2 {
		return nil
	}
	when := func(r *status.Run) string { return exact(r.Started) + ": " }
	plain := func(n int64) string { return strconv.FormatInt(max(n, -n), 10) }
	last := &runs[0]
	requests := runChart{
		Title:  "Requests per run",
		Big:    plain(last.Requests),
		Says:   fmt.Sprintf("of %d last time, %d skipped", last.Requests+last.Skipped(), last.Skipped()),
		Legend: [][2]string{{"ask", "requested"}, {"skip", "skipped"}},
	}
	requests.Drawn = chart("Requests made and skipped, by run", runs, plain, func(r *status.Run) bar {
		n := r.Skipped()
		return bar{fmt.Sprintf("%s%d requests, %d skipped", when(r), r.Requests, n),
			[]part{{"ask", r.Requests}, {"skip", n}}}
	})
	changed, files, _ := strings.Cut(count.Of(last.Added+last.Changed+last.Removed, "file"), " ")
	changes := runChart{
		Title:  "Changes per run",
		Big:    changed,
		Says:   files + " last time",
		Legend: [][2]string{{"good", "added"}, {"warn", "changed"}, {"bad", "removed"}},
	}
	changes.Drawn = chart("Files added, changed and removed, by run", runs, plain, func(r *status.Run) bar {
		return bar{fmt.Sprintf("%s%d added, %d changed, %d removed", when(r), r.Added, r.Changed, r.Removed),
			[]part{{"good", int64(r.Added)}, {"warn", int64(r.Changed)}, {"bad", -int64(r.Removed)}}}
	})
	simple := func(
		title, says string, runs []status.Run, text func(int64) string, of func(*status.Run) int64,
	) runChart {
		return runChart{
			Title: title,
			Big:   text(of(&runs[0])),
			Says:  says,
			Drawn: chart(title, runs, text, func(r *status.Run) bar {
				return bar{when(r) + text(of(r)), []part{{"ask", of(r)}}}
			}),
		}
	}
	span := func(n int64) string { return count.Took(time.Duration(n)) }
	received := func(r *status.Run) int64 { return r.Received }
	took := func(r *status.Run) int64 { return int64(r.Ended.Sub(r.Started)) }
	charts := []runChart{
		requests,
		changes,
		simple("Received per run", "last time", runs, count.Bytes, received),
		simple("Duration of runs", "last time", runs, span, took),
	}
	published := slices.DeleteFunc(slices.Clone(runs), func(r status.Run) bool {
		return !r.Published || (r.NewBytes == 0 && r.Added+r.Changed > 0) // of a program that did not count them
	})
	if len(published) > 0 {
		says := fmt.Sprintf("in new and changed files of version %d", published[0].Version)
		added := func(r *status.Run) int64 { return r.NewBytes }
		charts = append(charts, simple("Added by version", says, published, count.Bytes, added))
	}
	return charts
}
