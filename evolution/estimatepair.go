// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"math"
	"slices"
)

// PairEstimate is how the changes of one set of directories go with those of a directory, as far as looks can
// say. Each truth lies between its Low and its High with a chance of 90 %.
type PairEstimate struct {
	Seen            int     // steps in which it is known for all of them whether they changed
	FoC, Low, High  float64 // share of the steps in which all of the set changed: the support of a rule
	CoC             float64 // correlation; when Defined
	CoCLow, CoCHigh float64
	Defined         bool
	Joint           float64 // share of the steps in which all changed
}

// Pair estimates how the changes of all of a set of directories go with those of y. A directory changed in no
// step in which the one above it did not, so of directories on one path the chances of a step are taken as
// nested; those of y, where it lies on no path with them, as independent.
func (e *Estimates) Pair(set []Dir, y Dir) (out PairEstimate) {
	n := e.n
	if n == 0 {
		return out
	}
	p := e.pair(set, y)
	out.Seen = p.seen()
	for t := range n {
		out.FoC += p.x[t] / float64(n)
		if p.nested {
			out.Joint += min(p.x[t], p.y[t]) / float64(n)
		} else {
			out.Joint += p.x[t] * p.y[t] / float64(n)
		}
	}
	var support, phi []float64
	sum := 0.0
	rng := dice(y)
	draw := e.drawer(p, set, y, &rng)
	for range draws {
		c := draw()
		support = append(support, Frequency{c.X, n}.Value())
		if v, ok := c.CoC(); ok {
			phi = append(phi, v)
			sum += v
		}
	}
	out.Low, out.High = middle(support)
	if d, ok := e.lowest(set); ok { // all changed when that one did
		out.Low, out.High = e.Of(d).Low, e.Of(d).High
	}
	out.Low, out.High = min(out.Low, out.FoC), max(out.High, out.FoC)
	if out.Defined = 2*len(phi) > draws; out.Defined {
		out.CoC = sum / float64(len(phi))
		out.CoCLow, out.CoCHigh = middle(phi)
		out.CoCLow, out.CoCHigh = min(out.CoCLow, out.CoC), max(out.CoCHigh, out.CoC)
	}
	return out
}

// Seen is in how many steps it is known for all of a set of directories and for y whether they changed.
func (e *Estimates) Seen(set []Dir, y Dir) int {
	p := e.pair(set, y)
	return p.seen()
}

// lowest is the directory of a set that lies below all others of it, when they are on one path.
func (e *Estimates) lowest(set []Dir) (low Dir, ok bool) {
	if len(set) == 0 {
		return Root, false
	}
	low = slices.Max(set) // parents have lower numbers
	for _, d := range set {
		if !e.dirs.Under(low, d) {
			return Root, false
		}
	}
	return low, true
}

// chancesOfPair are the chances of a set and of a directory to have changed, by step.
type chancesOfPair struct {
	x, y   []float64
	nested bool
}

func (p *chancesOfPair) seen() (n int) {
	for t := range p.x {
		if isSure(p.x[t]) && isSure(p.y[t]) {
			n++
		}
	}
	return n
}

func (e *Estimates) pair(set []Dir, y Dir) chancesOfPair {
	p := chancesOfPair{x: make([]float64, e.n), y: e.chances(y)}
	for t := range p.x {
		p.x[t] = 1
		for _, d := range set {
			p.x[t] = min(p.x[t], e.chances(d)[t])
		}
	}
	for _, d := range set {
		p.nested = p.nested || e.dirs.Under(y, d) || e.dirs.Under(d, y)
	}
	return p
}

// drawer returns what draws a history of both, and counts. Directories of which none lies below the other
// either change together or have nothing to do with one another: which it is is drawn first, by the steps in
// which both are known.
func (e *Estimates) drawer(p chancesOfPair, set []Dir, y Dir, rng *dice) func() Table {
	low, ok := e.lowest(set)
	if p.nested || !ok || int(max(low, y)) >= len(e.mean) {
		return func() Table { return p.draw(rng) }
	}
	together, apart := 0.5, 0.5
	for t := range p.x {
		switch {
		case !isSure(p.x[t]) || !isSure(p.y[t]):
		case p.x[t]*p.y[t] == 1:
			together++
		case p.x[t]+p.y[t] == 1:
			apart++
		}
	}
	n := len(p.x)
	hx, hy := e.histories(low), e.histories(y)
	at, isX := make([]float64, n+1), make([]bool, n)
	return func() Table {
		c := Table{N: n}
		clear(isX)
		rng.shares(at)
		hx.sample(at, func(t int) {
			isX[t] = true
			c.X++
		})
		if rng.share() >= rng.beta(together, apart) {
			rng.shares(at)
		}
		hy.sample(at, func(t int) {
			if c.Y++; isX[t] {
				c.XY++
			}
		})
		return c
	}
}

// histories weighs those of a directory, at its rate.
func (e *Estimates) histories(d Dir) filter {
	m := e.censored(d)
	return m.forward(e.rate[d])
}

// draw draws a history of both, and counts.
func (p *chancesOfPair) draw(rng *dice) Table {
	c := Table{N: len(p.x)}
	ofX := math.Exp(spread * rng.normal())
	ofY := ofX
	if !p.nested {
		ofY = math.Exp(spread * rng.normal())
	}
	for t := range p.x {
		u := rng.share()
		isX := u < withOdds(p.x[t], ofX)
		if !p.nested {
			u = rng.share()
		}
		isY := u < withOdds(p.y[t], ofY)
		if isX {
			c.X++
		}
		if isY {
			c.Y++
		}
		if isX && isY {
			c.XY++
		}
	}
	return c
}

// withOdds is a chance whose odds are so many times higher.
func withOdds(p, times float64) float64 { return p * times / (1 - p + p*times) }

func isSure(p float64) bool { return p == 0 || p == 1 }

// chances are the chances of a directory to have changed, by step.
func (e *Estimates) chances(d Dir) []float64 {
	if int(d) >= len(e.mean) {
		return make([]float64, e.n)
	}
	return e.mean[d]
}
