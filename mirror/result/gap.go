// SPDX-License-Identifier: Apache-2.0

package result

import (
	"time"

	"mirrord/internal/count"
)

// MaxGaps is how many gaps a summary names.
const MaxGaps = 100

// Why a gap is no new trouble.
const (
	WrittenOff = "written off" // it failed in several runs in a row
	Accepted   = "accepted"    // somebody accepted it
	Few        = "few"         // limits.max_failures tolerates it
)

// Gap is a part that the mirror should have and could not get: a URL, or several URLs of one origin. What the
// mirror had of it stays; other links to it lead to the origin.
type Gap struct {
	URL     string    `json:"url,omitempty"`
	Origin  string    `json:"origin,omitempty"`  // in place of URL
	Example string    `json:"example,omitempty"` // a URL of the origin
	URLs    int       `json:"urls"`              // how many it stands for
	Since   time.Time `json:"since"`             // the first failure
	Runs    int       `json:"runs"`              // that failed, in a row
	Why     string    `json:"why,omitempty"`
	Known   string    `json:"known,omitempty"` // why it is no new trouble; "" when it is
}

// Name is the URL or the origin.
func (g *Gap) Name() string {
	if g.URL != "" {
		return g.URL
	}
	return g.Origin
}

// GapReport is what a run says of gaps.
type GapReport struct {
	Count int        `json:"count"`           // of all gaps
	URLs  int        `json:"urls"`            // that they stand for
	Known int        `json:"known"`           // of Count: gaps that are no new trouble
	Since *time.Time `json:"since,omitempty"` // the first failure of the oldest gap
	Grew  bool       `json:"grew,omitempty"`  // a gap that is not known appeared or grew in this run
	// the run is the first one, would publish less than half of what is known, and waits for accept
	Hold bool  `json:"hold,omitempty"`
	List []Gap `json:"list,omitempty"` // at most MaxGaps, those that are not known first
}

// KnownText is "but for 3 known gaps (since 2026-11-01)", "" without known gaps.
func (r *GapReport) KnownText() string {
	if r.Known == 0 || r.Since == nil {
		return ""
	}
	return "but for " + count.Of(r.Known, "known gap") + " (since " + r.Since.Format(time.DateOnly) + ")"
}
