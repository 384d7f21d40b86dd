// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/job"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// busy is a history in which the first 10 of 100 pages change in each of so many runs.
func busy(runs int) []record.Observation {
	later := make([]record.Observation, runs-1)
	for i := range later {
		later[i] = record.Observation{
			Run:      2 + i,
			Time:     1_700_000_000 + int64(i+1)*86_400,
			Complete: true,
			Asked:    record.IDs{{First: 0, Last: 99}},
			Changed:  record.IDs{{First: 0, Last: 9}},
		}
	}
	return later
}

// planned makes the plan of the run that follows the busy ones.
func planned(t *testing.T, runs int, set func(*PlanOptions)) *Planner {
	t.Helper()
	site, _ := pages(100, busy(runs)...)
	o := PlanOptions{
		Job:       job.Default(home + "/"),
		Policies:  known.All(),
		Dead:      new(DeadLinks),
		Site:      site,
		Run:       runs + 1,
		Now:       time.Unix(1_700_000_000+int64(runs)*86_400, 0),
		PlanTerms: PlanTerms{Published: true},
	}
	o.Job.Policy = policy.Adaptive
	if set != nil {
		set(&o)
	}
	p, why, err := NewPlanner(o)
	if err != nil || (p == nil) != (why != "") {
		t.Fatal(why, err)
	}
	return p
}

// short is a frontier that always runs low.
func short(int, []string) bool { return true }

// drain takes all batches. seen returns the outcome of each URL.
func drain(p *Planner, seen func(id uint32) urls.Seen) (ids []uint32) {
	for b := p.Refill(short); len(b.Asks) > 0; b = p.Refill(short) {
		for _, id := range unitsOf(b.Asks) {
			ids = append(ids, id)
			p.Tell(id, seen(id))
		}
	}
	return ids
}

func asBefore(uint32) urls.Seen { return urls.Asked }

func TestPlanSkipsWhatDoesNotPay(t *testing.T) {
	p := planned(t, 20, func(o *PlanOptions) { o.Job.Adaptive.Price = 0.1 })
	if ids := drain(p, asBefore); len(ids) > 0 {
		t.Errorf("%d were handed out before the plan was opened", len(ids))
	}
	p.Enter(PlanOpen)
	if b := p.Refill(func(int, []string) bool { return false }); len(b.Asks) > 0 {
		t.Errorf("%d were handed out into a frontier that is full", len(b.Asks))
	}
	ids := drain(p, asBefore)
	if n := slices.IndexFunc(ids, func(id uint32) bool { return id < 10 }); n < 0 {
		t.Error("nothing that changes was handed out")
	}
	skipped := maps.Collect(p.Skipped())
	if len(ids)+len(skipped) != 100 || len(skipped) < 50 {
		t.Errorf("%d handed out, %d skipped", len(ids), len(skipped))
	}
	sum := int64(0)
	for _, n := range p.HandedOut() {
		sum += n
	}
	if sum != int64(len(ids)) {
		t.Errorf("reasons of %d of %d", sum, len(ids))
	}
	if why := skipped[99]; why.Why != policy.Cheap || p.Reason(99) != why {
		t.Errorf("page 99: %v", why)
	}
}

// How late changes were found is known from the observations: a job with a goal asks for less than its price
// when they were found later.
func TestPlanKeepsAGoalOfLateness(t *testing.T) {
	asked := func(late time.Duration, told string) int {
		p := planned(t, 20, func(o *PlanOptions) {
			later := busy(20)
			for i := 10; i < 18; i++ {
				later[i].Asked, later[i].Changed = record.IDs{{First: 0, Last: 9}}, nil
			}
			later[18].Changed = record.IDs{{First: 40, Last: 59}}
			o.Site, _ = pages(100, later...)
			o.Job.Adaptive.Price, o.Job.Adaptive.Late, o.Told = 0.001, late, []byte(told)
			o.Job.Limits.MaxSkip, o.Job.Limits.MaxSkipTime = 0, "0"
		})
		p.Enter(PlanOpen)
		return len(drain(p, asBefore))
	}
	with, without, told := asked(time.Minute, ""), asked(0, ""), asked(time.Minute, `{"20": 1e9}`)
	t.Logf("%d requests, %d without a goal, %d when something told of the changes", with, without, told)
	if with <= without || told != without {
		t.Errorf("%d requests with a goal of a minute, %d without one, %d when something told of the changes", with,
			without, told)
	}
}

// What a source told of had not changed when the source was last looked at, however long ago that of the page
// was. It is remembered for as many runs as count.
func TestToldOfDidNotWait(t *testing.T) {
	const day = 86_400
	fact := []byte(`{"1": 5, "2": 7}`)
	for run := 3; run < 70; run++ {
		x := newTold(fact)
		x[run] = 1
		var err error
		if fact, err = x.fact(); err != nil {
			t.Fatal(err)
		}
	}
	if x := newTold(fact); len(x) != toldRuns || x[69] != 1 || x[2] != 0 {
		t.Errorf("of 69 runs are remembered: %v", x)
	}
	if x := newTold([]byte(`{"1":`)); len(x) != 0 {
		t.Errorf("of what cannot be read is remembered: %v", x)
	}
	for name, from := range map[string]uint32{
		"a sitemap":                     fromKind(urls.BySitemap),
		"a page of the run before":      5,
		"a page that waited as long":    50,
		"nothing":                       0,
		"a page that no run has known":  200,
		"a sitemap, and it was as ever": fromKind(urls.BySitemap),
	} {
		p := planned(t, 20, func(o *PlanOptions) {
			later := busy(20)
			for i := 10; i < 19; i++ { // 9 days, from the 11th on
				later[i].Asked, later[i].Changed = record.IDs{{First: 0, Last: 9}}, nil
			}
			o.Site, _ = pages(100, later...)
			o.Job.Adaptive.Price, o.Job.Adaptive.Late = 1, time.Hour
			o.Job.Limits.MaxSkip, o.Job.Limits.MaxSkipTime = 0, "0"
		})
		p.Enter(PlanOpen)
		if from != 0 {
			p.hinted.list = append(p.hinted.list, hint{40, from})
		}
		drain(p, func(id uint32) urls.Seen {
			if id == 40 && !strings.HasSuffix(name, "as ever") {
				return urls.Asked | urls.Changed
			}
			return urls.Asked
		})
		_, fact, err := p.ToKeep()
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		switch name {
		case "a sitemap", "a page of the run before", "a page that no run has known":
			want = 4.5 * day
		}
		if got := newTold(fact)[21]; got != want {
			t.Errorf("%s told of it: %v s too long, want %v", name, got, want)
		}
	}
}

func TestTooFewRunsForAPlan(t *testing.T) {
	if p := planned(t, 2, nil); p != nil {
		t.Error("2 complete runs must not be enough")
	}
	p := planned(t, 2, func(o *PlanOptions) { o.Job.Limits.MaxRequests = 30 })
	p.Enter(PlanOpen)
	if ids := drain(p, asBefore); len(ids) != 30 {
		t.Errorf("%d requests with a budget of 30", len(ids))
	}
	if p := (*Planner)(nil); p.DecidesListings() || p.Skips(3) || p.DecidesOn(3, nil) {
		t.Error("a run without a plan must skip nothing")
	}
}

// A hint is followed before all else, until hints have shown to come to nothing.
func TestHints(t *testing.T) {
	p := planned(t, 20, func(o *PlanOptions) { o.Job.Adaptive.Price = 1 })
	p.Enter(PlanOpen)
	drain(p, asBefore)
	p.Hint(90, urls.BySitemap)
	p.Tell(91, urls.Asked) // the plan may continue
	if ids := drain(p, asBefore); !slices.Contains(ids, 90) {
		t.Errorf("a hint was not followed: %v", ids)
	}
}

// What the hints of a source were worth is remembered: those of one that was right are followed, of one that
// was wrong a few in a run.
func TestHintsAreLearned(t *testing.T) {
	h := newHints(nil)
	run := func(from uint32, comes bool) (followed int) {
		fact, err := h.fact()
		if err != nil {
			t.Fatal(err)
		}
		h = newHints(fact)
		for id := range uint32(100) {
			h.list = append(h.list, hint{id, from})
			for _, x := range h.take(1, policy.DefaultPrice, new(urls.IDSet)) {
				followed++
				h.tell(x.id, comes)
				h.tell(x.id, true) // once only
			}
		}
		return followed
	}
	if n := run(7, true); n != 100 {
		t.Errorf("%d of 100 hints of a source that is right were followed", n)
	}
	if n := run(8, false); n < 20 || n > 70 {
		t.Errorf("%d of 100 hints of a source that is wrong were followed at first", n)
	}
	if n := run(8, false); n > hintTrials {
		t.Errorf("%d of 100 hints of a source that was wrong are followed", n)
	}
	if n := run(7, true); n != 100 {
		t.Errorf("%d of 100 hints of a source that is right were followed in the end", n)
	}
	for range 30 {
		run(8, true)
	}
	if n := run(8, true); n != 100 {
		t.Errorf("%d of 100 hints of a source that has become right are followed", n)
	}
	if w := h.of[8]; w[told] > 2*hintMemory+100 {
		t.Errorf("%v is remembered for ever", w)
	}
	if h := newHints([]byte("{")); len(h.of) > 0 || h.chance(8) != 0.25 {
		t.Error("what cannot be read begins again")
	}
}

// A rule skips a directory, and the plan says so.
func TestPlanFollowsRules(t *testing.T) {
	p := planned(t, 20, func(o *PlanOptions) { o.Job.Policy = policy.Near })
	if p.Rules() == nil || len(p.Rules().Skips) != 1 {
		t.Fatalf("rules: %+v", p.Rules())
	}
	if !p.Skips(70) || p.Skips(3) || p.Skips(7000) {
		t.Error("the rule must skip the silent directory alone")
	}
}

// Under a policy that decides on listings they come in stages of their own, and cover what they show.
func TestListingsComeInStages(t *testing.T) {
	set := func(trusted bool) func(*PlanOptions) {
		return func(o *PlanOptions) {
			o.Trusted = trusted
			o.Job.Adaptive.Price = 0.5
			for _, id := range []uint32{0, 50} {
				o.Listings.Put(id, true)
			}
			for id := range uint32(100) {
				o.Covered.Put(id, id%50 != 0)
			}
		}
	}
	if p := planned(t, 20, set(false)); p.DecidesListings() {
		t.Error("listings that are not believed must be requested in any case")
	}
	p := planned(t, 20, set(true))
	if !p.DecidesOn(0, nil) || p.DecidesOn(0, []site.URL{page(0)}) || p.DecidesOn(1, nil) {
		t.Error("the plan must decide on listings that are not entry points")
	}
	p.Enter(PlanListings)
	b := p.Refill(short)
	if !b.Listings || !slices.Equal(unitsOf(b.Asks), []uint32{0}) {
		t.Errorf("batch %+v, want the listing of the busy directory", b)
	}
	p.Want(50)
	if b := p.Refill(short); !slices.Equal(unitsOf(b.Asks), []uint32{50}) {
		t.Errorf("batch %+v, want the listing that others hint at", b)
	}
	p.Enter(PlanClosed)
	p.Want(50)
	if ids := p.TakeWanted(); !slices.Equal(ids, []uint32{50}) || len(p.TakeWanted()) > 0 {
		t.Errorf("wanted %v", ids)
	}
	p = planned(t, 20, set(true))
	asked := foreseen(ForeseeOptions{
		Plan:     p,
		Sources:  &Sources{Listings: p.Listings, Covered: p.Covered},
		Evidence: new(Evidence),
		Table:    p.Site.Table,
	}).Planned
	if _, ok := asked[0]; !ok || len(asked) > 2 {
		t.Errorf("foreseen %v, want the listing of the busy directory", asked)
	}
}

// foreseen is Foresee of a site without broken, changed or refused links.
func foreseen(o ForeseeOptions) Forecast {
	o.Broken = func(uint32) bool { return false }
	o.Names = func(uint32, uint32) bool { return true }
	o.Refused = func(uint32, urls.State) bool { return false }
	return Foresee(o)
}

func TestForesee(t *testing.T) {
	p := planned(t, 20, func(o *PlanOptions) { o.Job.Adaptive.Price = 0.1 })
	s := Sources{pages: []uint32{98}}
	seeds := []site.URL{page(99), site.Canonical(home + "/elsewhere")}
	o := ForeseeOptions{
		Plan:    p,
		Sources: &s,
		Table:   p.Site.Table,
		Seeds:   seeds,
	}
	f := foreseen(o)
	if !f.EntryPoints[99] || len(f.EntryPoints) != 1 || !f.Sources[98] || len(f.Sources) != 1 {
		t.Errorf("entry points %v, sources %v", f.EntryPoints, f.Sources)
	}
	if _, ok := f.Planned[99]; ok || len(f.Planned) == 0 || len(f.Planned) > 50 {
		t.Errorf("%d foreseen, want some of what changes, and not the owed", len(f.Planned))
	}
	o.Plan = nil
	if f := foreseen(o); len(f.Planned) > 0 || !f.Sources[98] {
		t.Errorf("without a plan: %v", f)
	}
}

// Why a run requests everything, regardless of observations.
func TestWhyEverythingIsRequested(t *testing.T) {
	for name, set := range map[string]func(*PlanOptions){
		"published":       func(o *PlanOptions) { o.Published = false },
		"policy":          func(o *PlanOptions) { o.Job.Policy = policy.Full },
		"rules":           func(o *PlanOptions) { o.NewRules = true },
		"held for review": func(o *PlanOptions) { o.Full = true },
		"full_runs":       func(o *PlanOptions) { o.Job.FullRuns = 100 },
		"unknown policy":  func(o *PlanOptions) { o.Job.Policy = "toss a coin" },
	} {
		site, _ := pages(100, busy(20)...)
		o := PlanOptions{
			Job:       job.Default(home + "/"),
			Policies:  known.All(),
			Dead:      new(DeadLinks),
			Site:      site,
			Run:       21,
			Now:       noon,
			PlanTerms: PlanTerms{Published: true},
		}
		o.Job.Policy = policy.Adaptive
		set(&o)
		p, why, err := NewPlanner(o)
		if err != nil {
			why = err.Error()
		}
		if p != nil || !strings.Contains(why, name) {
			t.Errorf("%s: %v, %q", name, p != nil, why)
		}
	}
}

// What new URLs a page names makes the page worth more: the plan learns their number once.
func TestNamed(t *testing.T) {
	p := planned(t, 20, nil)
	p.Named(3, slices.Values([]uint32{4, 100, 101}))
	p.Named(500, slices.Values([]uint32{100}))
	if p.found[3] != 2 || len(p.found) != 1 {
		t.Errorf("found %v", p.found)
	}
	if p.Tell(3, urls.Asked|urls.Changed); len(p.found) != 0 {
		t.Errorf("found %v", p.found)
	}
}

// What runs left of limits.max_requests the next one may use.
func TestBudgetCarriesOver(t *testing.T) {
	later := busy(6)
	for i := range later {
		later[i].Complete = i < 2 // the others requested a few pages
		if i >= 2 {
			later[i].Asked = record.IDs{{First: 0, Last: 3}}
			later[i].Changed = nil
		}
	}
	known, _ := pages(100, later...)
	o := PlanOptions{
		Job:       job.Default(home + "/"),
		Policies:  policy.Standard(),
		Dead:      new(DeadLinks),
		Site:      known,
		Run:       7,
		Now:       time.Unix(1_700_000_000+6*86_400, 0),
		PlanTerms: PlanTerms{Published: true},
	}
	o.Job.Policy, o.Job.FullRuns, o.Job.Adaptive.LearnFor = policy.Adaptive, 1, "0s"
	o.Job.Limits.MaxRequests = 10
	m, err := known.Model(ModelOptions{Run: 7})
	if err != nil {
		t.Fatal(err)
	}
	if with, why := o.planned(m); why != "" || with.Budget != 10+3*6 {
		t.Errorf("budget %d %s, want 10 and the 6 that each of 3 runs left", with.Budget, why)
	}
	o.Job.FullRuns = 100
	if with, _ := o.planned(m); with.Budget != 10 {
		t.Errorf("budget %d while everything is looked at, want 10", with.Budget)
	}
}

// What a planned run leaves alone although an unchanged document names it.
func TestLeaves(t *testing.T) {
	t0 := int64(1_700_000_000)
	all := record.IDs{{First: 0, Last: 99}}
	known, table := pages(100, append(busy(10), record.Observation{
		Run:   11,
		Time:  t0 + 11*86_400,
		Asked: all,
		Left:  record.IDs{{First: 50, Last: 51}},
	}, record.Observation{Run: 12, Time: t0 + 12*86_400, Asked: all})...)
	o := PlanOptions{
		Job:       job.Default(home + "/"),
		Policies:  policy.Standard(),
		Dead:      new(DeadLinks),
		Site:      known,
		Now:       time.Unix(t0+14*86_400, 0),
		PlanTerms: PlanTerms{Published: true},
	}
	o.Job.Policy = policy.Adaptive
	for _, id := range []uint32{50, 51} {
		gone := record.Resource{ID: id, URL: page(int(id)), Outcome: site.Gone}
		gone.Gone, gone.Run = 3, 12
		table.Settled().Load(&gone, urls.Run{Number: 20})
		o.Dead.Load(&gone, 13)
	}
	for _, c := range []struct {
		id   uint32
		want bool
	}{
		{3, true},  // of the mirror: the plan decides
		{50, true}, // dead, looked at a run ago: it has its turn in a later run
	} {
		o.Run = 13
		p, why, err := NewPlanner(o)
		if err != nil || p == nil {
			t.Fatal(why, err)
		}
		if got := p.Leaves(c.id, table.State(c.id)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if (*Planner)(nil).Leaves(3, table.State(3)) {
		t.Error("a run without a plan must leave nothing")
	}
}
