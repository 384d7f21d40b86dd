// SPDX-License-Identifier: Apache-2.0

package policy

// skipBound is how long a unit was not observed, and for how long that may be, in runs or in seconds. A most
// of 0 is no bound.
type skipBound struct{ age, most int64 }

// boundsOf returns how a unit stands to Options.MaxSkip and Options.MaxAge.
func boundsOf(m *Model, u ID, o *Options) (runs, time skipBound) {
	return skipBound{int64(m.runs) - int64(m.last(u)), int64(o.MaxSkip)}, skipBound{m.age(u, o.Now), o.MaxAge}
}

// spreadOf is a number of a unit by which it comes due earlier than others.
func spreadOf(m *Model, u ID) int64 { return int64(m.Key(u) >> 8) }

// reached reports whether the bound is reached, or will be within a part of its last third that depends on
// the spread.
func (b skipBound) reached(spread int64) bool {
	return (b.most > 0) && (b.age >= b.most-spread%(b.most/3+1))
}

// agedBy returns how many seconds ago a unit was observed that is due by Options.MaxAge, and not by
// Options.MaxSkip; 0 otherwise.
func agedBy(m *Model, u ID, o *Options) int64 {
	runs, time := boundsOf(m, u, o)
	for _, spread := range [...]int64{0, spreadOf(m, u)} {
		switch {
		case runs.reached(spread):
			return 0
		case time.reached(spread):
			return time.age
		}
	}
	return 0
}
