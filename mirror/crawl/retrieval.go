// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mirrord/mirror/frontier"
	"mirrord/mirror/result"
	"mirrord/mirror/run"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/scheduler/status"
)

// Retrieval is phase one of one run, before anything is loaded.
type Retrieval struct {
	*run.Session
	dispatcher *frontier.Dispatcher
	slot       *frontier.RunSlot // nil: the run has no turns
	chain      source.Chain
	variants   *urls.Variants
	recent     frontier.Recent
	found      string // a collection that another job mirrors too
}

// New returns the retrieval of a run. The error is a job that cannot be used.
func New(s *run.Session) (r *Retrieval, err error) {
	r = &Retrieval{Session: s}
	v, err := r.Site.Notes.Fact(source.SpellingsFact)
	if err != nil {
		return nil, err
	}
	r.chain.Spelled = source.NewSpellings(r.Options.Fetcher, v)
	r.Options.Fetcher = r.chain.Spelled
	r.dispatcher, err = frontier.NewDispatcher(frontier.DispatcherOptions{
		Job:        r.Job,
		Seeds:      r.Rules.Seeds,
		Hosts:      r.Options.Hosts,
		Politeness: source.Politeness(r.Job),
		Now:        r.Now,
		Table:      r.Table,
		Down:       r.sayDown,
		First:      r.Rules.First,
	})
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", r.Site.Name, err)
	}
	r.slot = frontier.NewRunSlot(r.Options.Turn, r.dispatcher.Front, r.Now, r.Counts.Coming.Load, r.Counts.Done)
	r.dispatcher.Pacer.Slot = r.slot
	r.chain = r.sources(r.chain.Spelled)
	r.variants = urls.NewVariants(r.Rules.Traps)
	return r, nil
}

// Retrieve retrieves the site. What ends it early is in the value that it returns.
func (r *Retrieval) Retrieve(ctx context.Context) run.Retrieved {
	f := r.retrieve(ctx)
	if errors.Is(f.Ended, context.Canceled) {
		f.Ended = result.ErrInterrupted
	}
	r.variants.Drop()
	r.dispatcher.Front.Drop()
	return f
}

// Load loads what earlier runs retrieved, instead of Retrieve, and makes no request.
func (r *Retrieval) Load() (run.Retrieved, error) {
	if _, err := r.load(); err != nil {
		return run.Retrieved{}, err
	}
	return r.retrieved(nil), nil
}

// Renew stores at the end of a complete run which version of a mirror was followed, and tests replicas again
// when that is due and the site is well.
func (r *Retrieval) Renew(ctx context.Context) {
	if err := r.chain.Upstream.Keep(); err != nil {
		r.Log.Warn("the version of the mirror that is followed is not stored", "err", err)
	}
	r.settleBase()
	if r.Options.NoFetch || len(r.dispatcher.HostErrors.DownEntries()) > 0 {
		return
	}
	defer r.dispatcher.WatchTail(r.Now)()
	r.chain.Replicas.Renew(ctx)
	r.found = findReuse(ctx, r)
}

// findReuse looks, once a week, for a collection of the site that another job mirrors too.
func findReuse(ctx context.Context, r *Retrieval) string {
	st := r.Options.State
	if st == nil || r.Site.Records.Rests() != nil { // a one-off mirror is alone in its state
		return ""
	}
	f := source.ReuseFinder{
		Site:         r.Site,
		Others:       st,
		Fingerprints: func(job string) ([]byte, error) { return st.ReadBeside(job, source.FingerprintsFile) },
		Runs:         r.Options.Facts.Runs,
		Now:          r.Now,
	}
	var found urls.FoundReuse
	var err error
	if r.Options.Imports || r.Provenance.Job != "" {
		err = f.Show()
	} else {
		found, err = f.Renew(ctx)
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("other mirrors of the same files are not looked for", "err", err)
	}
	if err != nil || found.Job == "" {
		return ""
	}
	return found.Says(r.Job.FindsReuse())
}

// Progress says where the run stands.
func (r *Retrieval) Progress() status.Progress {
	now := r.Now()
	p := frontier.ProgressOf(&r.Counts, r.dispatcher.Front.State(now), r.slot.Pause(), r.Started, now)
	for i := range p.Busy {
		h := r.dispatcher.Pacer.Held(p.Busy[i].Host, now)
		p.Busy[i].Gap, p.Busy[i].GapBy = h.Gap, h.Wishing
	}
	p.Down, p.Recent = r.dispatcher.HostErrors.DownEntries(), r.recent.List()
	return p
}

// sayDown logs that an origin or host is left for the next run. The report of the run says so too.
func (r *Retrieval) sayDown(l frontier.Left) {
	r.Log.Info("nothing more is requested in this run", "host", l.Name, "err", l.Reason)
}

// stopped reports whether the run was told to end.
func (r *Retrieval) stopped() bool { return r.dispatcher.Front.IsStopped() }

// retrieved is what phase two needs of a retrieval that requested nothing.
func (r *Retrieval) retrieved(ended error) run.Retrieved {
	f := run.Retrieved{
		Ended:  ended,
		Silent: r.dispatcher.HostErrors.SilentOrigins(),
		Down:   r.dispatcher.HostErrors.DownEntries(),
		Waits:  r.dispatcher.HostErrors.WaitUntil(),

		RobotsCuts: r.dispatcher.Origins.Cuts(),
	}
	for _, l := range r.dispatcher.HostErrors.LeftEntries() {
		f.Postponed = append(f.Postponed, verdict.PostponedHost{Host: l.Name, Reason: l.Reason})
	}
	return f
}

// crawled is what phase two needs of phase one. lost is that of run.Retrieved.
func (r *crawling) crawled(ended, lost error) run.Retrieved {
	f := r.retrieved(ended)
	f.Lost, f.Probes, f.Traps = lost, r.probes, r.chains.Traps()
	if p := r.skipPlan.Plan; p != nil {
		f.HasPlan, f.Planned, f.Skips = true, p.HandedOut(), r.skips.by
		f.OldestLook, f.LatestLook = r.skips.oldest, r.skips.latest
	}
	return f
}

// Report says in a summary what came from other sources than the site itself.
func (r *Retrieval) Report(sum *result.Summary) {
	given := r.chain.Replicas.Report()
	if len(given.Given) > 0 {
		sum.Alternates = given.Given
	}
	lent, left := r.chain.Spread.Report()
	if len(lent) > 0 {
		sum.Spread = lent
	}
	given.Notes = append(given.Notes, left...)
	sum.Foreign, _ = r.Provenance.FromReplicas(time.Time{})
	sum.AlternatesSame, sum.Reused = given.Same, r.chain.Reuse.Taken()
	sum.ReuseFound = r.found
	if sum.Reused > 0 {
		sum.ReusedOf = r.Provenance.Job
	}
	for mirror, n := range r.chain.Space.Taken() {
		if sum.FromSpace == nil {
			sum.FromSpace = map[string]int64{}
		}
		if sum.Spared == nil {
			sum.Spared = map[string]int64{}
		}
		sum.FromSpace[mirror] = n
		sum.Spared["space"] += n
	}
	if u, ok := r.chain.Upstream.Report(); ok {
		sum.Followed = &result.Followed{
			At:      u.At,
			Version: u.Version,
			Since:   u.Since,
			Files:   u.Taken,
		}
	}
	for _, why := range given.Notes {
		if !slices.ContainsFunc(sum.Notes, func(n result.Note) bool { return n.What == why }) {
			sum.Notes = append(sum.Notes, result.Note{What: why, Count: 1})
		}
	}
}
