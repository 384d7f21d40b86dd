// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"sync/atomic"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/app/replicas"
	"mirrord/app/runs"
	"mirrord/app/shares"
	"mirrord/app/spaces"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/finish"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/disk"
)

// runner makes the runs of a daemon.
type runner struct {
	app     *env.App
	st      *store.State
	hosts   *fetch.Hosts  // politeness over all runs
	most    *atomic.Int64 // bytes that all mirrors may take; 0: no limit
	repairs *care.Repairs // of sites, which give way to runs
	texts   *KeptIndex
	share   *shares.NodeShare // nil: of no cluster
}

func (r *runner) Run(ctx context.Context, j *job.Job, o scheduler.RunOptions) status.Run {
	out := status.Run{Started: r.st.Now(), Verdict: status.VerdictError}
	fail := func(err error) status.Run {
		out.Ended, out.Error = r.st.Now(), env.Remedied(err)
		out.Cause = look.CauseOf(err, j.Name)
		if errors.Is(err, disk.ErrLocked) {
			out.Cause = status.Busy
		}
		if disk.IsFull(err) {
			out.Verdict, out.Cause = status.VerdictPartial, status.DiskFull
		}
		out.Lasting = (out.Cause == status.ByItself) && runs.LastingSetup(err)
		return out
	}
	defer r.share.Ran(j.Name)
	defer r.repairs.Run(j.Name)()
	defer r.texts.wake()
	s, err := r.st.OpenSite(j.Name)
	if err != nil {
		return fail(err)
	}
	options := runs.RunOptions{
		Accept:   o.Accept,
		Keep:     o.Keep,
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
	sum, err := jobs.WithHooks(ctx, r.app, j, s, !o.Accept, func() (*mirror.Summary, error) {
		return runs.RunSite(ctx, r.app, j, r.st, s, options)
	})
	if sum != nil && sum.Verdict.Finished() && sum.Verified.IsZero() {
		var verr error
		if out.Verified, verr = finish.VerifiedSince(s); verr != nil {
			r.app.Log.Error("staleness is not known", "job", j.Name, "err", verr)
		}
	}
	var waiting []string
	if sum != nil {
		var werr error
		if waiting, werr = look.HeldChanges(s, j.Name, sum); werr != nil {
			r.app.Log.Error("the run held for review cannot be shown", "job", j.Name, "err", werr)
		}
	}
	if cerr := s.Close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	if j.Space != "" || spaces.StateHasSpaces(r.st) {
		spaces.SyncSpaces(ctx, r.app, r.st, j.Name)
	}
	if sum == nil {
		out = fail(err)
		out = jobs.PostponedRun(out, err)
		return out
	}
	verified := out.Verified
	if out = env.RunOf(sum); !verified.IsZero() {
		out.Verified = verified
	}
	out.Waiting = waiting
	if err != nil {
		var disk *disk.DiskError
		if sum.Verdict != mirror.Partial || (ctx.Err() == nil && !errors.As(err, &disk)) {
			out.Verdict = status.VerdictError
		}
		if out.Error = env.Remedied(err); look.CauseOf(err, j.Name) == status.BadState {
			out.Verdict, out.Cause = status.VerdictError, status.BadState
			return out
		}
	}
	if errors.Is(err, db.ErrLeaseLost) { // the next owner of the site continues
		out.Cause = status.Killed
		return out
	}
	if out.Verdict == status.VerdictPartial && status.IsStateFull(sum.Reasons) {
		out.Cause = status.StateFull
	}
	if out.Verdict == status.VerdictPartial && ctx.Err() == nil && (disk.IsFull(err) || r.belowMinFree(j)) {
		out.Cause = status.DiskFull
	}
	_, out.Lasting = runs.Lasting(sum)
	out.Lasting = out.Lasting && out.Verdict == status.VerdictPartial && out.Cause == status.ByItself
	out.Lasting = out.Lasting || ((out.Verdict == status.VerdictError) && runs.LastingSetup(err))
	if err == nil && sum.Verdict == mirror.Complete {
		replicas.Registering{App: r.app, State: r.st, Hosts: r.hosts}.Renew(ctx, j)
	}
	return out
}

func (r *runner) belowMinFree(j *job.Job) bool {
	free, err := disk.FreeBytes(r.st.Dir)
	return err == nil && j.Limits.MinFree > 0 && free < int64(j.Limits.MinFree)
}

// mostFor is what a mirror may take when the others are to have what they take now; 0: no limit.
func (r *runner) mostFor(name string) int64 {
	most := r.most.Load()
	if most <= 0 {
		return 0
	}
	names, err := r.st.Sites()
	if err != nil {
		return 0
	}
	for _, other := range names {
		if d := jobs.DiskOf(r.st, other); d != nil && other != name {
			most -= d.Total
		}
	}
	return max(most, 1)
}
