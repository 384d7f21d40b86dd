// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/admit"
	"mirrord/mirror/spare"
	"mirrord/policy"
	"mirrord/site"
	"mirrord/store"
)

// PlanReport is what the next run of a job would ask of what the mirror has, if nothing has changed: a change that it finds makes it ask
// more. What is new is not part of any plan.
type PlanReport struct {
	Job string `json:"job"`
	Run int    `json:"run"` // that would come next
	// At is the time for which the plan is made: what is expected grows with the time since the last run. When says in words which time that is; the caller does.
	At      time.Time `json:"at"`
	When    string    `json:"when,omitempty"`
	Policy  string    `json:"policy"`         // that decides
	Full    string    `json:"full,omitempty"` // why everything is asked, if it is
	Runs    int       `json:"runs"`           // of the history that the plan is made from
	Known   int       `json:"known"`          // URLs of the mirror
	Asked   int       `json:"asked"`
	Spared  int       `json:"spared"`
	Sources int       `json:"sources"` // of Asked: listings, sitemaps and feeds, which come first; sitemaps may spare more
	// Expected is how many changes the requests are expected to find, and Missed how many those that are spared would: estimates of the policy
	// adaptive, not made by the others.
	Expected float64        `json:"expected"`
	Missed   float64        `json:"missed"`
	Reasons  map[string]int `json:"reasons"` // URLs by reason, to ask or to spare
	Dirs     []PlanDir      `json:"dirs"`    // that have URLs of their own, by path
}

// PlanDir is what a plan says of the URLs directly in one directory.
type PlanDir struct {
	Path     string  `json:"path"` // "/" for the root, "/@host/…" for another host than that of the entry point
	Known    int     `json:"known"`
	Asked    int     `json:"asked"`
	Audited  int     `json:"audited,omitempty"` // of Asked, although a rule skips the directory
	Spared   int     `json:"spared"`
	Expected float64 `json:"expected"`       // changes that the requests are expected to find
	Why      string  `json:"why"`            // the most frequent reason
	Rule     string  `json:"rule,omitempty"` // that skips it
}

// PlanNext makes the plan of a job's next run, as one at a time, from what is stored. Nothing is asked of any site.
func PlanNext(j *job.Job, s *store.Site, at time.Time) (*PlanReport, error) {
	r, err := newRun(Options{Job: j, Site: s, Hosts: new(fetch.Hosts), Now: func() time.Time { return at }})
	if err != nil {
		return nil, err
	}
	p, why, err := r.nextPlan()
	if err != nil {
		return nil, err
	}
	rep := &PlanReport{Job: s.Name, Run: r.state.Number, At: at, Policy: string(j.Policy), Full: why, Reasons: map[string]int{}, Dirs: []PlanDir{}}
	if p != nil {
		rep.Runs = p.Model().Runs()
	}
	r.report(rep, p)
	return rep, nil
}

// nextPlan loads what is stored and plans the run that would come next; without a plan, why says so.
func (r *run) nextPlan() (p *spare.Planner, why string, err error) {
	if err := r.nextRun(); err != nil {
		return nil, "", err
	}
	if err := r.load(); err != nil {
		return nil, "", err
	}
	return r.planLoaded()
}

// nextRun makes the run the one that would come next, or go on.
func (r *run) nextRun() error {
	vs, err := r.site.Versions.List()
	if err != nil {
		return err
	}
	if len(vs) > 0 {
		r.live = &vs[len(vs)-1]
	}
	state, err := r.site.Notes.Run()
	if err != nil {
		return err
	}
	if state != nil { // it goes on
		r.state = state
		return nil
	}
	return r.site.Records.Observations(func(o *store.Observation) error {
		r.state.Number = max(r.state.Number, o.Run+1)
		return nil
	})
}

// planLoaded is nextPlan when the table is loaded.
func (r *run) planLoaded() (p *spare.Planner, why string, err error) {
	if why, err = r.fullBecause(); err != nil || why != "" {
		return nil, why, err
	}
	if p, err = r.newPlanner(); err != nil {
		return nil, "", err
	}
	if p == nil {
		return nil, fmt.Sprintf("fewer than %d complete runs have asked for everything (full_runs)", r.job.FullRuns), nil
	}
	r.planner = p
	return p, "", nil
}

// fullBecause says why the next run asks for everything; "" when it follows a plan.
func (r *run) fullBecause() (string, error) {
	scanned, err := r.site.Notes.Fingerprint()
	if err != nil {
		return "", err
	}
	all, err := r.site.Notes.Fact(fullFact)
	switch {
	case err != nil:
		return "", err
	case r.live == nil:
		return "nothing is published yet", nil
	case r.o.asksAll(r.job):
		return "policy = " + string(r.job.Policy), nil
	case scanned != admit.Fingerprint(r.job):
		return "the job's rules have changed", nil
	case len(all) > 0:
		return "the run before was suspicious, or the mirror was rolled back", nil
	}
	return "", nil
}

// forecast is what the next run asks if nothing has changed.
type forecast struct {
	owed   map[uint32]bool          // entry points
	source map[uint32]bool          // of evidence: listings, sitemaps and feeds that are asked
	asked  map[uint32]policy.Reason // by the plan, in words of the moment at which it was handed out
}

// foresee runs a plan to its end, as if everything came back as it was. p is nil when everything is asked.
func (r *run) foresee(p *spare.Planner) forecast {
	f := forecast{owed: map[uint32]bool{}, source: map[uint32]bool{}, asked: map[uint32]policy.Reason{}}
	for _, id := range r.sources.First(p, r.rules.Seeds) {
		f.source[id] = true
	}
	for _, u := range r.rules.Seeds {
		if id, ok := r.table.Find([]byte(u.String())); ok {
			f.owed[id] = true
		}
	}
	if p != nil {
		f.asked = p.Foresee(func(id uint32) bool { return f.owed[id] || f.source[id] })
	}
	return f
}

// retried reports whether a URL is asked again because the last request of it failed.
func (r *run) retried(id uint32) bool {
	return r.table.State(id).Outcome() == site.Failed && !r.traits.Broken(id)
}

func (r *run) report(rep *PlanReport, p *spare.Planner) {
	t := r.table.Settled()
	f := r.foresee(p)
	dirs := spare.NewDirTable(r.layout.Primary)
	type sum struct {
		PlanDir
		why map[string]int
	}
	by := map[policy.Dir]*sum{}
	for id, is := range t.All() {
		retried := r.retried(id)
		if !is.Given() || (!is.Governed() && !retried && !f.owed[id]) {
			continue
		}
		d := dirs.Of(t.URL(id))
		s := by[d]
		if s == nil {
			s = &sum{PlanDir: PlanDir{Path: "/" + dirs.Path(d)}, why: map[string]int{}}
			by[d] = s
		}
		s.Known++
		rep.Known++
		why, ask := "", true
		reason, planned := f.asked[id]
		switch {
		case f.owed[id]:
			why = "entry point"
		case f.source[id]:
			why = "source of evidence"
			rep.Sources++
		case retried:
			why = "failed before"
		case p == nil:
			why = policy.Everything.String()
		case planned:
			why = reason.Why.String()
			s.Expected += float64(reason.Expected)
			rep.Expected += float64(reason.Expected)
			if r.sources.Listings.Has(id) {
				rep.Sources++
			}
			if reason.Why == policy.Audit {
				s.Audited++
			}
		default:
			reason = p.Reason(id)
			why, ask = reason.Why.String(), false
			rep.Missed += float64(reason.Expected)
		}
		if p != nil && p.Rules() != nil && (reason.Why == policy.Rule || reason.Why == policy.Audit) {
			s.Rule = p.Rules().Text(reason.Rule)
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
	for _, s := range by {
		most := 0
		for _, w := range slices.Sorted(maps.Keys(s.why)) {
			if s.why[w] > most {
				most, s.Why = s.why[w], w
			}
		}
		rep.Dirs = append(rep.Dirs, s.PlanDir)
	}
	slices.SortFunc(rep.Dirs, func(a, b PlanDir) int { return cmp.Compare(a.Path, b.Path) })
}

// WriteText writes the plan for a person. Directories below one of which nothing is asked, or all, are counted with it unless all is set.
func (p *PlanReport) WriteText(w io.Writer, all bool) error {
	if _, err := fmt.Fprintf(w, "%s: run %d would ask %d of the %d URLs that the mirror has, and spare %d\n", p.Job, p.Run, p.Asked, p.Known, p.Spared); err != nil {
		return err
	}
	if p.Full != "" {
		_, err := fmt.Fprintf(w, "  everything is asked: %s\n", p.Full)
		return err
	}
	fmt.Fprintf(w, "  policy %s, from what %d runs observed; more is asked when changes are found\n", p.Policy, p.Runs)
	if p.When != "" {
		fmt.Fprintf(w, "  for a run at %s: %s\n", p.At.Local().Format("2006-01-02 15:04"), p.When)
	}
	if p.Expected > 0 || p.Missed > 0 {
		fmt.Fprintf(w, "  expected changes: %.3g in what is asked, %.3g in what is spared\n", p.Expected, p.Missed)
	}
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(p.Reasons)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.Reasons[why], why))
	}
	fmt.Fprintf(w, "  why: %s\n", strings.Join(parts, ", "))
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "DIRECTORY\tKNOWN\tASKED\tSPARED\tEXPECTED\tWHY")
	for i := 0; i < len(p.Dirs); {
		d, n := p.Dirs[i], 1
		for !all && i+n < len(p.Dirs) && alikeBelow(&p.Dirs[i], &p.Dirs[i+n]) {
			x := &p.Dirs[i+n]
			d.Known, d.Asked, d.Spared, d.Expected = d.Known+x.Known, d.Asked+x.Asked, d.Spared+x.Spared, d.Expected+x.Expected
			d.Audited += x.Audited
			n++
		}
		path := strings.TrimSuffix(d.Path, "/") + "/"
		if n > 1 {
			path += fmt.Sprintf(" and %d below", n-1)
		}
		expected := ""
		if d.Expected > 0 {
			expected = fmt.Sprintf("%.2g", d.Expected)
		}
		why := d.Why
		if d.Audited > 0 {
			why += fmt.Sprintf(", %d audited", d.Audited)
		}
		if d.Rule != "" {
			why += ": " + d.Rule
		}
		fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%s\t%s\n", path, d.Known, d.Asked, d.Spared, expected, why)
		i += n
	}
	return tw.Flush()
}

// alikeBelow reports whether b lies below a and the same is said of both.
func alikeBelow(a, b *PlanDir) bool {
	below := a.Path == "/" || strings.HasPrefix(b.Path, a.Path+"/")
	return below && a.Why == b.Why && a.Rule == b.Rule && (a.Asked == 0 && b.Asked == 0 || a.Spared == 0 && b.Spared == 0)
}

// explainPlan says whether the last run skipped a URL, and what the next one means to do with it.
func (r *run) explainPlan(x *Explanation, rec *store.Resource) error {
	if id, ok := r.table.Find([]byte(rec.URL.String())); !ok || !r.table.State(id).Governed() {
		return nil
	}
	p, why, err := r.planLoaded()
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { x.Rules = append(x.Rules, "plan: "+fmt.Sprintf(format, args...)) }
	if p == nil {
		if why != "" {
			say("the next run asks for everything: %s", why)
		}
		return nil
	}
	if looked := p.Model().Looked(rec.ID); looked < p.Model().Last {
		say("skipped by run %d; last looked at in run %d", p.Model().Last, looked)
	}
	f, reason := r.foresee(p), ""
	switch asked, planned := f.asked[rec.ID]; {
	case f.owed[rec.ID]:
		reason = "asked: an entry point"
	case f.source[rec.ID]:
		reason = "asked: a source of evidence"
	case r.retried(rec.ID):
		reason = "asked: it failed before"
	case planned:
		reason = asked.String()
	default:
		reason = p.Reason(rec.ID).String()
	}
	say("the next run, policy %s, if nothing has changed: %s", r.job.Policy, reason)
	if p.Rules() != nil {
		say("%d rules skip directories; its own: %s", len(p.Rules().Skips), cmp.Or(p.Rules().Text(p.Rules().Over(rec.URL)), "none"))
	}
	return nil
}
