// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"cmp"
	"math/bits"
	"slices"
)

// Together is a directory that changes when another one does: the other half of the paper's associations.
type Together struct {
	When, Also Dir
	Counts     Table // X is When, Y is Also
}

// Confidence is the share of the changes of When that Also had part in.
func (t Together) Confidence() float64 { return Frequency{t.Counts.XY, t.Counts.X}.Value() }

// TogetherOptions are the thresholds.
type TogetherOptions struct {
	MinFoC        float64 // how often both have to change
	MinCoC        float64 // how strong the correlation has to be; 0: any above 0
	MinConfidence float64
}

const (
	leastTogether = 2    // steps: what changed together once may have done so by chance
	mostTogether  = 2000 // directories, those that changed most often; time grows with the square
)

// Together finds for each directory the one whose changes its own go with best, of those that lie on no path
// with it: that a directory changes when one below it does goes without saying. It goes by the steps in which
// a directory changed more likely than not. Of directories on one path that changed in the same steps the
// topmost counts.
func (e *Estimates) Together(o TogetherOptions) (out []Together) {
	all := e.often()
	dirs := e.dirs
	for i, y := range all {
		best, at := 0.0, -1
		var counts Table
		for k, x := range all {
			if k == i || dirs.Under(x.dir, y.dir) || dirs.Under(y.dir, x.dir) {
				continue
			}
			c := x.table(y, e.n)
			phi, defined := c.CoC()
			isEnough := c.XY >= leastTogether && (Frequency{c.XY, c.N}).Value() >= o.MinFoC
			isStrong := defined && phi > 0 && phi >= o.MinCoC
			isSure := Frequency{c.XY, c.X}.Value() >= o.MinConfidence
			if isEnough && isStrong && isSure && phi > best {
				best, at, counts = phi, k, c
			}
		}
		if at >= 0 {
			out = append(out, Together{all[at].dir, y.dir, counts})
		}
	}
	slices.SortStableFunc(out, func(a, b Together) int {
		p, _ := a.Counts.CoC()
		q, _ := b.Counts.CoC()
		return cmp.Or(cmp.Compare(q, p), cmp.Compare(b.Counts.XY, a.Counts.XY), cmp.Compare(a.Also, b.Also))
	})
	return out
}

// changedIn is in which steps a directory changed, more likely than not.
type changedIn struct {
	dir   Dir
	steps []uint64
	n     int
}

func (c changedIn) table(y changedIn, n int) Table {
	t := Table{N: n, X: c.n, Y: y.n}
	for i, w := range c.steps {
		t.XY += bits.OnesCount64(w & y.steps[i])
	}
	return t
}

// often are the directories below the root that changed in some steps, but not in all, and in others than the
// one above.
func (e *Estimates) often() (all []changedIn) {
	steps := make([]changedIn, len(e.mean))
	for i, mean := range e.mean {
		c := changedIn{dir: Dir(i), steps: make([]uint64, (e.n+63)/64)}
		for t, p := range mean {
			if p > 0.5 {
				c.steps[t/64] |= 1 << (t % 64)
				c.n++
			}
		}
		steps[i] = c
		if c.dir == Root { // it is on every path
			continue
		}
		above := e.dirs.Parent(c.dir)
		isTop := above == Root || !slices.Equal(steps[above].steps, c.steps)
		if c.n >= leastTogether && c.n < e.n && isTop {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b changedIn) int { return cmp.Compare(b.n, a.n) })
	return all[:min(len(all), mostTogether)]
}
