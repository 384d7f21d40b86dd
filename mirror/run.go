// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mirrord/job"
	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/judge"
	"mirrord/mirror/keep"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/source"
	"mirrord/mirror/spare"
	"mirrord/phm"
	"mirrord/policy"
	"mirrord/policy/known"
	"mirrord/store"
)

// Options are what a run works with. All fields but Now, Log, Progress and Accept are needed.
type Options struct {
	Job     *job.Job
	State   *store.State
	Site    *store.Site
	Fetcher Fetcher
	Robots  Robots
	Hosts   Hosts
	Facts   Facts // default State

	Now      func() time.Time // default time.Now
	Log      *slog.Logger     // default none
	Progress func(Progress)   // called about four times a second and at the end, never twice at a time
	Accept   bool             // publish even if the run is suspicious
	NoFetch  bool             // only relocate and publish what is stored

	Policies policy.Registry // where the job's policy is found; default known.All()

	repairs map[string]render.Cure // of a version that comes back; nil: as is known now
}

// run is a run while it retrieves, and the conductor of its phases.
type run struct {
	*base
	motor *crawl.Motor

	variants  *ledger.Variants
	admission *crawl.Admission
	read      *reading // answers
	asks      *asking  // for URLs

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
	now := r.now()
	return crawl.ProgressOf(&r.stats, r.motor.Front.State(now), r.started, now)
}

// stopped reports whether the run was told to end.
func (r *run) stopped() bool { return r.motor.Front.IsStopped() }

// Run makes one run. The Summary tells how it ended, also when there is an error; the error is what kept it
// from ending well: a disk that failed, a site that is locked, a job that cannot be compiled. What happens to
// single URLs is in the Summary.
func Run(ctx context.Context, o Options) (*Summary, error) {
	r, err := newRun(o)
	if err != nil {
		return nil, err
	}
	ctx, stop := o.Site.WhileOwned(ctx)
	defer stop()
	sum, err := r.run(ctx)
	if sum != nil && o.State != nil {
		data, jerr := json.Marshal(sum)
		if jerr == nil {
			rec := store.RunRecord{
				Site:    r.site.Name,
				Started: r.started,
				Ended:   sum.Ended,
				Verdict: sum.Verdict.String(),
				Reasons: sum.Reasons,
				Summary: data,
			}
			if sum.Published {
				rec.Version = sum.Version
			}
			if err == nil {
				err = r.site.Notes.KeepRun(rec)
			}
			err = errors.Join(err, r.o.Facts.AddRun(rec))
		}
	}
	return sum, err
}

func newRun(o Options) (*run, error) {
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
		o.Facts = o.State
	}
	j := o.Job
	rules, err := admit.Compile(j)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", o.Site.Name, err)
	}
	r := &run{
		base: &base{
			o:       o,
			job:     j,
			site:    o.Site,
			log:     o.Log.With("job", o.Site.Name),
			now:     o.Now,
			started: o.Now(),
			rules:   rules,
			table:   ledger.New(),
			state:   new(store.Run),
		},
	}
	r.motor, err = crawl.NewMotor(crawl.MotorOptions{
		Job:        j,
		Seeds:      rules.Seeds,
		Hosts:      o.Hosts,
		Politeness: source.Politeness(j),
		Now:        r.now,
		Table:      r.table,
		Waits:      func() bool { return r.advice.Evidence.First() },
	})
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", o.Site.Name, err)
	}
	making := &sourcing{
		o:          &r.o,
		site:       r.site,
		rules:      r.rules,
		table:      r.table,
		provenance: &r.provenance,
		stats:      &r.stats,
		troubles:   r.motor.Troubles,
		turns:      r.motor.Gate,
		number:     func() int { return r.state.Number },
		log:        r.log,
	}
	r.chain = making.chain()
	r.variants = ledger.NewVariants(r.rules.Traps)
	r.layout = phm.Layout{Primary: r.rules.Seeds[0].Origin()}
	return r, nil
}

func (r *run) run(ctx context.Context) (*Summary, error) {
	if err := r.findLive(); err != nil {
		return nil, err
	}
	c := &closing{base: r.base}
	if err := c.mendTree(ctx); err != nil {
		return nil, err
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	if !r.resumed && !r.o.NoFetch {
		if err := c.mend(); err != nil {
			return nil, err
		}
	}
	defer crawl.Report(r.o.Progress, r.progress)()
	var ended error
	if !r.state.Retrieved && !r.o.NoFetch {
		ended = r.retrieve(ctx)
		if errors.Is(ended, context.Canceled) {
			ended = result.ErrInterrupted
		}
	} else if err := r.load(); err != nil {
		return nil, err
	}
	c.found = r.retrieved(ended)
	v, err := c.judge()
	switch {
	case err != nil:
		err = v.Broke(err)
	case r.lost != nil: // the journal is what counts; the next run reads it
		err = r.lost
	default:
		err = c.close(ctx, v)
	}
	if (err == nil) && (v.Verdict == Complete) {
		if err := dropParts(r.site); err != nil {
			r.notes.Cap("beginnings of large files could not be dropped: " + err.Error())
		}
		r.settleBase()
		if !r.o.NoFetch && len(r.motor.Troubles.DownEntries()) == 0 {
			for _, note := range r.chain.Replicas.Renew(ctx) {
				r.notes.Cap(note)
			}
		}
	}
	sum := c.summary(v)
	noteSources(sum, &r.chain, &r.provenance)
	return sum, err
}

// retrieved is what closing needs of retrieval.
func (r *run) retrieved(ended error) retrieved {
	f := retrieved{
		ended:  ended,
		silent: r.motor.Troubles.SilentOrigins(),
		down:   r.motor.Troubles.DownEntries(),
		probes: r.probes,
	}
	for _, l := range r.motor.Troubles.LeftEntries() {
		f.postponed = append(f.postponed, judge.PostponedHost{Host: l.Name, Reason: l.Reason})
	}
	if p := r.advice.Plan; p != nil {
		f.hasPlan, f.planned, f.skips = true, p.HandedOut(), r.skips
	}
	return f
}
