// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"time"

	"mirrord/job"
	"mirrord/mirror/admit"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/mirror/spare"
	"mirrord/policy"
	"mirrord/policy/known"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// View is what is stored of a site, with the rules of its job: all that reports are made from. It needs
// memory for the table of all URLs. It is not safe for concurrent use.
type View struct {
	Job      *job.Job
	Site     *store.Site // open for reading; nil: the site was never retrieved
	At       time.Time   // for which plans are made: what is expected grows with the time since the last run
	Policies policy.Registry

	rules   *admit.URLRules
	down    *admit.TakeDowns // nil: the site was never retrieved
	live    *store.Version   // the published one; nil: there is none
	run     store.Run        // the unfinished run, or the one that would come next
	begun   bool             // run is unfinished
	table   ledger.Settled
	primary string // the origin whose directories begin at the root
	advice  *spare.Advice
	broken  map[uint32]bool
	maps    map[uint32]bool // sitemaps
	kept    map[uint32]bool // belongs to the mirror whatever its type

	newRules bool // the job's rules have changed since the last complete run; set by planner
}

// Load reads what is stored of a site, which must stay open as long as the view is used. s may be nil for a
// site that was never retrieved; at is the time for which plans are made.
func Load(j *job.Job, s *store.Site, at time.Time) (*View, error) {
	v := &View{
		Job:      j,
		Site:     s,
		At:       at,
		Policies: known.All(),
		broken:   map[uint32]bool{},
		maps:     map[uint32]bool{},
		kept:     map[uint32]bool{},
	}
	var err error
	if s != nil {
		if v.down, err = admit.TakeDownsOf(s.Notes); err != nil {
			return nil, fmt.Errorf("site %s: %w", s.Name, err)
		}
	}
	if v.rules, err = admit.CompileWithout(j, v.down); err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	table := ledger.New()
	v.table, v.primary = table.Settled(), v.rules.Seeds[0].Origin()
	if s == nil {
		v.advice = spare.NewAdvice(spare.AdviceOptions{Job: j, Table: table})
		return v, nil
	}
	if err := v.findRun(); err != nil {
		return nil, err
	}
	v.advice = spare.NewAdvice(spare.AdviceOptions{
		Job:      j,
		Policies: v.Policies,
		Run:      v.run.Number,
		Started:  at,
		Now:      func() time.Time { return at },
		Table:    table,
		Records:  s.Records,
		Facts:    s.Notes,
	})
	if err := v.fill(); err != nil {
		return nil, err
	}
	v.primary = render.Primary(s.Trees, v.live, v.table, v.rules.Seeds)
	_, err = v.advice.Recall() // what cannot be decoded is as unknown to a run as it is here
	return v, err
}

// findRun finds the run that would come next, or go on.
func (v *View) findRun() error {
	vs, err := v.Site.Versions.List()
	if err != nil {
		return err
	}
	if len(vs) > 0 {
		v.live = &vs[len(vs)-1]
	}
	state, err := v.Site.Notes.Run()
	if err != nil {
		return err
	}
	if state != nil { // it goes on
		v.run, v.begun = *state, true
		return nil
	}
	return v.Site.Records.Observations(func(o *store.Observation) error {
		v.run.Number = max(v.run.Number, o.Run+1)
		return nil
	})
}

// fill loads the table.
func (v *View) fill() error {
	_, err := v.table.Fill(ledger.Loading{
		From:  v.Site.Records,
		Run:   ledger.Run{Number: v.run.Number},
		Bad:   v.Site.BadValue,
		Visit: v.visit,
	})
	maps.Copy(v.kept, v.table.Leads(v.rules.Seeds))
	return err
}

// visit takes what a record says beside the table.
func (v *View) visit(rec *store.Resource, _ bool) {
	v.advice.Load(rec)
	if rec.Outcome == site.Failed && rec.Failures >= ledger.LastingFailures {
		v.broken[rec.ID] = true
	}
	if ledger.IsSitemap(rec) {
		v.maps[rec.ID] = true
	}
	if isUntypedPage(rec) {
		v.kept[rec.ID] = true
	}
}

// isUntypedPage reports whether a resource was found to be a page although its server did not say so.
func isUntypedPage(rec *store.Resource) bool {
	return rec.InSet && rec.MIME != "text/html" && rec.Format == uint8(relocate.HTML)
}

// record returns what is known of a URL: the journal of an unfinished run knows more than the record.
func (v *View) record(u site.URL) (rec store.Resource, known bool, err error) {
	if v.Site == nil {
		return rec, false, nil
	}
	if rec, known, err = v.Site.Records.Get(u); err != nil {
		return rec, false, err
	}
	if _, admitted := v.table.Find([]byte(u.String())); !admitted {
		return rec, known, nil
	}
	if !known {
		known, rec = true, store.Resource{URL: u, Outcome: site.Pending}
	}
	err = v.Site.Records.Replay(
		func(id uint32, n store.NewURL) error {
			if n.URL == u.String() && rec.Outcome == site.Pending {
				rec.ID, rec.Referrer, rec.Depth, rec.Requis = id, n.Referrer, n.Depth, n.Requis
			}
			return nil
		},
		func(r *store.Resource, _ []byte, _ bool) error {
			if r.URL == u {
				head, last := rec.Head, rec.LastHead // the journal's are not folded yet
				if r.Digest != rec.Digest {
					head = store.HeadPlace{}
				}
				rec = *r
				rec.Head, rec.LastHead = head, last
			}
			return nil
		})
	return rec, known, err
}

// knownSite is what models, histories and rules are made from.
func (v *View) knownSite() spare.KnownSite {
	return spare.KnownSite{
		Name:     v.Site.Name,
		Primary:  v.primary,
		Table:    v.table,
		Observed: v.Site.Records,
	}
}
