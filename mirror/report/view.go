// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"time"

	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/job"
	"mirrord/mirror/render"
	"mirrord/mirror/revisit"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

// View has the records of a site, with the rules of its job: all that reports are made from. It is not safe
// for concurrent use.
type View struct {
	Job      *job.Job
	Site     *store.Site // open for reading; nil: the site was never retrieved
	At       time.Time   // for which plans are made: expected changes grow with the time since the last run
	Policies policy.PolicyRegistry
	PlanUpTo uint32 // so many URLs: Explain makes no plan of the next run of a site with more

	rules    *scope.URLRules
	down     *scope.TakeDowns // nil: the site was never retrieved
	live     *record.Version  // the published one; nil without one
	run      record.Run       // the unfinished run, or the one that would come next
	begun    bool             // run is unfinished
	loaded   bool             // table and what follows are filled
	table    urls.Settled
	primary  string // the origin whose directories begin at the root
	skipPlan *revisit.SkipPlan
	broken   map[uint32]bool
	maps     map[uint32]bool // sitemaps
	kept     map[uint32]bool // belongs to the mirror regardless of its type

	newRules bool // the job's rules have changed since the last complete run; set by planner
}

// Load reads the records of a site, which must stay open as long as the view is used. It takes memory for
// the table of all URLs. s may be nil for a site that was never retrieved; at is the time for which plans are
// made.
func Load(j *job.Job, s *store.Site, at time.Time) (*View, error) {
	v, err := Open(j, s, at)
	if err == nil {
		err = v.load()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Open is Load without the table: enough for Explain.
func Open(j *job.Job, s *store.Site, at time.Time) (*View, error) {
	v := &View{
		Job:      j,
		Site:     s,
		At:       at,
		Policies: known.All(),
		PlanUpTo: planUpTo,
		broken:   map[uint32]bool{},
		maps:     map[uint32]bool{},
		kept:     map[uint32]bool{},
	}
	var facts scope.KeptFacts
	if s != nil {
		facts = s.Notes
	}
	var err error
	if v.rules, v.down, err = scope.CompileFor(j, facts); err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	table := urls.New()
	v.table, v.primary = table.Settled(), v.rules.Seeds[0].Origin()
	if s == nil {
		v.skipPlan = revisit.NewSkipPlan(revisit.SkipPlanOptions{Job: j, Table: table})
		return v, nil
	}
	if err := v.findRun(); err != nil {
		return nil, err
	}
	v.skipPlan = revisit.NewSkipPlan(revisit.SkipPlanOptions{
		Job:      j,
		Policies: v.Policies,
		Run:      v.run.Number,
		Started:  at,
		Now:      func() time.Time { return at },
		Table:    table,
		Records:  s.Records,
		Facts:    s.Notes,
		First:    v.rules.First,
	})
	_, err = v.skipPlan.Recall() // what cannot be decoded is as unknown to a run as it is here
	return v, err
}

// findRun finds the run that would come next, or resume.
func (v *View) findRun() error {
	live, err := v.Site.Versions.Last()
	if err != nil {
		return err
	}
	if live.Number > 0 {
		v.live = &live
	}
	state, err := v.Site.Notes.Run()
	if err != nil {
		return err
	}
	if state != nil { // it resumes
		v.run, v.begun = *state, true
		return nil
	}
	n, err := v.Site.Notes.Runs()
	v.run.Number = n + 1
	return err
}

// load fills the table.
func (v *View) load() error {
	if v.loaded || v.Site == nil {
		return nil
	}
	v.loaded = true
	_, err := v.table.Fill(urls.Loading{
		From:  v.Site.Records,
		Run:   urls.Run{Number: v.run.Number},
		Bad:   v.Site.DB.Damaged,
		Visit: v.visit,
	})
	if err != nil {
		return err
	}
	pairs, _, err := urls.ReadFact[urls.Pairs](v.Site.Notes, urls.PairsFact)
	if v.Job.Scope.LearnSessions {
		pairs.Mark(v.table)
	}
	maps.Copy(v.kept, v.table.Leads(v.rules.Seeds))
	v.primary = render.Primary(v.Site.Trees, v.live, v.table, v.rules.Seeds)
	return err
}

// visit takes what a record says beside the table.
func (v *View) visit(rec *record.Resource, _ bool) {
	v.skipPlan.Load(rec)
	if rec.Outcome == site.Failed && rec.Failures >= urls.LastingFailures {
		v.broken[rec.ID] = true
	}
	if urls.IsSitemap(rec) {
		v.maps[rec.ID] = true
	}
	if isUntypedPage(rec) {
		v.kept[rec.ID] = true
	}
}

// isUntypedPage reports whether a resource was found to be a page although its server did not say so.
func isUntypedPage(rec *record.Resource) bool {
	return rec.InSet && rec.MIME != "text/html" && rec.Format == uint8(relocate.HTML)
}

// knownSite is what models, histories and rules are made from.
func (v *View) knownSite() revisit.KnownSite {
	return revisit.KnownSite{
		Name:     v.Site.Name,
		Primary:  v.primary,
		Table:    v.table,
		Observed: v.Site.Records,
	}
}
