// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"mirrord/evolution"
	"mirrord/evolution/policy/known"
	"mirrord/replay"
)

// Picture is a site as directories by versions: how much of each changed, what a policy did not ask, and what
// it missed.
type Picture struct {
	h    *replay.History
	o    replay.Options
	r    *replay.Result
	rows []pictureRow // as a tree, in path order
	dirs int          // that there ever were
}

type pictureRow struct {
	dir    replay.Dir
	up     int // the row above it in the tree; -1
	label  string
	depth  int
	files  int           // at the end
	cells  []pictureCell // by step: cells[i] is the step from version i to i+1
	score  float64
	nearby counted // of the directories for which this is the nearest row, in the step being measured
}

type pictureCell struct {
	there bool // before or after the step
	doc   float64
	blind bool // measured, and nothing in it was requested
	few   bool // measured, and less than a tenth of it was requested, but something
	miss  bool // measured, and some change in it was not found
}

type counted struct{ files, asked, changed, found int }

// pictureRows is how many directories a picture shows at most: those in which most happened.
const pictureRows = 36

// NewPicture replays a history and keeps what a picture shows.
func NewPicture(h *replay.History, o replay.Options) (*Picture, error) {
	o.Policies, o.Train = known.All(), cmp.Or(o.Train, replay.DefaultTrain)
	p := &Picture{h: h, o: o, dirs: h.Dirs()}
	e, err := h.Evolution(len(h.Versions))
	if err != nil {
		return nil, err
	}
	at := make([]replay.Dir, e.Dirs().Len()) // numbers of the history
	byPath := make(map[string]replay.Dir, h.Dirs())
	for d := range h.Dirs() {
		byPath[h.DirPath(replay.Dir(d))] = replay.Dir(d)
	}
	for d := range at {
		at[d] = byPath[e.Dirs().Path(evolution.Dir(d))]
	}
	p.choose(e, at)
	p.shade(e, at)
	nearest := p.nearest()
	o.After = func(w *replay.World) { p.measure(w, nearest) }
	if p.r, err = replay.Run(h, o); err != nil {
		return nil, err
	}
	return p, nil
}

// choose picks the directories that are shown: those in which much happened, where many small changes count
// for more than few large ones, and large ones. What changed whenever the one above it did, and only then,
// says little more. A directory that holds nothing but another one is left out for it.
func (p *Picture) choose(e *evolution.History, at []replay.Dir) {
	score, when := make([]float64, p.h.Dirs()), make([]uint64, p.h.Dirs())
	for s := range e.Steps() {
		for d, c := range s.Changes() {
			score[at[d]] += math.Log2(1 + float64(c.Distance(false)))
			when[at[d]] = when[at[d]]*31 + uint64(s.Number)
		}
	}
	for d := range at {
		const largeCounts, echoCounts = 2, 0.15
		if up := p.h.Parent(at[d]); up > replay.Root && when[up] == when[at[d]] {
			score[at[d]] *= echoCounts
		}
		score[at[d]] += largeCounts * math.Log2(1+float64(e.Files(evolution.Dir(d))))
	}
	lone := func(d replay.Dir) replay.Dir {
		for d != replay.Root && len(p.h.PagesIn(d)) == 0 && len(p.h.Subdirs(d)) == 1 {
			d = p.h.Subdirs(d)[0]
		}
		return d
	}
	open := []pictureRow{{dir: replay.Root, up: -1}}
	for len(open) > 0 && len(p.rows) < pictureRows {
		best := 0
		for i := range open {
			if open[i].score > open[best].score {
				best = i
			}
		}
		row := open[best]
		open = slices.Delete(open, best, best+1)
		p.rows = append(p.rows, row)
		for _, sub := range p.h.Subdirs(row.dir) {
			if sub = lone(sub); score[sub] > 0 {
				open = append(open, pictureRow{dir: sub, score: score[sub]})
			}
		}
	}
	slices.SortFunc(p.rows, func(a, b pictureRow) int {
		return slices.Compare(strings.Split(p.h.DirPath(a.dir), "/"), strings.Split(p.h.DirPath(b.dir), "/"))
	})
	row := map[replay.Dir]int{}
	for i := range p.rows {
		r := &p.rows[i]
		row[r.dir] = i
		r.up = -1
		for d := p.h.Parent(r.dir); d >= 0; d = p.h.Parent(d) {
			if up, ok := row[d]; ok {
				r.up, r.depth = up, p.rows[up].depth+1
				break
			}
		}
		switch {
		case r.up < 0:
			r.label = cmp.Or(p.h.Site, "site") + "/"
		case p.rows[r.up].dir == replay.Root:
			r.label = p.h.DirPath(r.dir) + "/"
		default:
			r.label = p.h.DirPath(r.dir)[len(p.h.DirPath(p.rows[r.up].dir))+1:] + "/"
		}
		r.cells = make([]pictureCell, len(p.h.Versions)-1)
	}
}

// shade gives every cell its degree of change.
func (p *Picture) shade(e *evolution.History, at []replay.Dir) {
	of := make([]evolution.Dir, p.h.Dirs())
	for d := range at {
		of[at[d]] = evolution.Dir(d)
	}
	for s := range e.Steps() {
		for i := range p.rows {
			c := s.Change(of[p.rows[i].dir])
			p.rows[i].cells[s.Number-1] = pictureCell{there: c.Merged() > 0, doc: c.DoC(false)}
			p.rows[i].files = s.Files(of[p.rows[i].dir])
		}
	}
}

// nearest is, by directory, the row that it is shown in: its own or the nearest one above.
func (p *Picture) nearest() []int {
	out := make([]int, p.h.Dirs())
	for i := range p.rows {
		out[p.rows[i].dir] = i + 1
	}
	for d := 1; d < len(out); d++ { // parents come first
		if out[d] == 0 {
			out[d] = out[p.h.Parent(replay.Dir(d))]
		}
	}
	for d := range out {
		out[d]--
	}
	return out
}

// measure notes what a step requested and missed.
func (p *Picture) measure(w *replay.World, nearest []int) {
	for i := range p.rows {
		p.rows[i].nearby = counted{}
	}
	now := int32(w.Now())
	for pg := range w.Site {
		n := &p.rows[nearest[p.h.DirOf(replay.Page(pg))]].nearby
		if w.Site[pg] != replay.Gone || w.Mirror[pg] != replay.Gone {
			n.files++
		}
		if w.Asked[pg] == now {
			n.asked++
		}
	}
	for d, at := range w.Listed {
		if at == now {
			p.rows[nearest[d]].nearby.asked++
		}
	}
	for _, pg := range w.Changed {
		n := &p.rows[nearest[p.h.DirOf(replay.Page(pg))]].nearby
		n.changed++
		if w.Site[pg] == w.Mirror[pg] {
			n.found++
		}
	}
	for i := len(p.rows) - 1; i >= 0; i-- { // rows below come later
		r := &p.rows[i]
		n := r.nearby
		if r.up >= 0 {
			up := &p.rows[r.up].nearby
			up.files, up.asked, up.changed, up.found = up.files+n.files, up.asked+n.asked, up.changed+n.changed,
				up.found+n.found
		}
		c := &r.cells[w.Now()-1]
		c.blind, c.few = n.asked == 0 && n.files > 0, n.asked > 0 && 10*n.asked < n.files
		c.miss = n.found < n.changed
	}
}
