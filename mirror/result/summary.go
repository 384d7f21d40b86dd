// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/json"
	"io"
	"time"
)

// Summary is the report of one run. The runs of a site are stored as such.
type Summary struct {
	Job       string    `json:"job"`
	Run       int       `json:"run"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"`
	Resumed   bool      `json:"resumed,omitempty"`
	Closed    bool      `json:"closed,omitempty"` // it was too old to resume, made no request and ended
	Verdict   Verdict   `json:"verdict"`
	Reasons   []string  `json:"reasons,omitempty"`
	HeldSince int64     `json:"held_since,omitempty"` // Unix seconds; only a look was made, see run.Held
	Published bool      `json:"published"`            // a new version
	// the older version that a rollback published again; 0 for all other runs
	RolledBackTo int  `json:"rolled_back_to,omitempty"`
	Undone       bool `json:"undone,omitempty"` // the rollback took an earlier one back: none holds now
	Version      int  `json:"version"`          // the published one, 0 without one
	// when that was published: the mirror has not changed since
	VersionTime time.Time `json:"version_time,omitzero"`
	Path        string    `json:"path,omitempty"`
	Entry       string    `json:"entry,omitempty"` // mirror path of the entry point

	// Of a run that did not get all that it knew from the site: all that is published was looked at at or after
	// this.
	Verified time.Time `json:"verified,omitzero"`

	// Of the URLs that the run knew, Asked is how many the site answered, or should have; the others were
	// skipped, because of evidence or a policy. A guess that led nowhere, such as an icon that no page names,
	// is in neither. Both are 0 for a run that makes no requests.
	Asked int64 `json:"asked"`
	Known int64 `json:"known"`

	Requests  int64 `json:"requests"`
	Fetched   int64 `json:"fetched"`
	Unchanged int64 `json:"unchanged"`
	// Noise are pages of Unchanged that came with another body, by the kind of what differs in it: each comes
	// under the first of part, region, order, number, age and token. A real edit of that kind would be among
	// them, but for tokens, which differ each time.
	Noise map[string]int64 `json:"noise,omitempty"`
	// Spared are requests that were not made, by the reason. Those of a listing, a sitemap or a lifetime are
	// unchanged and counted there; those of a price, a rule or a budget are Skipped.
	Spared  map[string]int64 `json:"spared,omitempty"`
	Policy  string           `json:"policy,omitempty"`  // that planned the run, if any did
	Planned map[string]int64 `json:"planned,omitempty"` // requests of the plan, by reason
	Skipped int64            `json:"skipped,omitempty"` // not looked at in this run, because of the plan
	// When what was skipped was last looked at, before this run.
	OldestLook time.Time `json:"oldest_look,omitzero"`
	LatestLook time.Time `json:"latest_look,omitzero"`
	Redirected int64     `json:"redirected"`
	Gone       int64     `json:"gone"`
	// FirstGone are those of the mirror that answered 404 or 410 for the first time: they stay until a second
	// look. Other are requests that no count has: second attempts, questions to the site, answers that are not
	// kept.
	FirstGone  int64 `json:"first_gone,omitempty"`
	Other      int64 `json:"other,omitempty"`
	Disallowed int64 `json:"disallowed"`
	Trapped    int64 `json:"trapped"`
	Failed     int64 `json:"failed"`  // not retrieved; another run may succeed
	Refused    int64 `json:"refused"` // 401, 403 and the like, never part of the mirror
	Left       int64 `json:"left"`    // for the next run
	Bytes      int64 `json:"bytes"`   // of bodies, decoded
	Wire       int64 `json:"wire"`    // of bodies, as they came

	Down []string `json:"down,omitempty"` // hosts of entry points that failed and were postponed
	// when the first host of an entry point that asked for a long wait may be requested; zero for none
	WaitUntil time.Time `json:"wait_until,omitzero"`

	// Alternates counts the answers that replicas gave in the origin's place, by their base URLs;
	// AlternatesSame those of them that were what the mirror held. Foreign is how many bodies of the mirror a
	// replica sent, in this run or before.
	Alternates     map[string]int64 `json:"alternates,omitempty"`
	AlternatesSame int64            `json:"alternates_unchanged,omitempty"`
	// Spread counts the answers of replicas that spread the load of the origin, by their base URLs.
	Spread   map[string]int64 `json:"spread,omitempty"`
	Foreign  int              `json:"foreign,omitempty"`
	Reused   int64            `json:"reused,omitempty"` // from the mirror of job ReusedOf
	ReusedOf string           `json:"reused_of,omitempty"`
	// FromSpace counts the answers that the site had given to other mirrors of the space, by their names. They
	// are among Spared, and not Skipped.
	FromSpace     map[string]int64 `json:"from_space,omitempty"`
	Followed      *Followed        `json:"followed,omitempty"`
	RepairedLinks int              `json:"repaired_links,omitempty"` // that lead to copies of broken pages

	// Of the pages that were fetched: how many have the words of another page of the site, all or but for what
	// programs write into each answer (see Explanation.Like).
	SameText int64 `json:"same_text,omitempty"`
	NearText int64 `json:"near_text,omitempty"`

	Files     int   `json:"files"` // of the published version
	Size      int64 `json:"size"`
	Added     int   `json:"added"`
	Changed   int   `json:"changed"`
	Removed   int   `json:"removed"`
	NewBytes  int64 `json:"new_bytes,omitempty"` // of files that are new or have other bytes
	Relocated int64 `json:"relocated"`           // documents spliced

	Gaps GapReport  `json:"gaps,omitzero"`
	Held *Rejection `json:"held,omitempty"` // a rollback holds: what was found was not published

	ReuseFound string      `json:"reuse_found,omitempty"` // another job mirrors a collection of the site too
	Notes      []Note      `json:"notes,omitempty"`
	Failures   []FailedURL `json:"failures,omitempty"`
}

// Followed says which version of a mirror a run followed, whose server says what it has.
type Followed struct {
	At      string `json:"at"`              // URL of its root
	Version int    `json:"version"`         // that it had
	Since   int    `json:"since,omitempty"` // the one that was known before; 0 for none
	Files   int64  `json:"files"`           // that came together, without a request for each
}

// Sparing reports whether a run that ended well did not look at all that it knew.
func (s *Summary) Sparing() bool { return (s.Verdict == Complete) && (s.Asked < s.Known) }

// ByEvidence is how many requests were not made because a source showed that nothing had changed.
func (s *Summary) ByEvidence() (n int64) {
	for _, by := range [...]string{"listing", "sitemap", "expiry", "edits"} {
		n += s.Spared[by]
	}
	return n
}

// OnlyNoise is how many pages Noise has.
func (s *Summary) OnlyNoise() (n int64) {
	for _, of := range s.Noise {
		n += of
	}
	return n
}

// Acceptable reports whether accept has something to do: to publish what was held back, to make gaps
// known, or to let go what was kept.
func (s *Summary) Acceptable() bool {
	return (s.Verdict == Suspicious) || (s.Verdict == Gaps) || (s.Held != nil) ||
		s.Gaps.Hold || (s.Gaps.Kept > 0)
}

// WriteJSON writes the summary as one JSON object.
func (s *Summary) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(s)
}
