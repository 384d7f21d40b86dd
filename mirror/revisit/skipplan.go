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
	return &SkipPlan{
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
}

// Load takes a record.
func (a *SkipPlan) Load(rec *record.Resource) {
	a.Sources.Load(rec, a.Job.Evidence, a.Run, a.Started)
	a.Validators.Load(rec)
	a.Dead.Load(rec, a.Run)
	if a.Job.Adaptive.PriceMB > 0 {
		a.weights.load(rec)
	}
}

// Recall reads what earlier runs found unreliable, after the last record. damaged says what could not be
// decoded: that begins again.
func (a *SkipPlan) Recall() (damaged, err error) {
	trust, err := a.Facts.Fact(TrustFact)
	if err != nil {
		return nil, err
	}
	without, err := a.Facts.Fact(ValidatorsFact)
	if err != nil {
		return nil, err
	}
	places, err := a.Facts.Fact(NoiseFact)
	if err != nil {
		return nil, err
	}
	if err := a.Evidence.trust.read(trust); err != nil {
		damaged = fmt.Errorf("kinds of evidence: %w", err)
	}
	if err := a.Validators.Read(without); err != nil {
		damaged = errors.Join(damaged, fmt.Errorf("directories with unreliable validators: %w", err))
	}
	if err := a.Noise.Read(places); err != nil {
		damaged = errors.Join(damaged, fmt.Errorf("positions at which answers differ: %w", err))
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
