// SPDX-License-Identifier: Apache-2.0

// Package status is the truth about jobs: the state of each, whether it is well, and when a user has to
// be told.
//
// The scheduler fills a Job for every job it knows; the control socket carries it, the status page and the
// metrics show it, and the notifier words it. They all judge by the same functions, so that no two of them
// can disagree, and nothing here asks a clock, a disk or a network: the time is a parameter.
//
// A job has a Health and an Activity, which are apart: a job that failed and runs again has still failed
// until a run has ended complete.
//
// Staleness is the age of the oldest part of the mirror that no run has verified since: everything in the
// mirror was looked at, or vouched for by evidence, at or after Job.Verified.
package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mirrord/internal/count"
)

// Health is the judgement of a job.
type Health string

// The healths, from good to bad: Worse compares them.
const (
	OK  Health = "ok"  // the last run was complete, maybe but for known gaps
	New Health = "new" // it has not run yet
	// the last run was published, and could not get some part, which is new
	Gaps Health = "gaps"
	// its file is refused; its last good version stays in force, if there is one
	Invalid    Health = "invalid"
	Partial    Health = "partial"    // the last run left something to ask
	Down       Health = "down"       // the site does not answer the run that is in progress
	Stale      Health = "stale"      // not verified for longer than its bound
	Suspicious Health = "suspicious" // the last run is held for review
	Failed     Health = "failed"     // the last run ended in an error
	Damaged    Health = "damaged"    // the database cannot be used, or stored or published files are damaged
)

// Healths returns all healths, from good to bad.
func Healths() []Health {
	return []Health{OK, New, Gaps, Invalid, Partial, Down, Stale, Suspicious, Failed, Damaged}
}

// Activity is what a job is doing.
type Activity string

// The activities.
const (
	Idle    Activity = "idle"    // nothing until Job.Next
	Waiting Activity = "waiting" // due; waits for a turn
	Running Activity = "running"
	Ending  Activity = "ending" // was told to stop, and will have soon
	Paused  Activity = "paused" // by mirrord pause
	Window  Activity = "window" // a run waits for the job's window to open
	NoRoom  Activity = "noroom" // a run waits for room on the disk: limits.min_free
)

// Cause says who ended a run early.
type Cause string

// The causes. A run that ends for one of them but BadState is no failure: it continues by itself, or the
// user who
// ended it knows.
const (
	ByItself   Cause = ""
	Shutdown   Cause = "shutdown"  // the daemon ended; the run continues when it starts again
	Cancelled  Cause = "cancelled" // mirrord cancel
	PausedRun  Cause = "paused"    // mirrord pause
	OutOfHours Cause = "window"    // the window closed
	DiskFull   Cause = "noroom"    // less than limits.min_free is left
	Postponed  Cause = "postponed" // hooks.before asked for a later time; it is tried again
	StateFull  Cause = "statefull" // the mirror takes as much as one of the two max_state allows
	GaveWay    Cause = "gaveway"   // it only waited, and others could not start for lack of memory
	Busy       Cause = "locked"    // another process works on the site
	// the database of the mirror cannot be used: Run.Error has the problem and what to do
	BadState Cause = "damaged"
	Killed   Cause = "killed" // the process ended without a word: kill -9, power
)

// The verdicts of a run. The first four are those of package mirror.
const (
	VerdictComplete   = "complete"
	VerdictGaps       = "gaps"
	VerdictPartial    = "partial"
	VerdictSuspicious = "suspicious"
	VerdictError      = "error" // it could not continue
)

// Shown returns the word that people read for a health or a verdict.
func Shown(word string) string {
	switch word {
	case VerdictGaps:
		return "missing"
	case VerdictSuspicious:
		return "held for review"
	}
	return word
}

// Run is how one run ended.
type Run struct {
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended"`
	Verdict   string    `json:"verdict"`         // complete, gaps, partial, suspicious or error
	Cause     Cause     `json:"cause,omitempty"` // why the run ended early
	Reasons   []string  `json:"reasons,omitempty"`
	Error     string    `json:"error,omitempty"`
	Published bool      `json:"published"` // a new version
	Version   int       `json:"version,omitempty"`
	Files     int       `json:"files,omitempty"` // of the published version
	Bytes     int64     `json:"bytes,omitempty"`

	Asked    int64 `json:"asked"` // URLs, of those that the run knew
	Known    int64 `json:"known"`
	Requests int64 `json:"requests"`
	// URLs of the mirror that answered 404 or 410 for the first time: they stay until a second look
	FirstGone int64            `json:"first_gone,omitempty"`
	Received  int64            `json:"received"`         // bytes of bodies, as they came
	Spared    map[string]int64 `json:"spared,omitempty"` // requests, by what spared them
	Added     int              `json:"added,omitempty"`
	Changed   int              `json:"changed,omitempty"`
	Removed   int              `json:"removed,omitempty"`
	NewBytes  int64            `json:"new_bytes,omitempty"` // of files that are new or have other bytes

	Gaps      int        `json:"gaps,omitempty"`       // parts that the mirror should have and could not get
	KnownGaps int        `json:"known_gaps,omitempty"` // of Gaps: written off, accepted or few
	Kept      int        `json:"kept,omitempty"`       // URLs of Gaps that accept kept although the site lost them
	GapsSince *time.Time `json:"gaps_since,omitempty"` // the first failure of the oldest
	GapsGrew  bool       `json:"gaps_grew,omitempty"`  // one that is not known appeared or grew
	Hold      bool       `json:"hold,omitempty"`       // it is partial, and accept publishes the first version
	// another run would only repeat it until a user acts: it is not retried before its schedule
	Lasting bool     `json:"lasting,omitempty"`
	Waiting []string `json:"waiting,omitempty"` // lines that show what accept would change

	// the version that a rollback restored, and that is published while the site stays as it was rejected
	RolledBackTo int  `json:"rolled_back_to,omitempty"`
	Undone       bool `json:"undone,omitempty"` // the rollback took an earlier one back
	Held         bool `json:"held,omitempty"`   // the run found the site so; accept publishes it

	Verified time.Time `json:"verified,omitzero"` // see Job.Verified; zero: this run did not move it

	ReuseFound string `json:"reuse_found,omitempty"` // another job mirrors a collection of the site too

	Summary json.RawMessage `json:"summary,omitempty"` // the whole report, for the client that requested the run
}

// Complete reports whether the run was complete.
func (r *Run) Complete() bool { return r != nil && r.Verdict == VerdictComplete }

// Finished reports whether the run got what could be had: it was complete, or published with gaps.
func (r *Run) Finished() bool { return r.Complete() || (r != nil && r.Verdict == VerdictGaps) }

// GapsText counts what a run left missing: "3 accepted as missing (since 2026-11-01)"; "" for nothing.
func (r *Run) GapsText() string {
	if r == nil || r.Gaps == 0 {
		return ""
	}
	fresh := r.Gaps - r.KnownGaps
	text := fmt.Sprintf("%d new and %d accepted", fresh, r.KnownGaps)
	switch {
	case r.KnownGaps == 0:
		text = fmt.Sprintf("%d new", fresh)
	case fresh == 0:
		text = fmt.Sprintf("%d accepted as missing", r.KnownGaps)
	}
	if r.GapsSince != nil {
		text += " (since " + r.GapsSince.Format(time.DateOnly) + ")"
	}
	return text
}

// Skipped is how many requests the run saved.
func (r *Run) Skipped() (n int64) {
	for _, by := range r.Spared {
		n += by
	}
	return n
}

// FirstGoneText says what answered 404 or 410 for the first time in a run; "" for none.
func (r *Run) FirstGoneText() string {
	if r == nil {
		return ""
	}
	return count.FirstGone(r.FirstGone)
}

// Progress is where a run stands, as the engine reports it.
type Progress struct {
	Phase    string        `json:"phase"`   // Retrieving, Relocating or Publishing
	Elapsed  time.Duration `json:"elapsed"` // nanoseconds
	Done     int64         `json:"done"`    // URLs answered
	Queued   int           `json:"queued"`  // URLs waiting
	InFlight int           `json:"in_flight"`
	Failed   int64         `json:"failed"`
	Bytes    int64         `json:"bytes"`               // received, as they came
	Requests int64         `json:"requests,omitempty"`  // made
	Coming   int64         `json:"coming,omitempty"`    // bytes of bodies, decoded, those in flight included
	Hosts    int           `json:"hosts,omitempty"`     // that URLs wait for, or are requested from
	Busy     []BusyHost    `json:"busy,omitempty"`      // those of Hosts with the most URLs
	WaitHost string        `json:"wait_host,omitempty"` // the host whose turn is waited for
	WaitFor  time.Duration `json:"wait_for,omitempty"`  // nanoseconds
	WaitWhy  WaitFor       `json:"wait_why,omitempty"`  // the reason for waiting
	// origins and hosts of entry points that do not answer
	Down      []string `json:"down,omitempty"`
	Relocated int64    `json:"relocated,omitempty"` // of Total files
	Total     int64    `json:"total,omitempty"`

	Recent []AnsweredURL `json:"recent,omitempty"` // the last answers, newest first
}

// BusyHost is a host that a run makes requests of.
type BusyHost struct {
	Host     string        `json:"host"`
	Queued   int           `json:"queued"` // URLs waiting
	InFlight int           `json:"in_flight"`
	Gap      time.Duration `json:"gap"`              // nanoseconds, between two requests, as politeness has it now
	GapBy    []string      `json:"gap_by,omitempty"` // the other jobs whose wish that is
	Wait     time.Duration `json:"wait,omitempty"`   // nanoseconds until the next one may start
}

// AnsweredURL is a URL and what it came to.
type AnsweredURL struct {
	URL     string `json:"url"`
	Outcome string `json:"outcome"`
}

// The phases of a run; requests are made in the first one.
const (
	Retrieving = "retrieving"
	Relocating = "relocating"
	Publishing = "publishing"
)

// SortJobs sorts jobs by name.
func SortJobs(jobs []Job) {
	slices.SortFunc(jobs, func(a, b Job) int { return strings.Compare(a.Name, b.Name) })
}

// Job is the state of one job. Unknown times are nil.
type Job struct {
	Name string `json:"job"`            // its name
	File string `json:"file,omitempty"` // path of the job file
	Node string `json:"node,omitempty"` // of a cluster: that has the job
	// ok, new, gaps, invalid, partial, down, stale, suspicious, failed or damaged
	Health   Health   `json:"state"`
	Activity Activity `json:"activity"` // idle, waiting, running, ending, paused, window or noroom

	Schedule string     `json:"schedule,omitempty"`
	Timezone string     `json:"timezone,omitempty"`
	Next     *time.Time `json:"next_run,omitempty"`
	NextText string     `json:"next_text,omitempty"` // Next for people, with the job's time zone
	Why      string     `json:"next_why,omitempty"`  // first, schedule, missed, retry, resume, second look, by hand
	Started  *time.Time `json:"started,omitempty"`   // of the run under way
	Progress *Progress  `json:"progress,omitempty"`
	Turn     bool       `json:"turn,omitempty"`  // the run has a turn: it works
	Waits    *Wait      `json:"waits,omitempty"` // what the job, or its run, waits for

	Last     *Run       `json:"last,omitempty"`          // the last run that ended
	LastRun  *time.Time `json:"last_run,omitempty"`      // its end
	Verdict  string     `json:"verdict,omitempty"`       // its verdict
	Reasons  []string   `json:"reasons,omitempty"`       // and why
	Complete *time.Time `json:"last_complete,omitempty"` // end of the last run that was complete or had gaps
	Added    *time.Time `json:"added,omitempty"`         // when the daemon came to know the job
	Failures int        `json:"failures,omitempty"`      // runs since then that ended otherwise by themselves

	Version   int        `json:"version,omitempty"`
	Published *time.Time `json:"published,omitempty"` // when the current version was
	Files     int        `json:"files,omitempty"`
	Bytes     int64      `json:"bytes,omitempty"` // of the published version

	Verified   *time.Time `json:"verified,omitempty"`    // all of the mirror was verified at or after this
	Staleness  int64      `json:"staleness,omitempty"`   // seconds since then
	StaleAfter int64      `json:"stale_after,omitempty"` // seconds; 0 no bound
	Stale      bool       `json:"stale,omitempty"`       // the bound has passed

	Problems []string `json:"problems,omitempty"` // with the job's file or its mirror
	Refused  bool     `json:"refused,omitempty"`  // the file is refused: see Problems
	Warnings []string `json:"warnings,omitempty"` // old keys in the job's file, each with what to write instead
	Fix      string   `json:"fix,omitempty"`      // the command that would mend it

	// what was taken out of the mirror, when and why; only where one job is requested
	Forgotten []string `json:"forgotten,omitempty"`
	// hooks that failed when they ran last, and why; only where one job is requested
	Hooks []string `json:"hooks,omitempty"`
	Disk  *Disk    `json:"disk,omitempty"` // what the mirror takes on the disk

	// what the daemon's reading of the stored bytes has found; nil: nothing was read yet
	Scrub *Scrub `json:"scrub,omitempty"`

	AsOf *time.Time `json:"as_of,omitempty"` // of another node: when it said all this

	// the whole report of the last run; only where one job is requested
	Summary json.RawMessage `json:"summary,omitempty"`
}

// TimeText writes a time for people, with the zone that it is in.
func TimeText(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

// Change is what a reload did to one job.
type Change struct {
	Kind     string   `json:"change"` // added, changed, removed, refused, mended, retried
	Job      string   `json:"job"`
	Problems []string `json:"problems,omitempty"`
}

// Disk is what a mirror takes in the state directory, in bytes.
type Disk struct {
	At        time.Time `json:"at"`        // when it was measured: at the end of the last run that changed it
	Total     int64     `json:"total"`     // of what follows
	Bodies    int64     `json:"bodies"`    // published as they came; those that mirrors share count for each
	Documents int64     `json:"documents"` // all versions of pages, packed, and heads of answers
	Trees     int64     `json:"trees"`     // published pages
	Database  int64     `json:"database"`
}

// Daemon is the state of a daemon.
type Daemon struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	State   string    `json:"state"`   // directory
	Jobs    string    `json:"jobs"`    // directory
	Running int       `json:"running"` // runs under way, those that only wait included
	MaxRuns int       `json:"max_runs"`
	// runs under way that gave their turn back because they wait, and how many there may be
	Parked    int        `json:"parked"`
	MaxParked int        `json:"max_parked"`
	Turns     []TurnHeld `json:"turns,omitempty"` // who works, longest first
	Hosts     []HostHeld `json:"hosts,omitempty"` // who makes requests of which host
	Ready     bool       `json:"ready"`
	Ending    bool       `json:"ending,omitempty"`
	Reloaded  *time.Time `json:"reloaded,omitempty"` // when the jobs directory was last read
	Problem   string     `json:"problem,omitempty"`  // with the jobs directory as a whole
	Free      int64      `json:"free,omitempty"`     // bytes on the disk of the state directory
	Runs      Counts     `json:"runs"`               // since the start
	Untold    int64      `json:"untold"`             // messages that could not be delivered
}

// Counts are numbers of runs by how they ended.
type Counts struct {
	Started    int64 `json:"started"`
	Complete   int64 `json:"complete"`
	Gaps       int64 `json:"gaps"`
	Partial    int64 `json:"partial"`
	Suspicious int64 `json:"suspicious"`
	Failed     int64 `json:"failed"`
	Skipped    int64 `json:"skipped"` // due while the job was still running
}

// All is everything that a daemon says of itself.
type All struct {
	Daemon Daemon     `json:"daemon"`
	Jobs   []Job      `json:"jobs"`            // by name
	Nodes  []NodeSaid `json:"nodes,omitempty"` // the other nodes of its cluster
}

// NodeSaid is what a node of a cluster knows of another one.
type NodeSaid struct {
	Name string     `json:"node"`            // its name
	Jobs int        `json:"jobs"`            // that it has
	AsOf *time.Time `json:"as_of,omitempty"` // when it last answered
	Away string     `json:"away,omitempty"`  // why it does not answer
}
