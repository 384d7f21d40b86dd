// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"mirrord/evolution/policy"
	"mirrord/internal/count"
)

// Plot writes an SVG: the trade-off when there are curves, and below it the picture when there is one. It
// needs no scripts, and has colours for light and dark pages.
func Plot(w io.Writer, title string, curves []Curve, p *Picture) error {
	height := 40.0
	rows := [2][]Curve{} // by requests, by bytes
	for _, c := range curves {
		rows[boolInt(c.Bytes)] = append(rows[boolInt(c.Bytes)], c)
	}
	for _, row := range rows {
		if len(row) > 0 {
			height += panelHeight + rowRest
		}
	}
	top := height
	if p != nil {
		height += p.height()
	}
	s := newSVG(w, drawWidth, int(height), title)
	s.text("title", 16, 26, title)
	if row := rows[0]; len(row) > 0 {
		s.panel(crPanel(row), row)
		s.panel(stalePanel(), row)
		s.legend(60, 70+panelHeight+56)
	}
	if row := rows[1]; len(row) > 0 {
		for _, d := range []panel{crPanel(row), stalePanel()} {
			d.y, d.bytes = d.y+panelHeight+rowRest, true
			s.panel(d, row)
		}
		s.legendBytes(60, 70+2*panelHeight+rowRest+56)
	}
	if p != nil {
		p.draw(s, top)
	}
	return s.end()
}

// rowRest is what a row of diagrams takes beside its panels, in pixels.
const rowRest = 110.0

// The measures of a picture, in pixels.
const (
	cellHeight  = 13.0
	cellsLeft   = 262.0
	cellsWidth  = 630.0
	barsHeight  = 34.0
	pictureHead = 132.0 // above the cells
)

func (p *Picture) height() float64 { return pictureHead + cellHeight*float64(len(p.rows)) + 66 }

// shadeOf is the class of a degree of change; shadeLimits are the upper ends of all but the last.
func shadeOf(doc float64) int {
	for i, limit := range shadeLimits() {
		if doc <= limit {
			return i
		}
	}
	return 5
}

func shadeLimits() []float64 { return []float64{0, 0.02, 0.1, 0.3, 0.6} }

func (p *Picture) draw(s *svg, top float64) {
	steps := len(p.h.Versions) - 1
	wide := cellsWidth / float64(max(1, steps))
	x := func(step int) float64 { return cellsLeft + wide*float64(step) }
	t := p.r.Total
	s.text("head", 16, top+4, fmt.Sprintf("%s by %s", p.shown(), p.stepName()))
	quiet := ""
	if t.Quiet != nil {
		quiet = fmt.Sprintf(" (%.1f %% in quiet %s)", 100**t.Quiet, p.stepName())
	}
	s.text("soft", 16, top+20,
		fmt.Sprintf("%s: asked %.1f %% of what full syncs ask%s, CR %s (pooled %s), stale %.2f %%",
			p.setting(), 100*t.Req, quiet, measureText(t.CR), measureText(t.CRMicro), 100*t.Stale))
	p.bars(s, top+34, x, wide)
	y := top + pictureHead
	for i := range p.rows {
		p.row(s, &p.rows[i], y+cellHeight*float64(i), x, wide)
	}
	bottom := y + cellHeight*float64(len(p.rows))
	s.line("axis", x(p.o.Train-1), top+34, x(p.o.Train-1), bottom+4)
	s.text("small end", x(p.o.Train-1)-4, bottom+14, fmt.Sprintf("%d full syncs", p.o.Train))
	s.text("small", x(p.o.Train-1)+4, bottom+14, "the policy asks")
	every := max(1, int(math.Ceil(80/wide)))
	for i := 0; i < steps; i += every {
		s.text("small", x(i), y-5, p.h.Versions[i+1].Time.Format("2006-01-02"))
	}
	p.pictureLegend(s, bottom+40)
}

func measureText(v *float64) string {
	if v == nil {
		return "undefined"
	}
	return fmt.Sprintf("%.3f", *v)
}

func (p *Picture) shown() string {
	if len(p.rows) == p.dirs {
		return fmt.Sprintf("All %d directories", p.dirs)
	}
	return fmt.Sprintf("%d of %d directories, those in which most happened,", len(p.rows), p.dirs)
}

func (p *Picture) stepName() string {
	if p.h.Header["step_days"] == "7" {
		return "weeks"
	}
	return "versions"
}

func (p *Picture) setting() string {
	o := p.o
	of, _ := o.Policies.Find(o.Policy)
	switch {
	case of.Rules:
		return fmt.Sprintf("%s, alpha %v, beta %v, gamma %v, confidence %v, zero %v", o.Policy, o.Near.MinDoC,
			o.Near.MinFoC, o.Near.MinCoC, o.Near.MinConfidence, o.Near.Zero)
	case of.Weighs && o.Price < 0 && o.Budget > 0:
		return fmt.Sprintf("%s, budget %v", o.Policy, o.Budget)
	case of.Weighs && (o.Price == 0):
		return fmt.Sprintf("%s, price %v", o.Policy, policy.DefaultPrice)
	case of.Weighs && o.Price > 0:
		return fmt.Sprintf("%s, price %v", o.Policy, o.Price)
	case of.Weighs:
		return string(o.Policy) + ", no price"
	}
	return string(o.Policy)
}

// bars draws, for each step, how much of the site changed and how much was requested.
func (p *Picture) bars(s *svg, top float64, x func(int) float64, wide float64) {
	most := 0.0
	changes := make([]float64, len(p.h.Versions)-1)
	for i := range changes {
		v := &p.h.Versions[i+1]
		changes[i] = share(len(v.Changes), max(v.Files, p.h.Versions[i].Files))
		most = max(most, changes[i])
	}
	var changed, asked strings.Builder
	for i, c := range changes {
		if c > 0 {
			h := max(1, barsHeight*math.Sqrt(c/most))
			box(&changed, x(i)+.4, top+barsHeight-h, wide-.8, h)
		}
	}
	base := top + 2*barsHeight + 8
	for i := range changes[:min(len(changes), p.o.Train-1)] {
		box(&asked, x(i)+.4, base-barsHeight, wide-.8, barsHeight)
	}
	for _, st := range p.r.Steps {
		if h := barsHeight * min(1.2, share(st.Requests, st.Full)); h > 0 {
			box(&asked, x(st.Version-1)+.4, base-h, wide-.8, h)
		}
	}
	s.path("bar", changed.String())
	s.path("asked", asked.String())
	s.text("end", cellsLeft-8, top+barsHeight-8, "changed")
	s.text("small end", cellsLeft-8, top+barsHeight+3, "share of files, root scale")
	s.text("small", cellsLeft+cellsWidth+6, top+8, fmt.Sprintf("%.2g %%", 100*most))
	s.text("end", cellsLeft-8, base-12, "asked")
	s.text("small end", cellsLeft-8, base-1, "share of a full sync")
	s.text("small", cellsLeft+cellsWidth+6, base-barsHeight+8, "100 %")
	s.line("grid", cellsLeft, base, cellsLeft+cellsWidth, base)
	s.line("grid", cellsLeft, top+barsHeight, cellsLeft+cellsWidth, top+barsHeight)
}

func (p *Picture) row(s *svg, r *pictureRow, y float64, x func(int) float64, wide float64) {
	label := r.label
	if room := 38 - 2*r.depth; utf8.RuneCountInString(label) > room {
		runes := []rune(label)
		label = string(runes[:room/2-1]) + "…" + string(runes[len(runes)-room/2:])
	}
	s.text("", 16+10*float64(r.depth), y+10, label)
	s.text("small", cellsLeft+cellsWidth+6, y+10, count.Of(r.files, "file"))
	const h = cellHeight - 1.5
	var shades [6]strings.Builder
	var blind, few, miss strings.Builder
	run := func(i int, in func(c *pictureCell) bool) int {
		n := 0
		for i+n < len(r.cells) && in(&r.cells[i+n]) {
			n++
		}
		return n
	}
	quiet := func(c *pictureCell) bool { return c.there && c.doc == 0 }
	for i := 0; i < len(r.cells); i++ {
		if c := &r.cells[i]; c.there && c.doc > 0 {
			box(&shades[shadeOf(c.doc)], x(i)+.4, y, wide-.8, h)
			if c.miss {
				disc(&miss, x(i)+wide/2, y+h/2, min(2.6, wide/3))
			}
		} else if n := run(i, quiet); n > 0 {
			box(&shades[0], x(i), y, wide*float64(n), h)
			i += n - 1
		}
	}
	for to, in := range map[*strings.Builder]func(c *pictureCell) bool{
		&blind: func(c *pictureCell) bool { return c.blind },
		&few:   func(c *pictureCell) bool { return c.few },
	} {
		for i := 0; i < len(r.cells); i++ {
			if n := run(i, in); n > 0 {
				fmt.Fprintf(to, "M%s %sh%s", num(x(i)), num(y+h/2), num(wide*float64(n)))
				i += n - 1
			}
		}
	}
	for i := range shades {
		s.path(fmt.Sprintf("d%d", i), shades[i].String())
	}
	s.path("skip", blind.String())
	s.path("few", few.String())
	s.path("miss", miss.String())
}

// pictureLegend explains shades and marks.
func (p *Picture) pictureLegend(s *svg, y float64) {
	x := 16.0
	s.text("", x, y, "degree of change (DoC):")
	x += 138
	limits := shadeLimits()
	for i := range 6 {
		var label string
		switch i {
		case 0:
			label = "0"
		case 5:
			label = fmt.Sprintf("> %v", limits[4])
		default:
			label = fmt.Sprintf("≤ %v", limits[i])
		}
		s.rect(fmt.Sprintf("d%d", i), x, y-9, 14, 11)
		s.text("small", x+18, y, label)
		x += 62
	}
	s.line("skip", x, y-4, x+24, y-4)
	s.text("small", x+30, y, "nothing in it asked")
	s.line("few", x+136, y-4, x+160, y-4)
	s.text("small", x+166, y, "less than a tenth")
	var b strings.Builder
	disc(&b, x+266, y-4, 2.6)
	s.path("miss", b.String())
	s.text("small", x+274, y, "a change was not found")
}
