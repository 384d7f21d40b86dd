// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"slices"
)

// halfLife is how many usual intervals halve the weight of what was observed: half a year of weekly runs.
// Results are the same within a few thousandths from 12 to 40.
const halfLife = 18

// clock turns the times of runs, which may be irregular, into usual intervals, so that rates have a meaning
// with any schedule.
type clock struct {
	at   []float64 // by run, from 1: usual intervals since the first
	gaps []float64 // seconds between the last runs
	last int64     // Unix seconds; 0: unknown
	// usual interval, the median of gaps, in seconds; 0: unknown
	usual float64

	// The discount of what was last observed in a run, as of the run that is being learned.
	memo  []float32
	until []int32
}

// A gap counts at least this much: a run minutes after another was started because a change is expected.
const minGap, maxGap = 0.1, 1000

func newClock() clock { return clock{at: []float64{0}} }

// gap is what a run at a time is away from the last one.
func (c *clock) gap(t int64) float64 {
	if t == 0 || c.last == 0 || len(c.gaps) == 0 {
		return 1
	}
	return min(maxGap, max(minGap, float64(t-c.last)/c.usual))
}

// step begins a run.
func (c *clock) step(t int64) {
	g := c.gap(t)
	if len(c.at) == 1 {
		g = 0
	}
	c.at = append(c.at, c.at[len(c.at)-1]+g)
	if t == 0 {
		return
	}
	if c.last != 0 && t > c.last {
		if c.gaps = append(c.gaps, float64(t-c.last)); len(c.gaps) > 15 {
			c.gaps = c.gaps[1:]
		}
		s := slices.Sorted(slices.Values(c.gaps))
		c.usual = max(s[len(s)/2], 1)
	}
	c.last = t
}

// discount is the weight now of what was last discounted in a run.
func (c *clock) discount(run int32) float32 {
	now := int32(len(c.at) - 1)
	if int(run) >= len(c.memo) {
		c.memo, c.until = append(c.memo, make([]float32, int(run)+64-len(c.memo))...),
			append(c.until, make([]int32, int(run)+64-len(c.until))...)
	}
	if c.until[run] != now {
		c.memo[run], c.until[run] = float32(math.Exp2((c.at[run]-c.at[now])/halfLife)), now
	}
	return c.memo[run]
}
