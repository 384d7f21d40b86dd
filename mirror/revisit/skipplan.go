// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"errors"
	"fmt"
	"time"

	"mirrord/evolution/policy"
	"mirrord/job"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/store/record"
)

// SkipPlanOptions are what a SkipPlan is made from. All fields are needed.
type SkipPlanOptions struct {
	Job      *job.Job
	Policies policy.PolicyRegistry
	Run      int              // number of the run
	Started  time.Time        // its beginning
	Now      func() time.Time // the clock
	Table    *urls.Table
	Records  RecordReader
	Facts    urls.Facts
	First    scope.Priorities
}

// SkipPlan is all that decides which requests a run need not make. It is filled in three steps: Load takes
// the records while the table is loaded, Recall what earlier runs found unreliable, MakePlan plans. No worker
// may run meanwhile.
type SkipPlan struct {
	Sources    *Sources
	Validators *Validators
	Noise      *Noise
	Evidence   *Evidence
	Dead       *DeadLinks
	Plan       *Planner // nil: everything is requested

	SkipPlanOptions
	weights weights // of a job that has a price of bytes
}

// NewSkipPlan returns the plan of a run of which nothing is loaded.
func NewSkipPlan(o SkipPlanOptions) *SkipPlan {
	sources := new(Sources)
	a := &SkipPlan{
		Sources:         sources,
		Validators:      NewValidators(o.Run),
		Noise:           NewNoise(o.Run),
		Dead:            new(DeadLinks),
		SkipPlanOptions: o,
		Evidence: &Evidence{
			Job:     o.Job.Evidence,
			Run:     o.Run,
			Table:   o.Table,
			Records: o.Records,
			Sources: sources,
			Now:     o.Now,
		},
	}
	a.Noise.give(o.First.Noise())
	return a
}

// Load takes a record.
func (a *SkipPlan) Load(rec *record.Resource) {
	a.Sources.Load(rec, a.Job.Evidence, a.Run, a.Started)
	a.Sources.edits.load(rec, a.First)
	a.Validators.Load(rec)
	a.Dead.Load(rec, a.Run)
	if a.Job.Adaptive.PriceMB > 0 {
		a.weights.load(rec)
	}
}

// Recall reads what earlier runs found unreliable, after the last record. damaged says what could not be
// decoded: that begins again.
func (a *SkipPlan) Recall() (damaged, err error) {
	for _, f := range []struct {
		name, what string
		read       func(fact []byte) error
	}{
		{TrustFact, "kinds of evidence", a.Evidence.trust.read},
		{ValidatorsFact, "directories with unreliable validators", a.Validators.Read},
		{NoiseFact, "positions at which answers differ", a.Noise.Read},
	} {
		fact, err := a.Facts.Fact(f.name)
		if err != nil {
			return nil, err
		}
		if err := f.read(fact); err != nil {
			damaged = errors.Join(damaged, fmt.Errorf("%s: %w", f.what, err))
		}
	}
	return damaged, nil
}

// PlanTerms say whether a run may follow a plan.
type PlanTerms struct {
	Published bool // the site has a published version
	NewRules  bool // the job's rules about URLs changed since the last complete run
	Followed  bool // the site is a mirror that says what it has: answers cost no request
}

// MakePlan plans the run. Without a plan everything is requested, and why says the reason. known is called
// when it is needed.
func (a *SkipPlan) MakePlan(t PlanTerms, known func() KnownSite) (why string, err error) {
	full, err := a.Facts.Fact(FullFact)
	if err != nil {
		return "", err
	}
	o := PlanOptions{
		Job:       a.Job,
		Policies:  a.Policies,
		First:     a.First,
		Run:       a.Run,
		Now:       a.Started,
		Listings:  a.Sources.Listings,
		Covered:   a.Sources.Covered,
		Dead:      a.Dead,
		Trusted:   a.Evidence.Believes(urls.ByListing),
		Weights:   a.weights,
		PlanTerms: t,
		Full:      len(full) > 0,
	}
	if why := o.WhyFull(); why != "" {
		return why, nil
	}
	if o.Hints, err = a.Facts.Fact(HintsFact); err != nil {
		return "", err
	}
	if o.Told, err = a.Facts.Fact(ToldFact); err != nil {
		return "", err
	}
	o.Site = known()
	a.Plan, why, err = NewPlanner(o)
	a.Evidence.Plan = a.Plan
	return why, err
}
