// SPDX-License-Identifier: Apache-2.0

package near

import (
	"cmp"
	"strconv"
	"strings"

	"mirrord/evolution"
)

type counts = evolution.Table

// Rule is a NEAR: when the antecedent changed, the consequent rarely did.
type Rule struct {
	Antecedent []evolution.Dir // directories above the consequent, from the top down; at least one
	Consequent evolution.Dir
	Counts     evolution.Table // X is the antecedent, Y the consequent
	Seen       int             // of Counts.N, the steps in which all were observed; the others are estimated
}

// Support is FoC(X): how often the antecedent changed.
func (r Rule) Support() float64 { return evolution.Frequency{K: r.Counts.X, N: r.Counts.N}.Value() }

// Joint is FoC(X+Y): how often both changed.
func (r Rule) Joint() float64 { return evolution.Frequency{K: r.Counts.XY, N: r.Counts.N}.Value() }

// Correlation is CoC(X,Y), when it is defined.
func (r Rule) Correlation() (phi float64, defined bool) { return r.Counts.CoC() }

// Confidence is the share of the antecedent's changes that the consequent had no part in.
func (r Rule) Confidence() float64 { return confidence(r.Counts) }

func confidence(c counts) float64 {
	return evolution.Frequency{K: c.X - c.XY, N: c.X}.Value()
}

// Text writes the rule with the paths of its directories, the root as "/": "/ + docs => not docs/old".
func (r Rule) Text(dirs *evolution.Dirs) string {
	var b strings.Builder
	for i, d := range r.Antecedent {
		if i > 0 {
			b.WriteString(" + ")
		}
		b.WriteString(name(dirs, d))
	}
	return b.String() + " => not " + name(dirs, r.Consequent)
}

// Why says in words what the rule rests on.
func (r Rule) Why(dirs *evolution.Dirs) string {
	c := r.Counts
	var b strings.Builder
	for i, d := range r.Antecedent {
		if i > 0 {
			b.WriteString(" and ")
		}
		b.WriteString(name(dirs, d))
	}
	b.WriteString(" changed in " + strconv.Itoa(c.X) + " of " + strconv.Itoa(c.N) + " steps, " +
		name(dirs, r.Consequent))
	if c.XY == 0 {
		b.WriteString(" in none of them")
	} else {
		b.WriteString(" in " + strconv.Itoa(c.XY) + " of them")
	}
	if c.Y > c.XY {
		b.WriteString(", and in " + strconv.Itoa(c.Y-c.XY) + " others")
	}
	if r.Seen < c.N {
		b.WriteString("; " + strconv.Itoa(r.Seen) + " of the steps were observed, the others are estimated")
	}
	return b.String()
}

func name(dirs *evolution.Dirs, d evolution.Dir) string {
	if d == evolution.Root {
		return "/"
	}
	return dirs.Path(d)
}

// better compares what two rules for one consequent rest on: first the higher confidence, then the more
// negative correlation (undefined stands for no correlation, but a consequent that never changed goes before
// all), then the more frequent antecedent. 0 is equal.
func better(a, b counts) int {
	rank := func(c counts) float64 {
		if c.Y == 0 {
			return -2
		}
		phi, _ := c.CoC()
		return phi
	}
	return cmp.Or(
		cmp.Compare(confidence(b), confidence(a)),
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(evolution.Frequency{K: b.X, N: b.N}.Value(), evolution.Frequency{K: a.X, N: a.N}.Value()),
	)
}
