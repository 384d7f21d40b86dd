// SPDX-License-Identifier: Apache-2.0

package policy

import "fmt"

// Why is the kind of a reason.
type Why uint8

// Reasons to ask.
const (
	Everything Why = iota // the policy asks for everything, or nothing is known yet
	New                   // never observed
	Rate                  // it changes often enough
	Probe                 // one of a group that changes together, requested first
	Group                 // others of its group changed in this run
	Skipped               // Options.MaxSkip or Options.MaxAge
	Audit                 // of a skipped directory, to hold the rule to account
	Refuted               // an audit of its directory found a change
	Expired               // its rule is not followed in this run
	Hub                   // it changed in nearly all runs in which anything did: its silence says most
	Said                  // a page or another source says something new of it
)

// Reasons to spare.
const (
	Cheap    Why = iota + 32 // expected to find less than a request costs
	Budget                   // Options.Budget was used up
	Rule                     // a rule skips its directory
	Observed                 // evidence told of it without a request
	Unknown                  // no such unit
	Unnamed                  // the run is for other units, see Only
)

func (w Why) String() string {
	switch w {
	case Everything:
		return "everything"
	case New:
		return "new"
	case Rate:
		return "rate"
	case Probe:
		return "probe"
	case Group:
		return "group"
	case Skipped:
		return "max_skip"
	case Audit:
		return "audit"
	case Refuted:
		return "refuted"
	case Expired:
		return "expired"
	case Hub:
		return "hub"
	case Said:
		return "said"
	case Cheap:
		return "price"
	case Budget:
		return "budget"
	case Rule:
		return "rule"
	case Observed:
		return "evidence"
	case Unnamed:
		return "unnamed"
	}
	return "unknown"
}

// Reason says why a unit is requested or skipped.
type Reason struct {
	Why      Why
	Expected float32 // changes that the request was expected to find
	Worth    float32 // the same, or of a probe what a hit would open up as well
	Price    float32 // what the request had to be worth
	Runs     int     // since it was last observed
	Age      int64   // seconds since then, when Options.MaxAge is why it is requested and Options.MaxSkip is not
	Silent   int     // runs in which its directory, or one above, did not change when the next one above did
	Rule     int     // Skip.Rule, for Audit, Refuted, Expired and Rule
}

// rule says that a rule is among what a reason is made of.
func (r Reason) rule() string {
	if r.Silent == 0 {
		return ""
	}
	return fmt.Sprintf("; its directory did not change in %d runs in which the one above it did", r.Silent)
}

// String renders the reason in words.
func (r Reason) String() string {
	switch r.Why {
	case Everything:
		return "asked: everything is"
	case New:
		return "asked: never observed"
	case Rate:
		return fmt.Sprintf("asked: its rate: expected %.2g changes, price %.2g", r.Expected, r.Price)
	case Probe:
		return fmt.Sprintf(
			"asked: probe of a group that changed together: expected %.2g changes, worth %.2g, price %.2g", r.Expected,
			r.Worth, r.Price)
	case Group:
		return fmt.Sprintf("asked: others of its group changed in this run: expected %.2g changes, price %.2g",
			r.Expected, r.Price)
	case Skipped:
		if r.Age > 0 {
			return "asked: max_skip_time: not observed for " + span(r.Age)
		}
		return fmt.Sprintf("asked: max_skip: not observed for %d runs", r.Runs)
	case Audit:
		return fmt.Sprintf("asked: audit of the skip by rule %d", r.Rule)
	case Refuted:
		return fmt.Sprintf("asked: an audit refuted rule %d", r.Rule)
	case Expired:
		return fmt.Sprintf("asked: rule %d is not followed in this run", r.Rule)
	case Hub:
		return "asked: hub: its silence tells whether the site is quiet"
	case Said:
		return fmt.Sprintf(
			"asked: a page or another source says something new of it: expected %.2g changes, price %.2g", r.Expected,
			r.Price)
	case Cheap:
		return fmt.Sprintf("spared: expected %.2g changes, price %.2g", r.Expected, r.Price) + r.rule()
	case Budget:
		return "spared: the budget is used up"
	case Rule:
		return fmt.Sprintf("spared: rule %d skips its directory", r.Rule)
	case Unnamed:
		return "spared: the run is for other URLs"
	case Observed:
		return "spared: observed without a request"
	}
	return "not known"
}

// span is a number of seconds in words: whole days, of less than two days hours.
func span(seconds int64) string {
	if hours := seconds / 3600; hours < 48 {
		return fmt.Sprintf("%d hours", hours)
	}
	return fmt.Sprintf("%d days", seconds/86400)
}
