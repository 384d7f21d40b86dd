// SPDX-License-Identifier: Apache-2.0

package collections

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
)

// Mark is a cluster in a drawing.
type Mark struct {
	Cardinality, Size int
	Label             string
}

// Marks makes the marks of clusters, each with the name of its largest copy.
func Marks(clusters []DirCluster) []Mark {
	var out []Mark
	for i := range clusters {
		c := &clusters[i]
		out = append(out, Mark{c.Cardinality(), c.Size(), c.Copies[0].String()})
	}
	return out
}

// plotStyle has the colours of both schemes, so that a drawing looks right on a light and on a dark page.
const plotStyle = `:root{--page:#fff;--ink:#1c1e21;--soft:#62676e;--line:#d9dce0;--dot:#1f66b5}` +
	`@media(prefers-color-scheme:dark){:root{--page:#15171a;--ink:#e6e8ea;--soft:#9aa0a8;--line:#363a40;--dot:#6db0f5}}` +
	`text{font:11px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--ink)}.title{font-size:15px;font-weight:600}.soft{fill:var(--soft)}` +
	`.page{fill:var(--page)}.grid{stroke:var(--line);fill:none}.axis{stroke:var(--soft);fill:none}.end{text-anchor:end}.mid{text-anchor:middle}` +
	`.dot{fill:var(--dot);fill-opacity:.75;stroke:var(--page)}.part{fill:var(--page);stroke:var(--dot);stroke-width:1.5}.edge{stroke:var(--dot);stroke-opacity:.45;fill:none}`

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
)

// Plot draws the cardinality of clusters against the size of their collections, both logarithmic (Cho,
// Shivakumar, Garcia-Molina, figure 12). Clusters of the same cardinality and size are one mark, larger the
// more they are; the twelve with the most pages in all copies are named.
func Plot(w io.Writer, marks []Mark) error {
	const width, height, left, top, right, bottom = 900, 560, 70.0, 60.0, 870.0, 500.0
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
	slices.SortFunc(marks, func(a, b Mark) int {
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
	slices.SortStableFunc(marks, func(a, b Mark) int {
		return cmp.Compare(b.Size*b.Cardinality, a.Size*a.Cardinality)
	})
	var named [][2]float64
	for _, m := range marks {
		at := [2]float64{x(m.Size), y(m.Cardinality)}
		if len(named) == maxNamed {
			break
		}
		if slices.ContainsFunc(named, func(o [2]float64) bool {
			return math.Abs(o[1]-at[1]) < 12 && math.Abs(o[0]-at[0]) < 180
		}) {
			continue // it would stand over another name
		}
		named = append(named, at)
		if at[0] > (left+right)/2 {
			d.text("end", at[0]-9, at[1]+4, shorten(m.Label))
		} else {
			d.text("", at[0]+9, at[1]+4, shorten(m.Label))
		}
	}
	return d.end()
}

// shorten cuts a label in its middle.
func shorten(s string) string {
	r := []rune(s)
	if len(r) <= 32 {
		return s
	}
	return string(r[:15]) + "…" + string(r[len(r)-16:])
}

// PlotCluster draws the copies of a collection and which of them hold the same pages (after Cho, Shivakumar,
// Garcia-Molina, figure 2): a disc by the number of its pages, a ring when it is a partial copy, and a line
// by the number of pages that two have in common. Of a cluster without copies it draws nothing but the page.
func PlotCluster(w io.Writer, c DirCluster) error {
	const width, height, cx, cy, radius = 900, 640, 450.0, 340.0, 210.0
	shown := c.Copies[:min(len(c.Copies), maxShown)]
	title := "The copies of nothing"
	if len(shown) > 0 {
		title = "The copies of " + shown[0].String()
	}
	d := newDrawing(w, width, height, title)
	d.text("title", 30, 28, title)
	note := fmt.Sprintf("%d copies, %d pairs that hold the same pages", len(c.Copies), len(c.Pairs))
	if len(shown) < len(c.Copies) {
		note += fmt.Sprintf("; the largest %d are shown", len(shown))
	}
	d.text("soft", 30, 46, note)
	at := map[Address][2]float64{}
	for i, cp := range shown {
		angle := 2*math.Pi*float64(i)/float64(len(shown)) - math.Pi/2
		at[cp.Address] = [2]float64{cx + radius*math.Cos(angle), cy + radius*math.Sin(angle)}
	}
	for _, p := range c.Pairs {
		a, okA := at[p.A]
		b, okB := at[p.B]
		if okA && okB {
			d.printf(
				`<path class="edge" stroke-width="%.1f" d="M%.1f %.1fL%.1f %.1f"><title>%s and %s: %d pages</title></path>`+"\n",
				0.5+math.Log10(float64(max(p.Pages, 1))), a[0], a[1], b[0], b[1], escape(p.A.String()),
				escape(p.B.String()), p.Pages)
		}
	}
	for _, cp := range shown {
		p, class := at[cp.Address], "dot"
		if cp.Share < 0.9 {
			class = "part"
		}
		d.printf(`<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s: %d pages</title></circle>`+"\n", class,
			p[0], p[1], 4+2*math.Log10(float64(max(cp.Pages, 1))), escape(cp.String()), cp.Pages)
		name := fmt.Sprintf("%s (%d)", shorten(cp.String()), cp.Pages)
		switch {
		case math.Abs(p[0]-cx) < 1:
			d.text("mid", p[0], p[1]+math.Copysign(18, p[1]-cy), name)
		case p[0] > cx:
			d.text("", p[0]+14, p[1]+4, name)
		default:
			d.text("end", p[0]-14, p[1]+4, name)
		}
	}
	return d.end()
}
