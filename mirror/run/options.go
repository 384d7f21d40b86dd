// SPDX-License-Identifier: Apache-2.0

package run

import (
	"iter"
	"log/slog"
	"time"

	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/mirror/source"
	"mirrord/scheduler/status"
	"mirrord/site"
	"mirrord/store"
)

// Options are what a run works with. All fields but Facts, Now, Log, Progress, Accept, Keep, NoFetch,
// Again, Space, Turn, Also, Imports, Restores and Policies are needed.
type Options struct {
	Job     *job.Job
	State   *store.State
	Site    *store.Site
	Fetcher source.Fetcher
	Robots  source.Robots
	Hosts   frontier.Hosts
	Facts   Facts // default State

	Now      func() time.Time      // default time.Now
	Log      *slog.Logger          // default none
	Progress func(status.Progress) // called about four times a second and at the end, never twice at a time
	Accept   bool                  // publish even if the run is suspicious, and make gaps known
	Keep     bool                  // accept, but keep what the site no longer has
	NoFetch  bool                  // only relocate and publish the stored documents
	Again    bool                  // request only what answered 404 or 410 for the first time
	Space    string                // of the job, from whose mirrors is taken what they have; "": none is
	Turn     frontier.SharedTurn   // of the run, which has it, among others; nil: it has no turns
	DeadEnds bool                  // all dead ends are requested that the mirror never had
	Imports  bool                  // answers are old: the run is in no log, and the next one requests all
	Also     iter.Seq[site.URL]    // requested after all that the entry points link to, and reached as these are
	Restores int                   // the older version that comes back, whose gaps are not reported; 0 for none
	// Confirm is the least time between the two answers 404 or 410 in one run that take something out of the
	// mirror; default 5 minutes, negative: the second request is made at the end of the run.
	Confirm time.Duration
	// TreeWait is for how long at most a publish waits for a tree whose grace is over; 0: it does not wait.
	TreeWait time.Duration
	// MostState is how many bytes the site may take for the sake of the other sites of the state, and
	// MostStateOf what says so; 0: nothing does.
	MostState   int64
	MostStateOf string

	Policies policy.PolicyRegistry // where the job's policy is found; default known.All()
}

func (o Options) withDefaults() Options {
	if o.Confirm == 0 {
		o.Confirm = 5 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Policies == nil {
		o.Policies = known.All()
	}
	if o.Facts == nil {
		o.Facts = o.State.Shared
	}
	return o
}
