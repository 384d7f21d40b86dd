// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"time"
)

// Dated is a version as the keep rule sees it: its number and when it was published.
type Dated struct {
	Number int
	Time   time.Time
}

// Drop returns the numbers of the versions that the rule does not keep, ascending. The version with the
// highest number always stays, and a rule without any term keeps all. Hours, days, weeks (ISO 8601, from
// Monday), months and years are those of now's location; an hour that comes twice when the clocks go back is
// two hours. "Newer" is by number: a clock that stepped back changes no order. The terms are those of
// restic's forget, but the age of "within" counts from now.
func (k Keep) Drop(versions []Dated, now time.Time) []int {
	if k.All || k == (Keep{}) || len(versions) < 2 {
		return nil
	}
	vs := slices.Clone(versions)
	slices.SortFunc(vs, func(a, b Dated) int { return b.Number - a.Number })
	terms := k.terms()
	var drop []int
	for i, v := range vs {
		keep := i == 0 || i < k.Last || (k.Within > 0 && now.Sub(v.Time) < k.Within)
		// Every term looks at every version: the newest of an hour may also be the newest of its day.
		for _, t := range terms {
			if t.wants(v.Time.In(now.Location())) {
				keep = true
			}
		}
		if !keep {
			drop = append(drop, v.Number)
		}
	}
	slices.Sort(drop)
	return drop
}

// term keeps the newest version of each of the last n periods that have one.
type term struct {
	n      int
	period func(time.Time) period
	seen   map[period]bool
}

// period names a stretch of time; those of one term differ.
type period [4]int

// wants is called for one version after the other, newest first.
func (t *term) wants(at time.Time) bool {
	p := t.period(at)
	if t.seen[p] || len(t.seen) >= t.n {
		return false
	}
	t.seen[p] = true
	return true
}

func (k Keep) terms() []*term {
	var out []*term
	add := func(n int, p func(time.Time) period) {
		if n > 0 {
			out = append(out, &term{n, p, map[period]bool{}})
		}
	}
	add(k.Hourly, func(t time.Time) period {
		_, offset := t.Zone()
		return period{t.Year(), t.YearDay(), t.Hour(), offset}
	})
	add(k.Daily, func(t time.Time) period { return period{t.Year(), t.YearDay()} })
	add(k.Weekly, func(t time.Time) period {
		y, w := t.ISOWeek()
		return period{y, w}
	})
	add(k.Monthly, func(t time.Time) period { return period{t.Year(), int(t.Month())} })
	add(k.Yearly, func(t time.Time) period { return period{t.Year()} })
	return out
}
