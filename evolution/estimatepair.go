// SPDX-License-Identifier: Apache-2.0

package evolution

import "slices"

// PairEstimate is how the changes of one set of directories go with those of a directory, as far as looks can
// say. Each truth lies between its Low and its High with a chance of 90 %.
type PairEstimate struct {
	Seen               int     // steps of which it is known of all of them whether they changed
	FoC, Low, High     float64 // share of the steps in which all of the set changed: the support of a rule
	CoC                float64 // correlation; when Defined
	CoCLow, CoCHigh    float64
	Defined            bool
	Joint, Conditional float64 // share of the steps in which all changed; and of those in which the set did
}

// Pair estimates how the changes of all of a set of directories go with those of y. A directory changed in no
// step in which the one above it did not, so of directories on one path the chances of a step are taken as
// nested; those of y, where it lies on no path with them, as independent.
func (e *Estimates) Pair(set []Dir, y Dir) (out PairEstimate) {
	n := e.r.n
	if n == 0 {
		return out
	}
	p := e.pair(set, y)
	for t := range n {
		if isSure(p.x[t]) && isSure(p.y[t]) {
			out.Seen++
		}
		out.FoC += p.x[t] / float64(n)
		if p.nested {
			out.Joint += min(p.x[t], p.y[t]) / float64(n)
		} else {
			out.Joint += p.x[t] * p.y[t] / float64(n)
		}
	}
	if out.FoC > 0 {
		out.Conditional = out.Joint / out.FoC
	}
	var support, phi []float64
	sum := 0.0
	rng := dice(y)
	draw := e.drawer(set, y, p.nested)
	for range draw.times {
		c := draw.table(&rng)
		support = append(support, Frequency{c.X, n}.Value())
		if v, ok := c.CoC(); ok {
			phi = append(phi, v)
			sum += v
		}
	}
	out.Low, out.High = middle(support)
	out.Low, out.High = min(out.Low, out.FoC), max(out.High, out.FoC)
	if out.Defined = 2*len(phi) > draw.times; out.Defined {
		out.CoC = sum / float64(len(phi))
		out.CoCLow, out.CoCHigh = middle(phi)
		out.CoCLow, out.CoCHigh = min(out.CoCLow, out.CoC), max(out.CoCHigh, out.CoC)
	}
	return out
}

// chancesOfPair are the chances of a set and of a directory to have changed, by step.
type chancesOfPair struct {
	x, y   []float64
	nested bool
}

func (e *Estimates) pair(set []Dir, y Dir) chancesOfPair {
	p := chancesOfPair{x: make([]float64, e.r.n), y: e.chances(y)}
	for t := range p.x {
		p.x[t] = 1
		for _, d := range set {
			p.x[t] = min(p.x[t], e.chances(d)[t])
		}
	}
	for _, d := range set {
		p.nested = p.nested || e.r.dirs.Under(y, d) || e.r.dirs.Under(d, y)
	}
	return p
}

// Draws of a pair are fewer where each takes long: pairCells is how many cells of filters they may fill.
const (
	mostPairDraws, leastPairDraws = draws, 48
	pairCells                     = 1 << 18
)

// drawer draws histories of a set of directories and of y.
type drawer struct {
	steps  int
	times  int // that it should be drawn
	all    []*censored
	isY    []bool // by all
	nested bool   // each is drawn by what the one before did in the draw
}

// drawer prepares draws of a set and of y. Directories of one path are drawn from the topmost down.
func (e *Estimates) drawer(set []Dir, y Dir, nested bool) *drawer {
	d := &drawer{steps: e.r.n, nested: nested}
	cells := 1
	for _, dir := range slices.Sorted(slices.Values(append([]Dir{y}, set...))) { // parents have lower numbers
		m := &censored{kind: make([]stepKind, e.r.n), mean: make([]float64, e.r.n)} // of what never was there
		if int(dir) < len(e.mean) {
			m = e.censored(dir, e.above(dir))
			m.mean = e.mean[dir]
		}
		if !m.isKnown() {
			cells += e.r.n * m.width()
		}
		d.all, d.isY = append(d.all, m), append(d.isY, dir == y)
	}
	d.times = min(mostPairDraws, max(leastPairDraws, pairCells/cells))
	return d
}

// table draws a history of all, and counts.
func (d *drawer) table(rng *dice) Table {
	x, y := make([]bool, d.steps), make([]bool, d.steps)
	for t := range x {
		x[t] = true
	}
	var last []bool
	var chance []float64
	for i, m := range d.all {
		h := m.history(last, chance, rng)
		if d.nested {
			last, chance = h, m.mean
		}
		if d.isY[i] {
			y = h
			continue
		}
		for t := range x {
			x[t] = x[t] && h[t]
		}
	}
	c := Table{N: d.steps}
	for t := range x {
		if x[t] {
			c.X++
		}
		if y[t] {
			c.Y++
		}
		if x[t] && y[t] {
			c.XY++
		}
	}
	return c
}

func (m *censored) isKnown() bool { return !slices.Contains(m.kind, uncertain) }

// history draws the steps in which a directory changed. last, when not nil, is what one above it did in this
// draw, and chance by step the chance of that.
func (m *censored) history(last []bool, chance []float64, rng *dice) []bool {
	out := make([]bool, len(m.kind))
	if m.isKnown() {
		for t, k := range m.kind {
			out[t] = k == certain
		}
		return out
	}
	now := *m
	if last != nil {
		now.above = make([]float64, len(m.above))
		for t, is := range last {
			if is {
				now.above[t] = min(1, m.above[t]/max(chance[t], 1e-9))
			}
		}
	}
	now.forward(rng.beta(m.beta())).sample(rng, func(t int) { out[t] = true })
	return out
}

func isSure(p float64) bool { return p == 0 || p == 1 }

// chances are the chances of a directory to have changed, by step.
func (e *Estimates) chances(d Dir) []float64 {
	if int(d) >= len(e.mean) {
		return make([]float64, e.r.n)
	}
	return e.mean[d]
}
