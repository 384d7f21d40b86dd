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
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/repair"
	"mirrord/mirror/result"
	"mirrord/mirror/source"
	"mirrord/mirror/spare"
	"mirrord/phm"
	"mirrord/policy"
	"mirrord/policy/known"
	"mirrord/site"
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

// run is the state of a run.
type run struct {
	o           Options
	job         *job.Job
	site        *store.Site
	log         *slog.Logger
	now         func() time.Time
	started     time.Time
	version     int // that this run works for
	live        *store.Version
	tree        publish.TreeDamage // of live
	shared      render.Shared
	rules       *admit.URLRules
	layout      phm.Layout
	state       *store.Run
	resumed     bool   // state is of an earlier process
	fingerprint string // of the rules
	rescan      bool   // the rules changed: what is stored is scanned again

	table *ledger.Table
	motor *crawl.Motor

	traits    ledger.Traits
	variants  *ledger.Variants
	admission *crawl.Admission
	read      *reading // answers
	asks      *asking  // for URLs

	published  *store.Version
	commits    *ledger.Committer
	advice     *spare.Advice
	provenance ledger.Provenance
	chain      source.Chain
	skips      map[policy.Why]int64 // what the plan spared, by reason
	shapes     judge.Shapes
	probes     map[string]judge.ErrorPage // see probeOrigins
	keeper     *keep.Keeper
	lost       error // why the table knows more, or less, than the disk: a batch could not be committed, or the journal not be read
	stop       context.CancelCauseFunc

	cures         repair.Choice
	repairedLinks int // of the version that was published

	stats ledger.Counts
	notes ledger.Notes

	mending []site.URL // found damaged by Verify, and asked again
}

// progress says where the run stands.
func (r *run) progress() crawl.Progress {
	now := r.now()
	return crawl.ProgressOf(&r.stats, r.motor.Front.State(now), r.started, now)
}

// stopped reports whether the run was told to end.
func (r *run) stopped() bool { return r.motor.Front.IsStopped() }

// Run makes one run. The Summary tells how it ended, also when there is an error; the error is what kept it from ending well:
// a disk that failed, a site that is locked, a job that cannot be compiled. What happens to single URLs is in the Summary.
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
			rec := store.RunRecord{Site: r.site.Name, Started: r.started, Ended: sum.Ended, Verdict: sum.Verdict.String(), Reasons: sum.Reasons, Summary: data}
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
		o:       o,
		job:     j,
		site:    o.Site,
		log:     o.Log.With("job", o.Site.Name),
		now:     o.Now,
		started: o.Now(),
		rules:   rules,
		table:   ledger.New(),
		state:   new(store.Run),
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
	vs, err := r.site.Versions.List()
	if err != nil {
		return nil, err
	}
	r.version = 1
	if len(vs) > 0 {
		r.live = &vs[len(vs)-1]
		r.version = r.live.Number + 1
	}
	if r.live != nil {
		if r.tree, err = publish.Mend(ctx, r.o.State, r.site, r.live); err != nil {
			return nil, err
		}
		r.sayDamage(&r.tree)
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	defer crawl.Report(r.o.Progress, r.progress)()
	var ended error // why retrieval ended early; nil when nothing is left to ask
	if !r.state.Retrieved && !r.o.NoFetch {
		ended = r.retrieve(ctx)
		if errors.Is(ended, context.Canceled) {
			ended = result.ErrInterrupted
		}
	} else if err := r.load(); err != nil {
		return nil, err
	}
	v, err := r.judge(ended)
	if err != nil {
		return r.summary(v.Broke(err)), err
	}
	if r.lost != nil { // the journal is what counts; the next run reads it
		return r.summary(v), r.lost
	}
	if err := r.settle(v, ended == nil); err != nil {
		return r.summary(v.Broke(err)), err
	}
	if v.Verdict == Partial && !r.o.NoFetch {
		return r.summary(v), diskOnly(ended)
	}
	err = r.publish(ctx, v)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		v.Partial("interrupted while the mirror was relocated")
		return r.summary(v), nil
	default:
		if err = r.heal(v, err); err != nil {
			return r.summary(v.Broke(err)), err
		}
		return r.summary(v), nil
	}
	if v.Verdict != Complete && !r.o.NoFetch { // publishing found out more: the run was not what was written of it
		if err := r.observations(v); err != nil {
			return r.summary(v.Broke(err)), err
		}
	}
	if v.Verdict == Complete {
		if err := errors.Join(r.calm(), r.mended(), r.askedAll(), r.repaired()); err != nil {
			return r.summary(v.Broke(err)), err
		}
		if err := r.site.Notes.SetRun(nil); err != nil {
			return r.summary(v.Broke(err)), err
		}
		if err := dropParts(r.site); err != nil {
			r.notes.Cap("beginnings of large files could not be dropped: " + err.Error())
		}
		if r.published != nil {
			r.thin()
		}
		r.settleBase()
		if !r.o.NoFetch && len(r.motor.Troubles.DownEntries()) == 0 {
			for _, note := range r.chain.Replicas.Renew(ctx) {
				r.notes.Cap(note)
			}
		}
	}
	return r.summary(v), nil
}

// diskOnly returns err when it is a failure of the disk: such a run is partial, and the caller must know why.
func diskOnly(err error) error {
	var d *store.DiskError
	if errors.As(err, &d) {
		return err
	}
	return nil
}

// mixedRules marks a site in which some documents were scanned under other rules.
const mixedRules = "mixed"

// begin finds out whether an unfinished run is resumed, and makes a new one otherwise.
func (r *run) begin() error {
	state, err := r.site.Notes.Run()
	if err != nil {
		return err
	}
	r.fingerprint = admit.Fingerprint(r.job)
	stored, err := r.site.Notes.Fingerprint()
	if err != nil {
		return err
	}
	if stored != r.fingerprint && stored != mixedRules {
		now := r.fingerprint
		if stored != "" {
			now = mixedRules
		}
		if err := r.site.Notes.SetFingerprint(now); err != nil {
			return err
		}
		stored = now
	}
	r.rescan = stored == mixedRules
	if state != nil && state.Fingerprint == r.fingerprint {
		r.state, r.resumed = state, true
		r.log.Info("resume", "run", state.Number, "started", time.Unix(state.Started, 0))
		return nil
	}
	r.state = &store.Run{Started: r.started.Unix(), Fingerprint: r.fingerprint}
	if err := r.site.Notes.BeginRun(r.state); err != nil || r.o.NoFetch {
		return err
	}
	return r.mend()
}
