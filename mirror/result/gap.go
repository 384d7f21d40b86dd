// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"slices"
	"time"
)

// MaxGaps is how many gaps a summary names.
const MaxGaps = 100

// Why a gap is no new trouble.
const (
	WrittenOff = "written off" // it failed in several runs in a row
	Accepted   = "accepted"    // a user accepted it
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
	Limit   string    `json:"limit,omitempty"` // that cut the document with the URL short: its links are missing
	Value   string    `json:"value,omitempty"` // of Limit
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
	Kept  int        `json:"kept,omitempty"`  // of URLs: kept by accept although the site no longer has them
	Since *time.Time `json:"since,omitempty"` // the first failure of the oldest gap
	Grew  bool       `json:"grew,omitempty"`  // a gap that is not known appeared or grew in this run
	// the run is the first one, would publish less than half of the known URLs, and waits for accept
	Hold bool  `json:"hold,omitempty"`
	List []Gap `json:"list,omitempty"` // at most MaxGaps, those that are not known first
}

// AddFirst adds gaps before those that are as known as they are.
func (r *GapReport) AddFirst(list []Gap) {
	for i := range list {
		g := &list[i]
		r.Count++
		r.URLs += g.URLs
		if g.Known != "" {
			r.Known++
		}
		if (r.Since == nil) || g.Since.Before(*r.Since) {
			r.Since = &g.Since
		}
	}
	r.List = slices.Concat(list, r.List)
	slices.SortStableFunc(r.List, func(a, b Gap) int { return min(len(a.Known), 1) - min(len(b.Known), 1) })
	r.List = r.List[:min(len(r.List), MaxGaps)]
}

// KnownText is "but for 3 accepted as missing (since 2026-11-01)", "" when nothing is.
func (r *GapReport) KnownText() string {
	if r.Known == 0 || r.Since == nil {
		return ""
	}
	return fmt.Sprintf("but for %d accepted as missing (since %s)", r.Known, r.Since.Format(time.DateOnly))
}
