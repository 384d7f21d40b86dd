// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mirrord/mirror/closing"
	"mirrord/mirror/crawl"
	"mirrord/mirror/exchange"
	"mirrord/mirror/judge"
	"mirrord/mirror/keep"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/session"
	"mirrord/mirror/source"
	"mirrord/mirror/spare"
	"mirrord/policy"
	"mirrord/store"
)

// run is a run while it retrieves, and the conductor of its phases.
type run struct {
	*session.Session
	motor *crawl.Motor

	variants  *ledger.Variants
	admission *crawl.Admission
	exchange  *exchange.Exchange

	commits *ledger.Committer
	advice  *spare.Advice
	chain   source.Chain
	skips   map[policy.Why]int64 // what the plan spared, by reason
	shapes  judge.Shapes
	probes  map[string]judge.ErrorPage // see probeOrigins
	keeper  *keep.Keeper
	// why the table knows more, or less, than the disk: a batch could not be committed, or the journal not be
	// read
	lost error
	stop context.CancelCauseFunc
}

// progress says where the run stands.
func (r *run) progress() crawl.Progress {
	now := r.Now()
	return crawl.ProgressOf(&r.Counts, r.motor.Front.State(now), r.Started, now)
}

// stopped reports whether the run was told to end.
func (r *run) stopped() bool { return r.motor.Front.IsStopped() }

// Run makes one run. The Summary tells how it ended, also when there is an error; the error is what kept it
// from ending well: a disk that failed, a site that is locked, a job that cannot be compiled. What happens to
// single URLs is in the Summary.
func Run(ctx context.Context, o Options) (*Summary, error) { return runWith(ctx, o, nil) }

// runWith makes one run. repairs are those of a version that comes back; nil for those that are known now.
func runWith(ctx context.Context, o Options, repairs map[string]render.Cure) (*Summary, error) {
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	ctx, stop := o.Site.WhileOwned(ctx)
	defer stop()
	sum, err := r.run(ctx, repairs)
	if sum != nil && o.State != nil {
		data, jerr := json.Marshal(sum)
		if jerr == nil {
			rec := store.RunRecord{
				Site:    r.Site.Name,
				Started: r.Started,
				Ended:   sum.Ended,
				Verdict: sum.Verdict.String(),
				Reasons: sum.Reasons,
				Summary: data,
			}
			if sum.Published {
				rec.Version = sum.Version
			}
			if err == nil {
				err = r.Site.Notes.KeepRun(rec)
			}
			err = errors.Join(err, r.Options.Facts.AddRun(rec))
		}
	}
	return sum, err
}

// Rollback publishes a kept version again, as a new one, and makes the records what they were in it. The
// next run asks the site as if it had never seen what came later. It makes no request. An unfinished run is
// given up.
func Rollback(ctx context.Context, o Options, number int) (*Summary, error) {
	repairs, err := closing.Restore(ctx, o.State, o.Site, number)
	if err != nil {
		return nil, err
	}
	o.NoFetch, o.Accept = true, true
	return runWith(ctx, o, repairs)
}

func newRun(o Options) (*run, error) {
	s, err := session.New(o)
	if err != nil {
		return nil, err
	}
	r := &run{Session: s}
	r.motor, err = crawl.NewMotor(crawl.MotorOptions{
		Job:        r.Job,
		Seeds:      r.Rules.Seeds,
		Hosts:      o.Hosts,
		Politeness: source.Politeness(r.Job),
		Now:        r.Now,
		Table:      r.Table,
		Waits:      func() bool { return r.advice.Evidence.First() },
	})
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", o.Site.Name, err)
	}
	making := sourcing{Session: s, troubles: r.motor.Troubles, turns: r.motor.Gate}
	r.chain = making.chain()
	r.variants = ledger.NewVariants(r.Rules.Traps)
	return r, nil
}

func (r *run) run(ctx context.Context, repairs map[string]render.Cure) (*Summary, error) {
	if err := r.FindLive(); err != nil {
		return nil, err
	}
	c := closing.New(r.Session, repairs)
	if err := c.MendTree(ctx); err != nil {
		return nil, err
	}
	if err := r.Begin(); err != nil {
		return nil, err
	}
	if !r.Resumed && !r.Options.NoFetch {
		if err := c.RequestDamaged(); err != nil {
			return nil, err
		}
	}
	defer crawl.Report(r.Options.Progress, r.progress)()
	var ended error
	if !r.Run.Retrieved && !r.Options.NoFetch {
		ended = r.retrieve(ctx)
		if errors.Is(ended, context.Canceled) {
			ended = result.ErrInterrupted
		}
	} else if err := r.load(); err != nil {
		return nil, err
	}
	found := r.retrieved(ended)
	v, err := c.Judge(found)
	switch {
	case err != nil:
		err = v.Broke(err)
	case found.Lost != nil: // the journal is what counts; the next run reads it
		err = found.Lost
	default:
		err = c.Close(ctx, v)
	}
	if (err == nil) && (v.Verdict == Complete) {
		c.DropParts()
		r.settleBase()
		if !r.Options.NoFetch && len(r.motor.Troubles.DownEntries()) == 0 {
			for _, note := range r.chain.Replicas.Renew(ctx) {
				r.Notes.Cap(note)
			}
		}
	}
	sum := c.Summary(v)
	noteSources(sum, &r.chain, &r.Provenance)
	return sum, err
}

// retrieved is what closing needs of retrieval.
func (r *run) retrieved(ended error) session.Retrieved {
	f := session.Retrieved{
		Ended:  ended,
		Lost:   r.lost,
		Silent: r.motor.Troubles.SilentOrigins(),
		Down:   r.motor.Troubles.DownEntries(),
		Probes: r.probes,
	}
	for _, l := range r.motor.Troubles.LeftEntries() {
		f.Postponed = append(f.Postponed, judge.PostponedHost{Host: l.Name, Reason: l.Reason})
	}
	if p := r.advice.Plan; p != nil {
		f.HasPlan, f.Planned, f.Skips = true, p.HandedOut(), r.skips
	}
	return f
}
