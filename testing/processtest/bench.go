// SPDX-License-Identifier: Apache-2.0

// Package processtest makes a Processor whose site is a table of answers and whose stores are in memory, so
// that one turn of one URL is tested without a network, a disk or a run.
package processtest

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/mirror/process"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/scope"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/site"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/testing/storetest"
)

// Home is the address of the site, and its only entry point unless the job names others.
const Home = "http://www.example.org"

// Run is the number of the run, and Version the version that it works for.
const (
	Run     = 2
	Version = 2
)

// Bench is a Processor with what it uses.
type Bench struct {
	*process.Processor
	*Site
	Records *Records
	Others  *OtherSources
	Time    time.Time // what the clock shows

	t *testing.T
}

// New returns a bench for a job with further keys, one a line, at whose site the records of earlier runs are
// known. A record needs a URL; it gets a number, and the entry point as its referrer.
func New(t *testing.T, keys string, known ...record.Resource) *Bench {
	t.Helper()
	text := keys
	if !strings.HasPrefix(keys, "url = ") {
		text = "url = \"" + Home + "/\"\n" + keys
	}
	j, err := job.Parse("j", "j.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := scope.Compile(j)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{
		Site:    &Site{Answers: map[string]SiteReply{}},
		Records: new(Records),
		Time:    time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		t:       t,
	}
	b.commit(known)
	b.Processor = process.New(b.options(j, rules))
	for _, origin := range slices.Sorted(maps.Keys(origins(rules.Seeds, known))) {
		if _, err := b.LearnRobots(t.Context(), site.Canonical(origin+"/"), b.Chain.Robots); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func origins(seeds []site.URL, known []record.Resource) map[string]bool {
	out := map[string]bool{}
	for _, u := range seeds {
		out[u.Origin()] = true
	}
	for i := range known {
		out[known[i].URL.Origin()] = true
	}
	return out
}

// commit stores records, the first of which is that of the entry point.
func (b *Bench) commit(known []record.Resource) {
	b.t.Helper()
	home := record.Resource{
		URL:     site.Canonical(Home + "/"),
		Outcome: site.Fetched,
		InSet:   true,
	}
	var news []record.NewURL
	var done []*record.Done
	for i, r := range slices.Concat([]record.Resource{home}, known) {
		r.ID = uint32(i)
		if i > 0 {
			r.Referrer = 1
		}
		r.Run = max(r.Run, Run-1)
		news = append(news, record.NewURL{URL: r.URL.String(), Referrer: r.Referrer})
		done = append(done, &record.Done{Resource: r, Linked: true})
	}
	if err := b.Records.Commit(0, news, done); err != nil {
		b.t.Fatal(err)
	}
	err := b.Records.Fold(facts.Folding{
		Version: Version - 1,
		Pending: func(uint32) bool { return false },
		Path:    func(r *record.Resource) string { return r.Path },
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// options makes what the Processor works with, as package crawl does for a run without a plan.
func (b *Bench) options(j *job.Job, rules *scope.URLRules) process.Options {
	b.t.Helper()
	now := func() time.Time { return b.Time }
	o := process.Options{
		Terms: &run.Terms{
			Job:     j,
			Rules:   rules,
			Version: Version,
			Run:     &record.Run{Number: Run},
			Confirm: 5 * time.Minute,
			Log:     slog.New(slog.DiscardHandler),
			Now:     now,
		},
		KnownURLs: &urls.KnownURLs{Table: urls.New()},
		Shapes:    new(verdict.Shapes),
	}
	loading := urls.Loading{
		From: b.Records,
		Run:  o.Recording(),
		Bad:  func(err error) error { return err },
	}
	if _, err := o.Table.Settled().Fill(loading); err != nil {
		b.t.Fatal(err)
	}
	no := func() bool { return false }
	var err error
	o.Dispatcher, err = frontier.NewDispatcher(frontier.DispatcherOptions{
		Job:        j,
		Seeds:      rules.Seeds,
		Hosts:      new(fetch.Hosts),
		Politeness: source.Politeness(j),
		Now:        now,
		Table:      o.Table,
		First:      rules.First,
		Down:       func(frontier.Left) {},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	o.Admission = &frontier.Admission{
		KnownURLs:  o.KnownURLs,
		Dispatcher: o.Dispatcher,
		Rules:      rules,
		Variants:   urls.NewVariants(rules.Traps),
		Run:        Run,
		First:      no,
		Planned:    no,
		Leaves:     func(uint32, urls.State) bool { return false },
	}
	o.SkipPlan = revisit.NewSkipPlan(revisit.SkipPlanOptions{
		Job:     j,
		Run:     Run,
		Started: b.Time,
		Now:     now,
		Table:   o.Table,
		Records: b.Records,
		Facts:   new(storetest.MemoryNotes),
		First:   rules.First,
	})
	o.Stores = b.stores(&o)
	o.Chain = b.chain(&o)
	b.Others = &OtherSources{origin: o.Chain, bodies: o.Chain.Origin.Bodies}
	o.Sources = b.Others
	return o
}

func (b *Bench) stores(o *process.Options) process.Stores {
	kept := new(storetest.Bodies)
	s := process.Stores{Records: b.Records, Frames: new(Frames), Bodies: kept}
	s.Saver = process.NewSaver(process.SaverOptions{
		Frames: s.Frames,
		Bodies: kept,
		Get:    b.Records.Get,
		URL:    o.Table.URL,
		InSet:  o.Table.InSet,
		Run:    Run,
		Log:    o.Log,
		Failed: func(err error) { b.t.Error(err) },
	})
	b.t.Cleanup(s.Saver.Close)
	return s
}

// chain returns the origin as the only source.
func (b *Bench) chain(o *process.Options) *source.Chain {
	bodies := &source.BodyOptions{
		Parts:       noParts{},
		MaxDocument: int64(o.Job.Limits.MaxDocument),
		Now:         o.Now,
		Log:         o.Log,
	}
	return &source.Chain{
		Robots:   b.Site,
		Reuse:    source.NewReuseSource(source.ReuseSourceOptions{Provenance: &o.Provenance}),
		Upstream: new(source.UpstreamSource),
		Space:    new(source.SpaceSource),
		Origin:   &source.Origin{Fetcher: b.Site, Bodies: bodies, Now: o.Now},
		Replicas: source.NewReplicaSource(source.ReplicaSourceOptions{}),
	}
}

// ID returns the number of a URL, which a document of the site names if no record does.
func (b *Bench) ID(url string) uint32 {
	if id, ok := b.Table.Find([]byte(url)); ok {
		return id
	}
	id, _ := urls.Enter(b.Table, []byte(url), urls.Named)
	return id
}

// Turn takes one turn of a URL.
func (b *Bench) Turn(url string) process.Found {
	b.t.Helper()
	rec, err := b.Record(b.ID(url), site.Canonical(url))
	if err != nil {
		b.t.Fatal(err)
	}
	f, _, err := b.Look(b.t.Context(), &rec, func(fetch.Observation) {})
	if err != nil {
		b.t.Fatal(err)
	}
	b.Traits.Spend(rec.ID, f.Spent|f.Turn.Why)
	if f.Finding != nil {
		b.Table.Record(&f.Finding.Done.Resource, b.Recording())
	}
	return f
}

// Page returns the record of a page that earlier runs stored.
func Page(url string) record.Resource {
	return record.Resource{
		URL:     site.Canonical(url),
		Outcome: site.Fetched,
		Status:  200,
		InSet:   true,
		MIME:    "text/html",
		Format:  1,
		Size:    100,
		Fetched: 1,
		Checked: 1,
		Body:    record.PackBody,
	}
}
