// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"mirrord/evolution/policy"
	"mirrord/job"
	"mirrord/mirror/revisit"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// PlanReport is what the next run of a job would request if nothing has changed: a change that it finds makes
// it request more. New URLs are not part of any plan.
type PlanReport struct {
	Job string `json:"job"`
	Run int    `json:"run"` // that would come next
	// Unfinished: run Run has begun. It is under way, or resumes where it stopped; the plan is that of all
	// of it.
	Unfinished bool `json:"unfinished,omitempty"`
	// At is the time for which the plan is made: the expected changes grow with the time since the last run.
	// When says in words which time that is; the caller does.
	At      time.Time `json:"at"`
	When    string    `json:"when,omitempty"`
	Policy  string    `json:"policy"`         // that decides
	Full    string    `json:"full,omitempty"` // why everything is asked, if it is
	Runs    int       `json:"runs"`           // of the history that the plan is made from
	Known   int       `json:"known"`          // URLs of the mirror
	Asked   int       `json:"asked"`
	Spared  int       `json:"spared"`
	Sources int       `json:"sources"` // of Asked: listings, sitemaps and feeds
	// Expected is how many changes the requests are expected to find, and Missed how many those that are
	// spared would: estimates of the policy adaptive, not made by the others.
	Expected float64        `json:"expected"`
	Missed   float64        `json:"missed"`
	Reasons  map[string]int `json:"reasons"`           // URLs by reason, to ask or to spare
	Dirs     []PlanDir      `json:"dirs"`              // that have URLs of their own, by path
	Without  []string       `json:"without,omitempty"` // what the run may request beside, or need not
}

// PlanDir is what a plan says of the URLs directly in one directory.
type PlanDir struct {
	Path     string  `json:"path"` // "/" for the root, "/@host/…" for another host than the entry point's
	Known    int     `json:"known"`
	Asked    int     `json:"asked"`
	Audited  int     `json:"audited,omitempty"` // of Asked, although a rule skips the directory
	Spared   int     `json:"spared"`
	Expected float64 `json:"expected"`       // changes that the requests are expected to find
	Why      string  `json:"why"`            // the most frequent reason
	Rule     string  `json:"rule,omitempty"` // that skips it
}

// Plan makes the plan of the next run: it goes through the run as if each request were answered 304. The site
// must have been retrieved.
func (v *View) Plan() (*PlanReport, error) {
	p, why, err := v.planner()
	if err != nil {
		return nil, err
	}
	rep := &PlanReport{
		Job:        v.Site.Name,
		Run:        v.run.Number,
		Unfinished: v.begun,
		At:         v.At,
		Policy:     string(v.Job.Policy),
		Full:       why,
		Reasons:    map[string]int{},
		Dirs:       []PlanDir{},
	}
	if p != nil {
		rep.Runs = p.Model().Runs()
	}
	c := planCount{
		v:   v,
		rep: rep,
		p:   p,
		f:   v.foresee(p),
		by:  map[policy.Dir]*dirCount{},
	}
	dirs := revisit.NewDirTable(v.primary)
	guesses := false
	for id, is := range v.table.All() {
		guesses = guesses || (is.Guessed() && !scope.IsFavicon(v.table.URL(id)))
		if is.Given() && (is.Governed() || c.f.Asked.Has(id)) {
			c.add(id, c.dir(dirs, id))
		}
	}
	c.finish()
	rep.Without = notPlanned(v.Job, guesses)
	return rep, nil
}

// planner plans the next run; without a plan, why says so.
func (v *View) planner() (p *revisit.Planner, why string, err error) {
	if err := v.load(); err != nil {
		return nil, "", err
	}
	scanned, err := v.Site.Notes.Fingerprint()
	if err != nil {
		return nil, "", err
	}
	v.newRules = scanned != scope.Fingerprint(v.Job) || v.rules.Profiles.Changed()
	v.skipPlan.Plan = nil // the one before is used up
	why, err = v.skipPlan.MakePlan(revisit.PlanTerms{
		Published: v.live != nil,
		NewRules:  v.newRules,
	}, v.knownSite)
	return v.skipPlan.Plan, why, err
}

// foresee says what the next run requests if nothing has changed. p is nil when everything is requested.
func (v *View) foresee(p *revisit.Planner) revisit.Forecast {
	o := revisit.ForeseeOptions{
		Plan:    p,
		Sources: v.skipPlan.Sources,
		Table:   v.table,
		Seeds:   v.rules.Seeds,
		Broken:  func(id uint32) bool { return v.broken[id] },
		Names:   v.names(),
		Refused: v.refused,
	}
	if v.live != nil && !v.newRules {
		o.Evidence = v.skipPlan.Evidence
	}
	return revisit.Foresee(o)
}

// names returns what reports whether a document, as it is stored, names a URL or redirects to it. It is
// quick for one document after the other.
func (v *View) names() func(doc, id uint32) bool {
	last, named := uint32(0), map[uint32]bool(nil)
	return func(doc, id uint32) bool {
		if v.table.State(doc).Target() == id+1 {
			return true
		}
		if named == nil || doc != last {
			targets, err := v.Site.Records.TargetsOf(doc)
			if err != nil {
				return true
			}
			last, named = doc, map[uint32]bool{}
			record.Targets(targets, func(to uint32) bool {
				named[to] = true
				return true
			})
		}
		return named[id]
	}
}

// refused reports whether the rules of the job leave a URL out of the next run.
func (v *View) refused(id uint32, s urls.State) bool {
	if v.maps[id] {
		return false
	}
	u, purpose := v.table.URL(id), scope.Page
	if s.Requisite() {
		purpose = scope.Requisite
	}
	if ok, _ := v.rules.Allow(u, purpose); !ok {
		return true
	}
	if s.InSet() && !v.newRules {
		return false
	}
	_, refused := v.rules.Types.Refuses(v.table.MIME(id), u, s.Requisite())
	return refused && !v.kept[id] && (s.InSet() || v.rules.Types.Rests(id, v.run.Number))
}

// planCount counts the URLs of a plan by directory and reason.
type planCount struct {
	v   *View
	rep *PlanReport
	p   *revisit.Planner // nil: everything is asked
	f   revisit.Forecast
	by  map[policy.Dir]*dirCount
}

// dirCount is the count of one directory.
type dirCount struct {
	PlanDir
	why map[string]int
}

// dir returns the count of the directory of a URL.
func (c *planCount) dir(dirs *revisit.DirTable, id uint32) *dirCount {
	d := dirs.Of(c.v.table.URL(id))
	s := c.by[d]
	if s == nil {
		s = &dirCount{PlanDir: PlanDir{Path: "/" + dirs.Path(d)}, why: map[string]int{}}
		c.by[d] = s
	}
	return s
}

// add counts a URL.
func (c *planCount) add(id uint32, s *dirCount) {
	rep := c.rep
	s.Known++
	rep.Known++
	why, ask := "", c.f.Asked.Has(id)
	reason, planned := c.f.Planned[id]
	switch {
	case c.f.Covered.Has(id):
		why = policy.Observed.String()
	case c.f.EntryPoints[id]:
		why = "entry point"
	case !ask && c.v.refused(id, c.v.table.State(id)):
		why = site.OutOfScope.String()
	case c.f.Sources[id]:
		why = "source of evidence"
		rep.Sources++
	case c.f.Priority[id]:
		why = "priority"
	case c.f.Audits[id]:
		why = policy.Audit.String()
		s.Audited++
	case c.v.table.State(id).Outcome() == site.Failed:
		why = "failed before"
	case ask && !c.v.table.State(id).Governed():
		why = "named"
	case c.p == nil:
		why = policy.Everything.String()
	case planned:
		why = reason.Why.String()
		s.Expected += float64(reason.Expected)
		rep.Expected += float64(reason.Expected)
		if c.v.skipPlan.Sources.Listings.Has(id) {
			rep.Sources++
		}
		if reason.Why == policy.Audit {
			s.Audited++
		}
	default:
		reason = c.p.Reason(id)
		why = reason.Why.String()
		rep.Missed += float64(reason.Expected)
	}
	ruled := (reason.Why == policy.Rule) || reason.Why == policy.Audit
	if (c.p != nil) && (c.p.Rules() != nil) && ruled {
		s.Rule = c.p.Rules().Text(reason.Rule)
	}
	if s.why[why]++; ask {
		s.Asked++
		rep.Asked++
	} else {
		s.Spared++
		rep.Spared++
	}
	rep.Reasons[why]++
}

// finish lists the directories by path.
func (c *planCount) finish() {
	for _, s := range c.by {
		most := 0
		for _, w := range slices.Sorted(maps.Keys(s.why)) {
			if s.why[w] > most {
				most, s.Why = s.why[w], w
			}
		}
		c.rep.Dirs = append(c.rep.Dirs, s.PlanDir)
	}
	slices.SortFunc(c.rep.Dirs, func(a, b PlanDir) int { return cmp.Compare(a.Path, b.Path) })
}

// notPlanned says what plans leave out that runs of a job do. guesses says that its scripts name addresses.
func notPlanned(j *job.Job, guesses bool) (out []string) {
	if len(j.Alternates) > 0 && j.AlternatesUse == job.AlternatesSpread {
		out = append(out, "which of them alternates answer (alternates_use), and their verification")
	} else if len(j.Alternates) > 0 {
		out = append(out, "requests of replicas (alternates)")
	}
	switch {
	case j.FindsReuse():
		out = append(out, "requests that another mirror saves (reuse)")
	case j.Reuse.Job != "":
		out = append(out, "requests that the mirror of "+j.Reuse.Job+" saves (reuse.job)")
	}
	if j.Space != "" && j.FetchOnce > 0 {
		out = append(out, "requests that other mirrors of the space save (fetch_once)")
	}
	if guesses && j.Scripts {
		out = append(out, "addresses that are guessed from scripts (scripts)")
	}
	return out
}

// planUpTo is the default of View.PlanUpTo.
const planUpTo = 50_000

// plan says whether the last run skipped a URL, and what the next one means to do with it.
func (e *explainer) plan(rec *record.Resource) error {
	v := e.View
	if !rec.InSet && rec.Target == 0 {
		return nil
	}
	say := func(format string, args ...any) { e.say("plan: "+format, args...) }
	known, err := v.Site.Records.Known()
	if err != nil {
		return err
	}
	looked, last, err := v.lookedAt(rec.ID)
	if err != nil {
		return err
	}
	skipped := func() {
		if looked < last {
			say("skipped by run %d; last looked at in run %d", last, looked)
		}
	}
	if known > v.PlanUpTo {
		skipped()
		say("what the next run does takes the plan of all %d URLs: explain --plan", known)
		return nil
	}
	p, why, err := v.planner()
	if err != nil {
		return err
	}
	if p == nil {
		say("the next run requests everything: %s", why)
		return nil
	}
	skipped()
	f, reason := v.foresee(p), ""
	switch asked, planned := f.Planned[rec.ID]; {
	case f.Covered.Has(rec.ID):
		reason = policy.Reason{Why: policy.Observed}.String()
	case f.EntryPoints[rec.ID]:
		reason = "asked: an entry point"
	case f.Sources[rec.ID]:
		reason = "asked: a source of evidence"
	case f.Priority[rec.ID]:
		reason = "asked: it has priority"
	case f.Audits[rec.ID]:
		reason = "asked: audit of what evidence shows as before"
	case v.table.State(rec.ID).Outcome() == site.Failed && f.Asked.Has(rec.ID):
		reason = "asked: it failed before"
	case planned:
		reason = asked.String()
	default:
		reason = p.Reason(rec.ID).String()
	}
	say("the next run, policy %s, if nothing has changed: %s", v.Job.Policy, reason)
	if rules := p.Rules(); rules != nil {
		own := cmp.Or(rules.Text(rules.Over(rec.URL)), "none")
		say("%d rules skip directories; its own: %s", len(rules.Skips), own)
	} else if p.Reason(rec.ID).Silent > 0 {
		return v.evidentRule(rec.URL, say)
	}
	return nil
}

// evidentRule says which rule counts as evidence for a URL under a policy that does not follow rules.
func (v *View) evidentRule(u site.URL, say func(format string, args ...any)) error {
	m, err := v.minedRules()
	if err != nil {
		return err
	}
	if text := m.Text(m.Over(u)); text != "" {
		say("evidence is the rule %s", text)
	}
	return nil
}
