// SPDX-License-Identifier: Apache-2.0

package drawings

import (
	"bufio"
	"cmp"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mirrord/replica/collections"
)

// PlotMark is a cluster in a drawing.
type PlotMark struct {
	Cardinality, Size int
	Label             string
}

// Marks makes the marks of clusters, each with the name of its largest copy.
func Marks(clusters []collections.DirCluster) []PlotMark {
	var out []PlotMark
	for i := range clusters {
		c := &clusters[i]
		out = append(out, PlotMark{len(c.Copies), c.Size(), c.Copies[0].String()})
	}
	return out
}

// plotStyle has the colours of both schemes, so that a drawing looks right on a light and on a dark page.
const plotStyle = `:root{--page:#fff;--ink:#1c1e21;--soft:#62676e;--line:#d9dce0;--dot:#1f66b5;--exact:#1f66b5;--near:#a65e00;--partial:#8a3a8f}` +
	`@media(prefers-color-scheme:dark){:root{--page:#15171a;--ink:#e6e8ea;--soft:#9aa0a8;--line:#363a40;--dot:#6db0f5;--exact:#6db0f5;--near:#f0a94a;--partial:#dd94e0}}` +
	`text{font:11px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--ink)}.title{font-size:15px;font-weight:600}.soft{fill:var(--soft)}` +
	`.number{font-weight:600}.exact{--as:var(--exact)}.near{--as:var(--near)}.partial{--as:var(--partial)}` +
	`.copy{fill:var(--as);stroke:var(--page)}.like{stroke:var(--as);fill:none}.like.near{stroke-dasharray:7 4}.like.partial{stroke-dasharray:2 4}` +
	`.page{fill:var(--page)}.grid{stroke:var(--line);fill:none}.axis{stroke:var(--soft);fill:none}.end{text-anchor:end}.mid{text-anchor:middle}` +
	`.dot{fill:var(--dot);fill-opacity:.75;stroke:var(--page)}`

type drawing struct{ w *bufio.Writer }

func newDrawing(w io.Writer, width, height int, title string) drawing {
	d := drawing{bufio.NewWriter(w)}
	d.printf(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img"><title>%s</title><style>%s</style>`+"\n", width, height, width, height, escape(title), plotStyle)
	d.printf(`<rect class="page" width="%d" height="%d"/>`+"\n", width, height)
	return d
}

func (d drawing) printf(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

func (d drawing) text(class string, x, y float64, text string) {
	d.printf(`<text class="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, x, y, escape(text))
}

func (d drawing) line(class string, x1, y1, x2, y2 float64) {
	d.printf(`<path class="%s" d="M%.1f %.1fL%.1f %.1f"/>`+"\n", class, x1, y1, x2, y2)
}

func (d drawing) end() error {
	d.printf("</svg>\n")
	return d.w.Flush()
}

// escape writes text as XML has it: what XML has no place for, as some addresses hold it, becomes U+FFFD.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\t' && r != '\n') || r == 0xfffe || r == 0xffff {
			return utf8.RuneError
		}
		return r
	}, s))
}

// How many marks are named, and how many copies a graph shows.
const (
	maxNamed = 12
	maxShown = 40
	keyRow   = 16.0
)

// Plot draws the cardinality of clusters against the size of their collections, both logarithmic (Cho,
// Shivakumar, Garcia-Molina, figure 12). Clusters of the same cardinality and size are one mark, larger the
// more they are; the twelve with the most pages in all copies are named.
func Plot(w io.Writer, marks []PlotMark) error {
	const width, left, top, right, bottom = 900, 70.0, 60.0, 870.0, 500.0
	height := 580
	if n := min(len(marks), maxNamed); n > 0 {
		height += n*keyRow + 10
	}
	d := newDrawing(w, width, height, "Cardinality of replicated collections against their size")
	d.text("title", left, 28, "Replicated collections")
	d.text("soft", left, 46,
		fmt.Sprintf("%d clusters: how many copies a collection has, by the pages of its largest copy", len(marks)))
	maxX, maxY := 10.0, 10.0
	for _, m := range marks {
		maxX, maxY = max(maxX, float64(m.Size)), max(maxY, float64(m.Cardinality))
	}
	maxX, maxY = math.Ceil(math.Log10(maxX)+0.01), math.Ceil(math.Log10(maxY)+0.01)
	x := func(v int) float64 { return left + math.Log10(float64(max(v, 1)))/maxX*(right-left) }
	y := func(v int) float64 { return bottom - math.Log10(float64(max(v, 1)))/maxY*(bottom-top) }
	for e, v := 0, 1; e <= int(maxX); e, v = e+1, v*10 {
		d.line("grid", x(v), top, x(v), bottom)
		d.text("soft mid", x(v), bottom+18, strconv.Itoa(v))
	}
	for e, v := 0, 1; e <= int(maxY); e, v = e+1, v*10 {
		d.line("grid", left, y(v), right, y(v))
		d.text("soft end", left-8, y(v)+4, strconv.Itoa(v))
	}
	d.line("axis", left, bottom, right, bottom)
	d.line("axis", left, top, left, bottom)
	d.text("mid", (left+right)/2, bottom+40, "pages of the collection")
	d.printf(`<text class="mid" transform="translate(22 %.0f) rotate(-90)">copies</text>`+"\n", (top+bottom)/2)
	marks = slices.Clone(marks)
	slices.SortFunc(marks, func(a, b PlotMark) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Cardinality, b.Cardinality),
			cmp.Compare(a.Label, b.Label))
	})
	for from := 0; from < len(marks); {
		to := from + 1
		for to < len(marks) && marks[to].Size == marks[from].Size &&
			marks[to].Cardinality == marks[from].Cardinality {
			to++
		}
		m, n := marks[from], to-from
		d.printf(`<circle class="dot" cx="%.1f" cy="%.1f" r="%.1f"><title>%s: %d copies, %d pages`, x(m.Size),
			y(m.Cardinality), 3+2*math.Log2(float64(n)), escape(m.Label), m.Cardinality, m.Size)
		if n > 1 {
			d.printf(" (and %d more like it)", n-1)
		}
		d.printf("</title></circle>\n")
		from = to
	}
	d.key(marks, left, bottom+70, func(m PlotMark) (float64, float64) { return x(m.Size), y(m.Cardinality) })
	return d.end()
}

// key numbers the clusters of most pages in all copies, and lists their names below the drawing, which are
// too long to stand beside dots that are near to one another.
func (d drawing) key(marks []PlotMark, left, top float64, at func(PlotMark) (x, y float64)) {
	slices.SortStableFunc(marks, func(a, b PlotMark) int {
		return cmp.Compare(b.Size*b.Cardinality, a.Size*a.Cardinality)
	})
	named := marks[:min(len(marks), maxNamed)]
	if len(named) > 0 {
		d.text("title", left, top, "The largest")
	}
	var taken [][2]float64
	for i, m := range named {
		x, y := at(m)
		n := strconv.Itoa(i + 1)
		for _, by := range [][2]float64{{9, 4}, {-18, 4}, {-3, -9}, {-3, 18}, {22, 4}, {-32, 4}} {
			place := [2]float64{x + by[0], y + by[1]}
			if slices.ContainsFunc(taken, func(o [2]float64) bool {
				return math.Abs(o[0]-place[0]) < 14 && math.Abs(o[1]-place[1]) < 11
			}) {
				continue
			}
			taken = append(taken, place)
			d.text("number", place[0], place[1], n)
			break
		}
		row := top + float64(i+1)*keyRow
		d.text("number end", left+14, row, n)
		says := fmt.Sprintf("%s: %d copies of %d pages", shortenTo(m.Label, 100), m.Cardinality, m.Size)
		d.text("", left+24, row, says)
	}
}

// shorten cuts a label in its middle.
func shorten(s string) string { return shortenTo(s, 32) }

func shortenTo(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most/2-1]) + "…" + string(r[len(r)-most/2:])
}
