// SPDX-License-Identifier: Apache-2.0

// Package policy decides what a run asks the site for, and in which order: full (everything), near
// (everything outside the directories that rules skip) and adaptive (what pays).
//
// A [Model] is what the runs so far have observed, in columns: 17 bytes a unit, and stories that units share.
// A unit is a page, or a listing: a request that names what lies directly in a directory. A [Plan] is one
// run. It hands out batches of the units that pay most, takes their results, computes again, and ends by
// itself:
//
//	m := policy.NewModel() // units and directories, then Learn for each run of the history, oldest first
//	p, err := known.All().Plan(m, policy.Options{Policy: policy.Adaptive, Now: now})
//	for batch := p.Next(64); len(batch) > 0; batch = p.Next(64) {
//		for _, a := range batch { … p.Tell(policy.Outcome{Unit: a.Unit, Result: policy.Unchanged}) }
//	}
//	m.Learn(&policy.Run{Time: now, Asked: …, Changed: …})
//
// Results for units that it did not hand out were observed without a request: evidence such as a listing
// or a sitemap. What it is not told of is not observed, which is not the same as unchanged. Nothing here is
// random: the same history and the same answers give the same requests.
//
// Neither type is safe for concurrent use. A caller with many requests in flight may call Next again before
// it has told all of the last batch.
package policy

import (
	"fmt"
	"iter"
	"math"
)

// Name is the name of a policy as jobs and commands write it.
type Name string

// The policies of this package; package known has all of them.
const (
	Full Name = "full" // asks for everything
	// asks for everything outside the skipped directories (Chen, Bhowmick, Nejdl 2007)
	Near     Name = "near"
	Adaptive Name = "adaptive" // requests the units worth more than Options.Price
)

// DefaultPrice is the price of a request, in changed pages, that adaptive pays unless told otherwise.
const DefaultPrice = 0.001

// MostPriceMB is the highest price of a megabyte, in changed pages.
const MostPriceMB = 1000

// Options say how one run is planned. The zero value plans a full run without bounds.
type Options struct {
	Policy Name  // default Full
	Now    int64 // Unix seconds at the beginning of the run; 0: one usual interval after the last run

	// Price is for policies that weigh requests: how many changed pages a request must be expected to find.
	// 0 means DefaultPrice; negative means no price: everything is requested, best first, until the budget
	// is used.
	Price float64

	// PriceMB is the price of a megabyte that answers transfer, in changed pages, on top of Price; 0: none. It
	// counts when Weights says what answers transfer.
	PriceMB float64
	Weights Weights

	// Late is how many seconds after the run that could have found it a change may be found, in the mean; 0: no
	// goal. With one the price falls while changes are found later, and does not rise within a run
	Late int64

	Budget int // requests that the plan may hand out; 0: no bound
	// how many requests each run adds to the purse of which Budget is the rest; 0: Budget is of this run alone.
	// The less is left for later runs, the more a request must be worth
	Own int
	// no unit stays unobserved for more runs in a row than this; 0: no bound. It does not go beyond Budget
	MaxSkip int
	// no unit that was last observed so many seconds ago is skipped; 0: no bound. Like MaxSkip it does not go
	// beyond Budget
	MaxAge int64

	// For policies that follow rules.
	Skips []Skip // the top-most skipped directories; everything below them is skipped as well, known or new
	// the rules are not followed in this run: every k-th run, as the caller counts, requests the skipped
	// directories as well
	Expired bool
	// each skipped directory is requested all the same in every Every-th run, the directories in turn; 0: never
	Every int
	// how many units of each skipped directory are requested all the same; one that changed restores the
	// whole directory in this run
	Audits int
}

// Skip is a directory that near does not visit.
type Skip struct {
	Dir  Dir
	Rule int // the caller's number of the rule, for Reason.Rule
}

func (o Options) withDefaults() (Options, error) {
	if o.Policy == "" {
		o.Policy = Full
	}
	if o.Price == 0 {
		o.Price = DefaultPrice
	}
	switch {
	case math.IsNaN(o.Price) || o.Price > 1:
		return o,
			fmt.Errorf("plan: price %v: want the changed pages that a request must be expected to find, at most 1",
				o.Price)
	case !(o.PriceMB >= 0 && o.PriceMB <= MostPriceMB):
		return o, fmt.Errorf("plan: price %v of a megabyte: want changed pages, 0 to %v", o.PriceMB, MostPriceMB)
	case o.Budget < 0:
		return o, fmt.Errorf("plan: budget of %d requests: want 0 (no bound) or more", o.Budget)
	case o.MaxSkip < 0:
		return o, fmt.Errorf("plan: max_skip of %d runs: want 0 (no bound) or more", o.MaxSkip)
	case o.Late < 0:
		return o, fmt.Errorf("plan: changes found %d s late: want 0 (no goal) or more", o.Late)
	case o.MaxAge < 0:
		return o, fmt.Errorf("plan: max_skip_time of %d s: want 0 (no bound) or more", o.MaxAge)
	case o.Every < 0:
		return o, fmt.Errorf("plan: skipped directories asked in every %d. run: want 0 (never) or more", o.Every)
	case o.Audits < 0:
		return o, fmt.Errorf("plan: %d audits: want 0 (none) or more", o.Audits)
	}
	return o, nil
}

// Ask is one request that a plan wants.
type Ask struct {
	Unit ID
	Why  Reason
}

// Result is what came of a unit.
type Result uint8

// The results. A request that failed is Failed: it tells nothing of the unit, and the plan does not hand it
// out again.
const (
	Unchanged Result = iota
	Changed          // another content than the last time
	Gone             // no longer there
	Failed           // no answer that says anything
)

// Outcome is what was observed of a unit; a plan receives it.
type Outcome struct {
	Unit   ID
	Result Result
	// it was requested because something told of its change: that says nothing of its neighbours, of which
	// nothing was told
	Told bool
	// URLs that were unknown before, named by this unit. A listing that named new or missed entries is Changed
	New int
}

// Plan is one run.
type Plan interface {
	// Next hands out at most so many units, the best first. None means that the plan has ended, unless outcomes
	// are still to be told.
	Next(most int) []Ask

	// NextListings is Next for listings alone: what a run requests first that can learn from them what it may
	// skip. Those that pay are handed out, and with a budget only those that pay more than any other unit; Next
	// hands out the others in their turn. Only adaptive has any.
	NextListings(most int) []Ask

	// Tell takes an outcome: of a unit that was handed out, or of one that was observed without a request.
	Tell(o Outcome)

	// Reason says why a unit of the site was requested or, when it was not handed out, why it is skipped, by the
	// numbers of the last call of Next. The numbers by which a unit was handed out are in its Ask only.
	Reason(u ID) Reason

	// Spared yields the units that are known, were not handed out and not told of.
	Spared() iter.Seq2[ID, Reason]
}
