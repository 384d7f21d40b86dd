// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"time"

	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// Case is what a run knows when it is judged. Rules read it and change nothing.
type Case struct {
	Seeds   []site.URL
	Limits  job.Limits
	Accept  bool // a user has checked the result held for review and accepts it
	Keep    bool // and what the site no longer has stays
	NoFetch bool // the run makes no requests

	Run     urls.Run
	Live    *record.Version // the published version, nil before the first
	Planned bool            // a policy planned it: some known URLs were skipped

	Table   urls.Settled
	Records Recorded

	// Of retrieval.
	Ended     error // why it ended early, nil when nothing was left to request
	Left      int64 // URLs without an outcome
	Requests  int64
	Postponed []PostponedHost       // entry points' hosts, by name
	Silent    map[string]int64      // other origins without any answer, and how many of their URLs failed
	Why       func(site.URL) string // why a URL failed, or what became of an entry point; "" if unknown
	Probes    []ErrorPage           // answers with status 200 to paths that cannot exist
	Traps     map[string][]uint32   // endless chains by pattern, and their pages that were requested
	Texts     Texts
	Sitemaps  []uint32 // by number; at Settled and Publishing
	Foreign   int      // resources that only replicas gave of late
	Orphans   Orphans  // stored by an earlier run, and at Publishing by this one

	// Refuses reports whether the rules of the job refuse what the mirror had; nil: they have not changed. A
	// type that they refuse explains that only of what was not requested: other answers are changes of the site.
	Refuses func(rec *record.Resource) bool

	Lost LostFiles // at Settled and Publishing

	Parts PartFacts // at Folded, Settled and Compared
}

// LostFiles are the published files that would be dropped.
type LostFiles struct {
	IDs     []uint32 // their numbers
	Unknown int      // how many more have a URL without a number

	Trapped func(site.URL) bool // there was a trap among pages of its kind; nil: no trap

	// Noted is what the run that was held back noted as leaving when it is accepted; all else is at Publishing.
	Noted record.IDs
}

// PartFacts is what a case knows of the parts that the mirror should have and could not get.
type PartFacts struct {
	CutBefore  urls.Cuts             // as an earlier run stored them
	RobotsCuts map[string]result.Cut // by origin, of each whose robots.txt was read
	Before     *Missing              // as an earlier run stored them; nil when none ever did
	Began      time.Time
	Now        time.Time
	Covers     func(site.URL) bool   // the scope of the job
	Refused    func(id uint32) bool  // the last failure of the run is one that stays, and no trouble
	Cuts       map[uint32]result.Cut // documents that limits cut short
	Closed     bool                  // the run is too old to continue: the rest counts as missing
	Gaps       bool                  // at Settled and Compared: the verdict is gaps

	Rejection RejectionFacts // at Compared: the parts as they were in a version that a rollback rejected
}

// Recorded reads stored records. *facts.Records is one.
type Recorded interface {
	// Resources calls f for every record, in the order of the URLs. f must not keep it.
	Resources(f func(*record.Resource) error) error
	// Get returns the record of a URL; ok is false without one.
	Get(u site.URL) (rec record.Resource, ok bool, err error)
	// TargetsOf returns the links of a document, for record.Targets.
	TargetsOf(id uint32) ([]byte, error)
	// Observations calls f for what every run has observed, oldest first. f must not keep it.
	Observations(f func(*record.Observation) error) error
}

// PostponedHost is the host or origin of an entry point that is left for the next run.
type PostponedHost struct{ Host, Reason string }

// fewDeleted is how many files a site of any size may lose in a run, unless limits.max_delete is 0.
const fewDeleted = 3

// dropsTooMany reports whether a run that drops n files drops more than limits.max_delete of the published
// version.
func (c *Case) dropsTooMany(n int) bool {
	if (c.Limits.MaxDelete > 0) && (n <= fewDeleted) {
		return false
	}
	return float64(n) > float64(c.Limits.MaxDelete)*float64(max(c.Live.Files, 1))
}
