// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"syscall"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// runner makes the runs of a daemon.
type runner struct {
	app   *App
	st    *store.State
	hosts *fetch.Hosts // politeness over all runs
	most  job.Size     // that all mirrors may take; 0: no limit
	heals *heals       // of sites, which give way to runs
	texts *KeptIndex
	share *share // nil: of no cluster
}

func (r *runner) Run(ctx context.Context, j *job.Job, o scheduler.RunOptions) status.Run {
	out := status.Run{Started: r.st.Now(), Verdict: status.VerdictError}
	fail := func(err error) status.Run {
		out.Ended, out.Error = r.st.Now(), Remedied(err)
		out.Cause = causeOf(err, j.Name)
		if errors.Is(err, store.ErrLocked) {
			out.Cause = status.Busy
		}
		if noRoom(err) {
			out.Verdict, out.Cause = status.VerdictPartial, status.DiskFull
		}
		out.Lasting = (out.Cause == status.ByItself) && lastingSetup(err)
		return out
	}
	defer r.share.ran(j.Name)
	defer r.heals.run(j.Name)()
	defer r.texts.wake()
	s, err := r.st.OpenSite(j.Name)
	if err != nil {
		return fail(err)
	}
	options := RunOptions{
		Accept:   o.Accept,
		AsIs:     o.Accept,
		Again:    o.Again,
		Hosts:    r.hosts,
		Progress: o.Progress,
		Most:     r.mostFor(j.Name),
	}
	if o.Turn != nil { // else the interface would hold a pointer to nothing
		options.Turn = o.Turn
	}
	if !o.ByHand {
		options.TreeWait = job.TreeWait(j)
	}
	sum, err := withHooks(ctx, r.app, j, s, !o.Accept, func() (*mirror.Summary, error) {
		return RunSite(ctx, r.app, j, r.st, s, options)
	})
	if sum != nil && sum.Verdict.Finished() && sum.Verified.IsZero() {
		var verr error
		if out.Verified, verr = mirror.VerifiedSince(s); verr != nil {
			r.app.Log.Error("staleness is not known", "job", j.Name, "err", verr)
		}
	}
	var waiting []string
	if sum != nil {
		var werr error
		if waiting, werr = heldChanges(s, j.Name, sum); werr != nil {
			r.app.Log.Error("what waits for accept cannot be shown", "job", j.Name, "err", werr)
		}
	}
	if cerr := s.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	if j.Space != "" || hasSpaces(r.st) {
		syncSpaces(ctx, r.app, r.st, j.Name)
	}
	if sum == nil {
		out = fail(err)
		out, _ = postponedRun(out, err)
		return out
	}
	verified := out.Verified
	if out = runOf(sum); !verified.IsZero() {
		out.Verified = verified
	}
	out.Waiting = waiting
	if err != nil {
		var disk *store.DiskError
		if sum.Verdict != mirror.Partial || (ctx.Err() == nil && !errors.As(err, &disk)) {
			out.Verdict = status.VerdictError
		}
		if out.Error = Remedied(err); causeOf(err, j.Name) == status.BadState {
			out.Verdict, out.Cause = status.VerdictError, status.BadState
			return out
		}
	}
	if errors.Is(err, store.ErrLeaseLost) { // whoever has the site next goes on
		out.Cause = status.Killed
		return out
	}
	if out.Verdict == status.VerdictPartial && status.IsStateFull(sum.Reasons) {
		out.Cause = status.StateFull
	}
	if out.Verdict == status.VerdictPartial && ctx.Err() == nil && (noRoom(err) || r.belowMinFree(j)) {
		out.Cause = status.DiskFull
	}
	_, out.Lasting = lasting(sum)
	out.Lasting = out.Lasting && out.Verdict == status.VerdictPartial && out.Cause == status.ByItself
	out.Lasting = out.Lasting || ((out.Verdict == status.VerdictError) && lastingSetup(err))
	if err == nil && sum.Verdict == mirror.Complete {
		registering{r.app, r.st, r.hosts}.renew(ctx, j)
	}
	return out
}

// causeOf is BadState when an error says that the database of a job's own site cannot be used.
func causeOf(err error, name string) status.Cause {
	if db, ok := errors.AsType[*store.DatabaseError](err); ok && db.Site == name {
		return status.BadState
	}
	return status.ByItself
}

// noRoom reports whether an error says that the disk is full.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func (r *runner) belowMinFree(j *job.Job) bool {
	free, err := store.FreeBytes(r.st.Dir)
	return err == nil && j.Limits.MinFree > 0 && free < int64(j.Limits.MinFree)
}

// runOf is the report of a run as the scheduler keeps it.
func runOf(sum *mirror.Summary) status.Run {
	run := status.Run{
		Started:   sum.Started,
		Ended:     sum.Ended,
		Verdict:   sum.Verdict.String(),
		Reasons:   sum.Reasons,
		Published: sum.Published,
		Version:   sum.Version,
		Files:     sum.Files,
		Bytes:     sum.Size,
		Asked:     sum.Asked,
		Known:     sum.Known,
		Requests:  sum.Requests,
		FirstGone: sum.FirstGone,
		Received:  sum.Wire,
		Spared:    sum.Spared,
		Added:     sum.Added,
		Changed:   sum.Changed,
		Removed:   sum.Removed,
		Gaps:      sum.Gaps.Count,
		KnownGaps: sum.Gaps.Known,
		GapsSince: sum.Gaps.Since,
		GapsGrew:  sum.Gaps.Grew,
		Hold:      sum.Gaps.Hold,

		Verified: sum.Verified,

		ReuseFound: sum.ReuseFound,

		RolledBackTo: sum.RolledBackTo,
		Held:         sum.Held != nil,
	}
	if run.Held {
		run.RolledBackTo = sum.Held.RolledBackTo
	}
	if data, err := json.Marshal(sum); err == nil {
		run.Summary = data
	}
	return run
}

// freeOf returns how much room there is on the disk of a directory.
func freeOf(dir string) func() (int64, error) {
	return func() (int64, error) { return store.FreeBytes(dir) }
}
