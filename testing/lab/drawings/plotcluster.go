// SPDX-License-Identifier: Apache-2.0

package drawings

import (
	"fmt"
	"io"
	"math"

	"mirrord/replica/collections"
)

// likeness is how much two copies have in common, as a class of the drawing: each has a colour, and a shape
// and a kind of line for those who do not see it.
type likeness string

const (
	exact   likeness = "exact"   // the pages that were looked at have the same words, and none is missing
	near    likeness = "near"    // nine tenths of the pages of both are the same or nearly
	partial likeness = "partial" // one has a part of the other, or both have a part in common
)

// likenessOf is that of the two directories of a pair.
func likenessOf(p *collections.DirPair) likeness {
	most := float64(max(p.OfA, p.OfB))
	switch {
	case p.Places >= placesEnough && p.Same == p.Places && float64(p.Pages) >= allOf*most:
		return exact
	case float64(p.Pages) >= nearlyAllOf*most:
		return near
	}
	return partial
}

const (
	allOf        = 0.98
	nearlyAllOf  = 0.9
	placesEnough = 8 // places that both have: with fewer nothing is said, as package collections has it
)

// PlotCluster draws the copies of a collection and how much they are like one another (after Cho,
// Shivakumar, Garcia-Molina, figure 2): each copy by its likeness to the fullest one, larger the more pages
// it has, and lines between those that hold the same pages. Of a cluster without copies it draws nothing but
// the page.
func PlotCluster(w io.Writer, c collections.DirCluster) error {
	const width, height, cx, cy, radius = 900, 680, 450.0, 340.0, 210.0
	shown := c.Copies[:min(len(c.Copies), maxShown)]
	title := "The copies of nothing"
	if len(shown) > 0 {
		title = "The copies of " + shown[0].String()
	}
	d := newDrawing(w, width, height, title)
	d.text("title", 30, 28, title)
	note := fmt.Sprintf("%d copies; lines join those that hold the same pages", len(c.Copies))
	if len(shown) < len(c.Copies) {
		note += fmt.Sprintf("; the fullest %d are shown", len(shown))
	}
	d.text("soft", 30, 46, note)
	at := map[collections.Address][2]float64{}
	for i, cp := range shown {
		angle := 2*math.Pi*float64(i)/float64(len(shown)) - math.Pi/2
		at[cp.Address] = [2]float64{cx + radius*math.Cos(angle), cy + radius*math.Sin(angle)}
	}
	toFirst := map[collections.Address]likeness{}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		a, okA := at[p.A]
		b, okB := at[p.B]
		if !okA || !okB {
			continue
		}
		how := likenessOf(p)
		switch shown[0].Address {
		case p.A:
			toFirst[p.B] = how
		case p.B:
			toFirst[p.A] = how
		}
		d.printf(`<path class="like %s" stroke-width="%.1f" d="M%.1f %.1fL%.1f %.1f"><title>%s and %s: `+
			"%d pages in common</title></path>\n", how, 0.7+math.Log10(float64(max(p.Pages, 1))), a[0], a[1], b[0],
			b[1], escape(p.A.String()), escape(p.B.String()), p.Pages)
	}
	for i, cp := range shown {
		p, how := at[cp.Address], toFirst[cp.Address]
		if how == "" {
			how = likenessTo(&shown[0], &cp)
		}
		if i == 0 {
			how = exact
		}
		hint := fmt.Sprintf("%s: %d pages, %d in common with the first", cp.String(), cp.Pages, cp.Shared)
		d.shape(how, p[0], p[1], 4+2*math.Log10(float64(max(cp.Pages, 1))), hint)
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
	d.legend(30, height-52)
	return d.end()
}

// likenessTo is that of a copy of which no pair with the first one is known, but how many pages they share.
func likenessTo(first, cp *collections.Copy) likeness {
	if float64(cp.Shared) >= nearlyAllOf*float64(max(cp.Pages, first.Pages)) {
		return near
	}
	return partial
}

// shape draws a copy: a disc, a square or a triangle.
func (d drawing) shape(how likeness, x, y, r float64, hint string) {
	hint = escape(hint)
	switch how {
	case exact:
		d.printf(`<circle class="copy exact" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`+"\n", x, y, r,
			hint)
	case near:
		d.printf(`<rect class="copy near" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`+"\n",
			x-0.9*r, y-0.9*r, 1.8*r, 1.8*r, hint)
	case partial:
		d.printf(`<polygon class="copy partial" points="%.1f,%.1f %.1f,%.1f %.1f,%.1f"><title>%s</title></polygon>`+
			"\n", x, y-1.2*r, x+1.1*r, y+0.8*r, x-1.1*r, y+0.8*r, hint)
	}
}

// legend says what shapes, lines and colours mean.
func (d drawing) legend(x, y float64) {
	for i, l := range []struct {
		how  likeness
		says string
	}{
		{exact, "exact: the same words on all pages"},
		{near, "near: nine tenths of the pages are the same or nearly"},
		{partial, "partial: a part of the pages"},
	} {
		row := y + float64(i)*keyRow
		d.printf(`<path class="like %s" stroke-width="2" d="M%.1f %.1fh34"/>`+"\n", l.how, x, row-4)
		d.shape(l.how, x+50, row-4, 6, string(l.how))
		d.text("", x+66, row, l.says)
	}
}
