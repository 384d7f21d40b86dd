// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"time"

	"mirrord/evolution/policy"
	"mirrord/job"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
)

// PlanOptions are what a run is planned from. All fields but Listings and Covered are needed.
type PlanOptions struct {
	Job      *job.Job
	Policies policy.PolicyRegistry
	Site     KnownSite
	Run      int        // number of the run
	Now      time.Time  // its beginning
	Listings urls.IDSet // directory listings of the mirror
	Covered  urls.IDSet // URLs that a listing shows
	Dead     *DeadLinks
	Trusted  bool // what listings say is believed
	First    scope.Priorities
	Hints    []byte         // the HintsFact of earlier runs
	Told     []byte         // the ToldFact of earlier runs
	Weights  policy.Weights // what answers transfer, for a job with a price of bytes

	PlanTerms
	Full bool // FullFact is set
}

// FullFact is where a site notes that its next run must request everything: what its records say may be
// wrong.
const FullFact = "ask-all"

// Values of FullFact.
const (
	FullAlways   = "1"
	FullDoubtful = "doubtful" // what a suspicious run found may be wrong; accepting it says that it is not
)

// WhyFull says why a run requests everything regardless of observations; "" when it may follow a plan.
func (o *PlanOptions) WhyFull() string {
	switch {
	case !o.Published:
		return "nothing is published yet"
	case o.policy().Everything && o.Job.Limits.MaxRequests == 0:
		return "policy = " + string(o.Job.Policy)
	case o.NewRules:
		return "the job's rules have changed"
	case o.Followed && o.Job.Limits.MaxRequests == 0 && len(o.Job.Only) == 0:
		return "the site is a mirror, which says what has changed"
	case o.Full:
		return "the run before is held for review, or the mirror came from an archive or an older version, " +
			"or URLs were taken down"
	}
	return ""
}

// policy is what the registry says of the job's policy. There is no entry for a policy that is not
// registered; making a plan then fails. A run for a few URLs has none.
func (o *PlanOptions) policy() policy.Definition {
	if len(o.Job.Only) > 0 {
		return policy.Definition{}
	}
	p, _ := o.Policies.Find(o.Job.Policy)
	return p
}

// left is what a run may request when each may in the mean request so many, and earlier ones left some.
func (m *SiteModel) left(own int) int {
	var purse policy.Purse
	for _, made := range m.asked {
		purse.Spend(own, made)
	}
	return purse.Budget(own)
}

// price is what a hint must be worth.
func (o *PlanOptions) price() float64 {
	if at := o.Job.Adaptive.Price; at > 0 {
		return at
	}
	return policy.DefaultPrice
}

// planned says how the policy plans. When too little was observed, why says so: then everything is requested,
// within the requests that the job allows.
func (o *PlanOptions) planned(m *SiteModel) (with policy.Options, why string) {
	with = policy.Options{
		Policy:  o.Job.Policy,
		Now:     o.Now.Unix(),
		Price:   o.Job.Adaptive.Price,
		PriceMB: o.Job.Adaptive.PriceMB,
		Late:    int64(o.Job.Adaptive.Late.Seconds()),
		Weights: o.Weights,
		Budget:  int(o.Job.Limits.MaxRequests),
		MaxSkip: int(o.Job.Limits.MaxSkip),
		MaxAge:  int64(o.Job.MaxSkipTime().Seconds()),
	}
	if m.Runs() == 0 {
		return with, "no run has observed the site yet"
	}
	if why := o.whyLearning(m.Whole); why != "" {
		if with.Budget == 0 {
			return with, why
		}
		with.Policy, with.Price = bestFirst, 0
	} else if with.Budget > 0 {
		with.Budget = m.left(with.Budget)
	}
	if with.Price == 0 {
		with.Price = -1
	}
	return with, ""
}
