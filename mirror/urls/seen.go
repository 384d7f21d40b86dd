// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"math/bits"

	"mirrord/site"
	"mirrord/store/record"
)

// Seen is what a run has found out about a URL, as a set. A URL with none of Observed was not observed, which
// is not the same as unchanged.
type Seen uint16

const (
	Asked   Seen = 1 << iota // the site answered
	Spared                   // unchanged by evidence
	Changed                  // another body
	Entered                  // the mirror
	Left                     // the mirror
	Named                    // a document links to it; not noted of all, and no observation
	Guess                    // a string in a script names it; no observation either
	Skipped                  // the plan spared it; nor is this one
	Audited                  // requested to check what said that it need not be; nor is this one
	Joined                   // one page with another URL, which is requested for both
)

// Observed are those that are observations.
const Observed = Asked | Spared | Changed | Entered | Left | Joined

// SeenOf returns what a record of this run says. was says whether the URL was in the mirror before.
func SeenOf(rec *record.Resource, was bool) (s Seen) {
	switch rec.Outcome {
	case site.Fetched, site.Redirected, site.Gone:
		s = Asked
	case site.Unchanged:
		if s = Asked; rec.Status == 0 {
			s = Spared
		}
	case site.Disallowed, site.OutOfScope:
		if rec.Status != 0 {
			s = Asked
		}
	}
	switch {
	case was && !rec.InSet && IsFolded(rec):
		s |= Joined
	case was && !rec.InSet:
		s |= Left
	case !was && rec.InSet:
		s |= Entered
	case was && rec.Outcome == site.Fetched && rec.Recent&1 != 0:
		s |= Changed
	}
	return s
}

// IsFolded reports whether another URL stands for that of a record, which redirects without a request.
func IsFolded(rec *record.Resource) bool { return rec.Outcome == site.Redirected && rec.Status == 0 }

// RateOf estimates how often a resource changes, from 0 to 255 times in 255 looks: (changes + 1/2) / (looks +
// 1) of its last 16, so that resources with few looks come before those that never changed in many.
func RateOf(rec *record.Resource) uint8 {
	looks := min(rec.Observed, 16)
	return uint8(255 * (2*bits.OnesCount16(rec.Recent) + 1) / (2*looks + 2))
}
