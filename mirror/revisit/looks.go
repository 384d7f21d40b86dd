// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mirrord/evolution/policy"
	"mirrord/internal/count"
	"mirrord/store/record"
)

// A policy that weighs requests learns how often pages change, which needs time and not runs: six runs within
// a minute that find nothing say no more than one of them. So runs that lie closer together than a tenth of
// the usual interval count as one look at the site.

// apart is the part of the usual interval from which on two runs are two looks.
const apart = 10

// lately is of how many intervals between runs the usual one is taken.
const lately = 15

// LookGap returns the least number of seconds between two looks, from the times of all runs, oldest first.
// interval is that of the schedule; 0 for a job without one.
func LookGap(interval time.Duration, times []int64) int64 {
	if interval > 0 {
		return int64((interval / apart).Seconds())
	}
	return usualGap(times) / apart
}

// usualGap returns the interval between runs, in seconds, in which half of the time since the runs of lately
// passed: a burst of runs adds many intervals and hardly any time.
func usualGap(times []int64) int64 {
	var gaps []int64
	total := int64(0)
	for i := max(1, len(times)-lately); i < len(times); i++ {
		if gap := times[i] - times[i-1]; gap > 0 { // else the clock was set back
			gaps = append(gaps, gap)
			total += gap
		}
	}
	slices.Sort(gaps)
	passed := int64(0)
	for _, gap := range gaps {
		if passed += gap; 2*passed >= total {
			return gap
		}
	}
	return 0
}

// sameLook reports whether a run at now belongs to the look that began at began; gap is that of LookGap.
func sameLook(began, now, gap int64) bool { return (now >= began) && (now-began < gap) }

// looks joins runs to looks.
type looks struct {
	gap   int64 // seconds; 0: each run is a look
	learn func(*policy.Run)

	open bool
	look policy.Run // the sets are those of sets
	sets lookSets
}

// lookSets are what the runs of a look observed.
type lookSets struct {
	asked, spared, changed, entered, left, naming record.IDs
	told                                          float64 // seconds, see policy.Run
}

// take takes what a run observed.
func (l *looks) take(at int64, s lookSets) {
	if l.open && sameLook(l.look.Time, at, l.gap) {
		o := &l.sets
		o.asked, o.spared = union(o.asked, s.asked), union(o.spared, s.spared)
		o.changed, o.naming = union(o.changed, s.changed), union(o.naming, s.naming)
		o.entered, o.left = union(minus(o.entered, s.left), s.entered), union(minus(o.left, s.entered), s.left)
		o.told += s.told
		return
	}
	l.flush()
	l.open, l.look.Time, l.sets = true, at, s
}

// flush learns the last look.
func (l *looks) flush() {
	if !l.open {
		return
	}
	l.open = false
	l.learn(&policy.Run{
		Time:    l.look.Time,
		Asked:   policy.Spans(l.sets.asked),
		Spared:  policy.Spans(l.sets.spared),
		Changed: policy.Spans(l.sets.changed),
		Entered: policy.Spans(l.sets.entered),
		Left:    policy.Spans(l.sets.left),
		Naming:  policy.Spans(l.sets.naming),
		Told:    l.sets.told,
	})
}

// union returns the numbers that are in a or in b.
func union(a, b record.IDs) record.IDs {
	if len(a) == 0 {
		return b
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y record.Span) int { return cmp.Compare(x.First, y.First) })
	out := all[:1]
	for _, s := range all[1:] {
		if last := &out[len(out)-1]; uint64(s.First) <= uint64(last.Last)+1 {
			last.Last = max(last.Last, s.Last)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// minus returns the numbers of a that are not in b.
func minus(a, b record.IDs) (out record.IDs) {
	for _, s := range a {
		for len(b) > 0 && b[0].Last < s.First {
			b = b[1:]
		}
		for _, x := range b {
			if x.First > s.Last {
				break
			}
			if x.First > s.First {
				out = append(out, record.Span{First: s.First, Last: x.First - 1})
			}
			if x.Last >= s.Last {
				s.First, s.Last = 1, 0
				break
			}
			s.First = x.Last + 1
		}
		if s.First <= s.Last {
			out = append(out, s)
		}
	}
	return out
}

// Learned is what the complete runs of a site amount to.
type Learned struct {
	Looks int64         // complete runs that are not doubtful, see LookGap
	Span  time.Duration // from the first of them to the last

	first, last int64 // Unix seconds; last is where the last look began
}

// add takes a complete run.
func (l *Learned) add(at, gap int64) {
	switch {
	case l.Looks == 0:
		l.first = at
	case sameLook(l.last, at, gap):
		return
	}
	l.Looks++
	l.last = at
	l.Span = time.Duration(max(0, l.last-l.first)) * time.Second
}

// whyLearning says why what was learned is not enough to skip anything; "" when it is.
func (o *PlanOptions) whyLearning(l Learned) string {
	p := o.policy()
	if p.Everything {
		return ""
	}
	if l.Looks < o.Job.FullRuns {
		return fmt.Sprintf("fewer than %s have requested everything (full_runs)",
			count.Of(o.Job.FullRuns, "complete run", "complete runs, far enough apart,"))
	}
	if need := o.Job.LearnFor(); p.Weighs && l.Span < need {
		return fmt.Sprintf("the complete runs span %s of %s (adaptive.learn_for)", count.Span(l.Span),
			count.Span(need))
	}
	return ""
}
