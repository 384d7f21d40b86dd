// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"slices"
)

// bounds are Options.MaxSkip and Options.MaxAge as they concern one unit: for how many runs after this one it
// may stay unobserved.
type bounds struct {
	runs, time int
	early      bool // it may be requested before it must, in the last third of a bound
}

// boundsOf returns them.
func boundsOf(m *Model, u ID, o *Options) bounds {
	b := bounds{runs: math.MaxInt, time: math.MaxInt}
	if most := o.MaxSkip; most > 0 {
		b.runs = max(0, most-m.runs+int(m.last(u)))
		b.early = b.runs <= most/3
	}
	if rest := o.MaxAge - m.age(u, o.Now); o.MaxAge > 0 && rest <= 0 {
		b.time = 0
	} else if o.MaxAge > 0 && m.clock.usual > 0 {
		b.time = int(math.Ceil(float64(rest) / m.clock.usual))
		b.early = b.early || rest <= o.MaxAge/3
	}
	return b
}

func (b bounds) left() int { return min(b.runs, b.time) }

// agedBy returns how many seconds ago a unit was observed that is due by Options.MaxAge, and not by
// Options.MaxSkip; 0 otherwise.
func agedBy(m *Model, u ID, o *Options) int64 {
	if b := boundsOf(m, u, o); b.time < b.runs {
		return m.age(u, o.Now)
	}
	return 0
}

// comingDue are units ranked by the runs after this one for which they may stay unobserved.
type comingDue []ranked

// add adds a unit with such a bound, unless it was observed lately.
func (c *comingDue) add(m *Model, u ID, b bounds) {
	if b.early {
		*c = append(*c, ranked{uint64(b.left()), m.Key(u), u})
	}
}

// spread returns what a run requests of units that come due in later runs, so that no run has more of them
// than it must: after a run that requested everything all come due at once. So many others are due now.
func (soon comingDue) spread(due int) (early []ID) {
	slices.SortFunc(soon, ranked.compare)
	share := 0
	for i, x := range soon {
		runs := int(x.rank) + 1 // that these and those before can be shared out to
		share = max(share, (due+i+runs)/runs)
	}
	for _, x := range soon[:min(len(soon), max(0, share-due))] {
		early = append(early, x.unit)
	}
	return early
}
