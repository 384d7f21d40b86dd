// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"math"
	"slices"

	"mirrord/app/spaces"
	"mirrord/internal/count"
	"mirrord/phm/space"
)

// spaceView is a space as its page shows it.
type spaceView struct {
	spaces.LookedSpace
	Rows  []spaceRow
	Graph *spaceGraph // nil: of one mirror, or of too many to be told apart
}

// spaceRow is a mirror of a space.
type spaceRow struct {
	Name         string
	Files, Pages int
	To, By       []space.Count // files of one mirror to which pages of another one lead
	Note         string
}

// spaceGraph is the picture of a space: its mirrors on a circle, with arrows.
type spaceGraph struct {
	Width, Height int
	Nodes         []graphNode
	Edges         []graphEdge
}

type graphNode struct {
	Name, Anchor   string
	X, Y           int
	LabelX, LabelY int
}

type graphEdge struct {
	Path, What string
	Thick      string
}

// Of the picture, in pixels; mostDrawn is how many mirrors it has at most.
const (
	mostDrawn   = 24
	graphWidth  = 640
	graphHeight = 420
	graphRadius = 150
	nodeRadius  = 7
)

// spacesPage shows the spaces: their mirrors, the links between them, and what else would be worth a mirror.
func spacesPage(v *visit) error {
	all, err := spaces.Spaces(v.r.Context(), v.App, spaces.SpaceRequest{})
	if err != nil {
		return err
	}
	var shown []spaceView
	for i := range all {
		shown = append(shown, viewSpace(&all[i]))
	}
	return v.show("spaces.html", "Spaces", shown)
}

func viewSpace(s *spaces.LookedSpace) spaceView {
	d := spaceView{LookedSpace: *s}
	at := map[string]int{}
	for i, m := range s.Mirrors {
		row := spaceRow{
			Name:  m.Name,
			Files: m.Files,
			Pages: m.Pages,
			To:    m.To,
		}
		switch {
		case s.Left[m.Name] != "":
			row.Note = "stays as it was: " + s.Left[m.Name]
		case m.Gone:
			row.Note = "has left; pages that could not be made again lead to it"
		case len(m.Stale) > 0:
			row.Note = count.Of(len(m.Stale), "page") + " could not be made again"
		}
		at[m.Name] = i
		d.Rows = append(d.Rows, row)
	}
	for _, m := range s.Mirrors {
		for _, to := range m.To {
			if i, ok := at[to.Name]; ok {
				d.Rows[i].By = append(d.Rows[i].By, space.Count{Name: m.Name, Links: to.Links})
			}
		}
	}
	for i := range d.Rows {
		slices.SortStableFunc(d.Rows[i].By, func(a, b space.Count) int { return b.Links - a.Links })
	}
	if n := len(d.Rows); n > 1 && n <= mostDrawn {
		d.Graph = drawSpace(d.Rows)
	}
	return d
}

// drawSpace puts mirrors on a circle. An arrow is bent to its left, so that those of two mirrors that lead to
// one another are two, and the thicker the more files it stands for.
func drawSpace(rows []spaceRow) *spaceGraph {
	g := &spaceGraph{Width: graphWidth, Height: graphHeight}
	at := map[string][2]float64{}
	for i, r := range rows {
		turn := 2*math.Pi*float64(i)/float64(len(rows)) - math.Pi/2
		x, y := graphWidth/2+graphRadius*math.Cos(turn), graphHeight/2+graphRadius*math.Sin(turn)
		at[r.Name] = [2]float64{x, y}
		n := graphNode{
			Name:   r.Name,
			Anchor: "middle",
			X:      int(math.Round(x)),
			Y:      int(math.Round(y)),
			LabelX: int(math.Round(x + 18*math.Cos(turn))),
			LabelY: int(math.Round(y+22*math.Sin(turn))) + 4,
		}
		switch c := math.Cos(turn); {
		case c > 0.2:
			n.Anchor = "start"
		case c < -0.2:
			n.Anchor = "end"
		}
		g.Nodes = append(g.Nodes, n)
	}
	for _, r := range rows {
		for _, e := range r.To {
			to, ok := at[e.Name]
			if !ok {
				continue
			}
			from := at[r.Name]
			dx, dy := to[0]-from[0], to[1]-from[1]
			far := math.Hypot(dx, dy)
			mx, my := (from[0]+to[0])/2+dy*0.12, (from[1]+to[1])/2-dx*0.12
			end := 1 - (nodeRadius+3)/far
			ex, ey := mx+(to[0]-mx)*end, my+(to[1]-my)*end
			g.Edges = append(g.Edges, graphEdge{
				Path:  fmt.Sprintf("M%.0f %.0fQ%.0f %.0f %.0f %.0f", from[0], from[1], mx, my, ex, ey),
				What:  fmt.Sprintf("%s links to %s of %s", r.Name, count.Of(e.Links, "file"), e.Name),
				Thick: fmt.Sprintf("%.1f", min(6, 1+math.Log10(float64(max(1, e.Links)))*1.5)),
			})
		}
	}
	return g
}
