// SPDX-License-Identifier: Apache-2.0

package near

import (
	"fmt"
	"math"
	"strconv"
)

// Options are the thresholds of mining. They have no default: start from [Third].
type Options struct {
	MinDoC float64 // alpha, 0 to 1: from this degree on a change is significant; 0: any change is
	// beta, 0 to 1: how often the antecedent has to change, and the pair must not; with 0 there is no rule
	MinFoC        float64
	MinCoC        float64 // gamma, 0 to 1: how strong the negative correlation has to be
	MinConfidence float64 // min_conf, 0 to 1
	Zero          Zero    // how an undefined correlation is read
	Structural    bool    // files with other contents are no change
	MinSteps      int     // in fewer steps than this nothing is learned of a pair; 0: 1

	// Expire ends rules: a directory of which nothing was known in that many last steps in a row, because it was
	// skipped, has none, and is to be visited. 0: rules do not expire.
	Expire int

	From, To int // the steps learned from: From first (counted from 0), To not; To 0: all there are

	// MaxChains bounds the chains looked at for one consequent. Chains that changed in the same steps count
	// once, so that more than a few come up on hostile sites only. 0: 4096. Where it bites, longer chains are
	// left out.
	MaxChains int
}

// Zero says how an undefined CoC is read: one of the two sides changed in every step or in none.
type Zero uint8

const (
	// ZeroNever takes a consequent that never changed as the best there is, and otherwise reads as ZeroZero. It
	// is the zero value: without it, the most skippable directories have no rule.
	ZeroNever Zero = iota
	// ZeroZero takes it as 0: good enough when MinCoC is 0.
	ZeroZero
	// ZeroStrict makes no rule of it.
	ZeroStrict
)

func (z Zero) String() string {
	switch z {
	case ZeroNever:
		return "never"
	case ZeroZero:
		return "zero"
	case ZeroStrict:
		return "strict"
	}
	return "zero(" + strconv.Itoa(int(z)) + ")"
}

// MarshalText writes the word of String.
func (z Zero) MarshalText() ([]byte, error) { return []byte(z.String()), nil }

// UnmarshalText reads strict, zero or never.
func (z *Zero) UnmarshalText(b []byte) error {
	for _, v := range []Zero{ZeroNever, ZeroZero, ZeroStrict} {
		if string(b) == v.String() {
			*z = v
			return nil
		}
	}
	return fmt.Errorf("zero %q: it has to be strict, zero or never", b)
}

// Third are the thresholds that skip about the third of a site that the paper speaks of.
func Third() Options {
	return Options{
		MinDoC:        0.01,
		MinFoC:        0.05,
		MinConfidence: 0.5,
		Zero:          ZeroNever,
	}
}

// Validate returns an error for invalid thresholds.
func (o Options) Validate() error {
	for _, t := range []struct {
		name  string
		value float64
	}{
		{"alpha (MinDoC)", o.MinDoC}, {"beta (MinFoC)", o.MinFoC}, {"gamma (MinCoC)", o.MinCoC},
		{"min-conf (MinConfidence)", o.MinConfidence},
	} {
		if math.IsNaN(t.value) || t.value < 0 || t.value > 1 {
			return fmt.Errorf("%s %v: it has to be between 0 and 1", t.name, t.value)
		}
	}
	if o.Zero > ZeroStrict {
		return fmt.Errorf("zero %d: it has to be strict, zero or never", o.Zero)
	}
	if o.MinSteps < 0 || o.Expire < 0 || o.MaxChains < 0 {
		return fmt.Errorf("steps %d, expire %d, chains %d: they cannot be negative", o.MinSteps, o.Expire,
			o.MaxChains)
	}
	if o.From < 0 || o.To < 0 || (o.To > 0 && o.From > o.To) {
		return fmt.Errorf("steps %d to %d: no such range", o.From, o.To)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.MinSteps == 0 {
		o.MinSteps = 1
	}
	if o.MaxChains == 0 {
		o.MaxChains = 4096
	}
	return o
}

// accepts reports whether counts make a rule.
func (o *Options) accepts(c counts) bool {
	if c.N < o.MinSteps || c.X == 0 {
		return false
	}
	n := float64(c.N)
	if float64(c.X)/n < o.MinFoC || float64(c.XY)/n >= o.MinFoC ||
		float64(c.X-c.XY)/float64(c.X) < o.MinConfidence {
		return false
	}
	phi, defined := c.CoC()
	if defined {
		return phi <= -o.MinCoC
	}
	switch o.Zero {
	case ZeroStrict:
		return false
	case ZeroNever:
		if c.Y == 0 {
			return true
		}
	}
	return o.MinCoC == 0
}
