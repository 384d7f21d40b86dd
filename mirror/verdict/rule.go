// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"mirrord/internal/parts"
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// Stage is the moment of a run at which a rule applies.
type Stage uint8

// The stages, in the order of a run.
const (
	Retrieved  Stage = iota // retrieval ended; not for runs that make no requests
	Folded                  // the records are those of the run; not for runs that only relocate
	Settled                 // records and paths are those of the version to come; only if it will be published
	Compared                // likewise, and no change of records follows: is it what a rollback rejected?
	Building                // before a tree is built
	Publishing              // the tree is built and not yet published
)

// rules is the registry: each exported method returns one rule, in a file of its own. So a rule is added by a
// file here.
type rules struct{}

// rule is one reason to doubt a run.
type rule struct {
	at    Stage
	place int // among the rules of its stage: reasons stand in this order

	// judge looks at a case and changes nothing. Its error is one of reading the case.
	judge func(c *Case) (Ruling, error)
}

// Ruling is what one rule concludes. The zero value has nothing to say.
type Ruling struct {
	Verdict result.Verdict
	Reasons []string
	Notes   []Remark

	Restart bool       // unless some of this run is left, the next one requests everything
	Forget  []uint32   // pages that the next run requests without validators
	Leave   []uint32   // resources that leave the mirror
	Why     string     // they leave; "": nothing links to them
	Dropped []uint32   // resources whose loss makes the run suspicious
	Stay    []uint32   // those of Dropped that are still in the mirror, and leave when the run is accepted
	Orphans Orphans    // instead of the stored ones; nil: these stay
	Missing *Missing   // likewise
	Cuts    *urls.Cuts // likewise
	Gaps    *result.GapReport

	Rejection *result.Rejection // what was found is not published, because a rollback holds
	Released  bool              // the rollback holds no longer
}

// Remark is something for the summary. Without a URL it is a sentence of its own, with one it counts URLs.
type Remark struct {
	What string
	URL  site.URL
}

func (r *Ruling) gaps(format string, args ...any)       { r.because(result.Gaps, format, args) }
func (r *Ruling) partial(format string, args ...any)    { r.because(result.Partial, format, args) }
func (r *Ruling) suspicious(format string, args ...any) { r.because(result.Suspicious, format, args) }

func (r *Ruling) because(v result.Verdict, format string, args []any) {
	r.Verdict = max(r.Verdict, v)
	r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...))
}

func (r *Ruling) note(what string, u site.URL) { r.Notes = append(r.Notes, Remark{What: what, URL: u}) }

// Judge returns what the rules of a stage conclude, in their order. All of them see the same case.
func Judge(at Stage, c *Case) ([]Ruling, error) {
	all := parts.Of[rule](rules{})
	slices.SortStableFunc(all, func(a, b rule) int { return cmp.Compare(a.place, b.place) })
	var out []Ruling
	for _, x := range all {
		if x.at != at {
			continue
		}
		ruling, err := x.judge(c)
		if err != nil {
			return nil, err
		}
		out = append(out, ruling)
	}
	return out, nil
}
