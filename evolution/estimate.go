// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"math"
	"slices"
)

// Estimate is in how many steps a directory changed, as far as looks can say. The truth lies between Low and
// High with a chance of 90 %.
type Estimate struct {
	Steps int     // all there are
	Seen  int     // of them, those of which it is known whether it changed
	FoC   float64 // expected share of the steps
	Low   float64
	High  float64
}

// The estimate. A step of which everything is known counts as it was. Of any other one it is uncertain
// whether the directory changed: with the chance that the one above it did, times the share of such steps in
// which this one did as well (the rate), times the chance that the change shows in no file that was looked
// at.
// Each find says that there was a change in at least one of its steps. The rate is the one that agrees with
// the number of changed steps that it leads to: expectation maximization for interval-censored data (B.
// Turnbull, The empirical distribution function with arbitrarily grouped, censored and truncated data, 1976).
// The interval is that of draws from all histories that agree with the looks, each weighed by its chance.
const (
	rounds = 12  // of expectation and maximization
	draws  = 256 // of histories
	rates  = 16  // that the draws share
	// The rate of a directory is drawn towards this one, as by so many steps.
	usualRate, rateWeight = 0.1, 1.0
	farthest              = 64 // steps: a change that was found later is taken as one of the last so many
	// At each end of the interval a value is left out when half of its chance and that of all beyond it are at
	// most this. Intervals of few whole numbers hold more than others do: with 0.05 they held 95 %.
	tail = 0.075
)

// middle is the interval of draws.
func middle(values []float64) (low, high float64) {
	slices.Sort(values)
	n, some := float64(len(values)), false
	for at := 0; at < len(values); {
		end := at + 1
		for end < len(values) && values[end] == values[at] {
			end++
		}
		mid := (float64(at) + float64(end)) / 2 / n
		if mid > tail && mid < 1-tail { // as is the one that has the middle
			if !some {
				low, some = values[at], true
			}
			high = values[at]
		}
		at = end
	}
	return low, high
}

// Estimates are the estimates of all directories.
type Estimates struct {
	r     *reading
	alpha float64
	by    []Estimate
	mean  [][]float64 // by directory and step: the chance that it changed; nil: nothing was ever there
}

// Of is the estimate of a directory.
func (e *Estimates) Of(d Dir) Estimate {
	if int(d) >= len(e.by) {
		return Estimate{Steps: e.r.n, Seen: e.r.n}
	}
	return e.by[d]
}

// Estimate estimates for each directory in how many steps its subtree changed by a degree of alpha or more.
// structural says that other contents are no change.
func (l *Looks) Estimate(dirs *Dirs, alpha float64, structural bool) *Estimates {
	e := &Estimates{
		r:     l.read(dirs, structural),
		alpha: alpha,
		by:    make([]Estimate, dirs.Len()),
		mean:  make([][]float64, dirs.Len()),
	}
	root := make([]float64, e.r.n)
	for i := range root {
		root[i] = 1
	}
	for d := range Dir(dirs.Len()) {
		above := root
		if d != Root {
			above = e.mean[dirs.Parent(d)]
		}
		e.by[d], e.mean[d] = e.estimate(d, above)
	}
	return e
}

// estimate estimates one directory. above is by step the chance that the one above it changed.
func (e *Estimates) estimate(d Dir, above []float64) (Estimate, []float64) {
	m := e.censored(d, above)
	out := Estimate{Steps: e.r.n}
	for _, k := range m.kind {
		if k != uncertain {
			out.Seen++
		}
	}
	if out.Seen == out.Steps {
		ones := 0
		for t, k := range m.kind {
			if k == certain {
				ones++
				m.mean[t] = 1
			}
		}
		out.FoC = Frequency{ones, out.Steps}.Value()
		out.Low, out.High = out.FoC, out.FoC
		return out, m.mean
	}
	m.fit()
	counts := m.draw(uint64(d))
	sum := 0.0
	for _, p := range m.mean {
		sum += p
	}
	steps := float64(out.Steps)
	out.FoC = sum / steps
	low, high := middle(counts)
	out.Low, out.High = min(low/steps, out.FoC), max(high/steps, out.FoC)
	return out, m.mean
}

// stepKind is what is known of a step.
type stepKind uint8

const (
	certainNot stepKind = iota
	certain
	uncertain
)

// censored is one directory, as looks show it.
type censored struct {
	kind   []stepKind
	above  []float64 // chance that the directory above changed
	hidden []float64 // chance that a change would not show
	after  []int     // by step: the last one is this, at least one later one up to here changed; -1: nothing
	rate   float64
	mean   []float64
}

// need is how many changed files are a change of degree alpha.
func (e *Estimates) need(size int32) int32 {
	return max(1, int32(math.Ceil(e.alpha*float64(size))))
}

func (e *Estimates) censored(d Dir, above []float64) *censored {
	r := e.r
	m := &censored{
		kind:   make([]stepKind, r.n),
		above:  above,
		hidden: make([]float64, r.n),
		after:  make([]int, r.n),
		mean:   make([]float64, r.n),
	}
	size, open, sure := r.size.row(d), r.open.row(d), r.sure.row(d)
	for t := range m.kind {
		m.after[t] = -1
		switch need := e.need(size[t]); {
		case sure[t] >= need:
			m.kind[t] = certain
		case open[t] > 0 && sure[t]+open[t] >= need && above[t] > 0:
			m.kind[t], m.hidden[t] = uncertain, r.hidden(d, t)
		}
	}
	for s, files := range r.spans[d] {
		if files >= e.need(size[s.to-1]) {
			m.after[s.to-1] = max(m.after[s.to-1], int(s.from), int(s.to)-farthest)
		}
	}
	return m
}

// weights are those of a step with and without a change, at a rate.
func (m *censored) weights(t int, rate float64) (no, yes float64) {
	switch m.kind[t] {
	case certain:
		return 0, 1
	case certainNot:
		return 1, 0
	}
	p := min(0.999, max(1e-6, rate*m.above[t]))
	return 1 - p, p * max(1e-6, m.hidden[t])
}

// filter is, after each step, the weight of all histories up to it by the last step that changed: place 0 is
// for none, or longer ago than matters. Each row sums up to 1.
type filter struct {
	width int
	rows  [][]float64
}

// forward weighs all histories.
func (m *censored) forward(rate float64) filter {
	f := filter{width: 3}
	for t, from := range m.after {
		if from >= 0 {
			f.width = max(f.width, t-from+3)
		}
	}
	before := make([]float64, f.width)
	before[0] = 1
	for t := range m.kind {
		row := make([]float64, f.width)
		no, yes := m.weights(t, rate)
		sum := 0.0
		for _, w := range before {
			sum += w
		}
		// Place i is for a last change i-1 steps ago, the last place too for all that is longer ago.
		row[0] = no * before[0]
		for i := 1; i < f.width; i++ {
			row[min(i+1, f.width-1)] += no * before[i]
		}
		row[1] = yes * sum
		if from := m.after[t]; from >= 0 {
			row[0] = 0
			for i := t - from + 2; i < f.width; i++ {
				row[i] = 0
			}
		}
		total := 0.0
		for _, w := range row {
			total += w
		}
		if total == 0 { // what was seen contradicts itself: it begins again here
			row[1], total = 1, 1
		}
		for i := range row {
			row[i] /= total
		}
		f.rows = append(f.rows, row)
		before = row
	}
	return f
}

// sample draws a history, and returns how many steps changed in it.
func (f filter) sample(rng *dice) (n int) {
	last := f.width - 1
	place := rng.pick(f.rows[len(f.rows)-1])
	for t := len(f.rows) - 1; place > 0 && t >= 0; t-- {
		before := []float64(nil)
		if t > 0 {
			before = f.rows[t-1]
		}
		switch {
		case place == 1:
			if n++; before == nil {
				return n
			}
			place = rng.pick(before)
		case place < last || before == nil:
			place--
		case rng.share()*(before[last-1]+before[last]) < before[last-1]:
			place--
		}
	}
	return n
}

// fit finds the rate, and by it the chance of each step.
func (m *censored) fit() {
	exposed := 0.0
	for _, p := range m.above {
		exposed += p
	}
	m.rate = 0.5
	for range rounds {
		m.expect()
		sum := 0.0
		for _, p := range m.mean {
			sum += p
		}
		m.rate = (sum + rateWeight*usualRate) / (exposed + rateWeight)
	}
}

// expect finds the chance of each step at the rate: backward over the weights of forward.
func (m *censored) expect() {
	f := m.forward(m.rate)
	clear(m.mean)
	ahead := slices.Clone(f.rows[len(f.rows)-1]) // chance of each last change, given all that is known
	for t := len(f.rows) - 1; t >= 0; t-- {
		m.mean[t] = ahead[1]
		before := make([]float64, f.width)
		var row []float64
		if t > 0 {
			row = f.rows[t-1]
		} else {
			row = make([]float64, f.width)
			row[0] = 1
		}
		before[0] = ahead[0]
		for i := 2; i < f.width; i++ {
			if i < f.width-1 || row[i] == 0 {
				before[i-1] += ahead[i]
				continue
			}
			all := row[i-1] + row[i]
			before[i-1] += ahead[i] * row[i-1] / all
			before[i] += ahead[i] * row[i] / all
		}
		for i, w := range row {
			before[i] += ahead[1] * w
		}
		ahead = before
	}
}

// draw draws histories, and returns in how many steps each changed. The rate itself is drawn too: what is
// known of it is a beta distribution.
func (m *censored) draw(seed uint64) (counts []float64) {
	rng := dice(seed)
	exposed, sum := 0.0, 0.0
	for t, p := range m.above {
		exposed += p
		sum += m.mean[t]
	}
	a, b := sum+rateWeight*usualRate, max(0, exposed-sum)+rateWeight*(1-usualRate)
	for range rates {
		f := m.forward(rng.beta(a, b))
		for range draws / rates {
			counts = append(counts, float64(f.sample(&rng)))
		}
	}
	return counts
}
