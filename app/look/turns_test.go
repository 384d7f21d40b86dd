// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
)

// aSite is a site as the turns of its run see it.
type aSite struct {
	urls   int
	takes  time.Duration // for the answer to one request
	bytes  int           // of each body, which come evenly
	polite fetch.Politeness
	host   string // default: the name of the job
}

// siteRunner makes runs over sites without a disk: frontier, politeness and turns are the real ones.
type siteRunner struct {
	sites map[string]aSite
	hosts fetch.Hosts

	mu   sync.Mutex
	at   map[string]time.Time // end of the last run of each job
	seen []string             // hosts and jobs of requests, in order
}

func (r *siteRunner) Run(ctx context.Context, j *job.Job, o scheduler.RunOptions) status.Run {
	s := r.sites[j.Name]
	if s.host == "" {
		s.host = j.Name
	}
	s.polite.By = j.Name
	pacer, err := frontier.NewPacer(&r.hosts, j, s.polite, time.Now)
	if err != nil {
		return status.Run{Verdict: status.VerdictError, Error: err.Error()}
	}
	front := frontier.NewFrontier(pacer, frontier.Ordering{})
	for id := range s.urls {
		front.Add("http://"+s.host, uint32(id), frontier.PrioNew)
	}
	var received, done atomic.Int64
	slot := frontier.NewRunSlot(o.Turn, front, time.Now, received.Load, done.Load)
	workers := frontier.Workers{
		Front:       front,
		Connections: s.polite.Connections,
		Now:         time.Now,
		Slot:        slot,
		Release:     pacer.Release,
		After:       func() {},
		Ask: func(ctx context.Context, _ uint32, release func(fetch.Observation)) (bool, error) {
			r.mu.Lock()
			r.seen = append(r.seen, s.host+" "+j.Name)
			r.mu.Unlock()
			const parts = 4
			for range parts {
				time.Sleep(s.takes / parts) // in a bubble
				received.Add(int64(s.bytes / parts))
			}
			done.Add(1)
			release(fetch.Observation{Duration: s.takes, Status: 200})
			return true, nil
		},
	}
	workers.Stage(ctx)
	run := status.Run{Verdict: status.VerdictComplete}
	if ctx.Err() != nil || done.Load() < int64(s.urls) {
		run.Verdict = status.VerdictPartial
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[j.Name] = time.Now()
	return run
}

// runSites runs all sites at once on a number of turns, and returns how long each took.
func runSites(t *testing.T, sites map[string]aSite, turns, parked int, look func(d *scheduler.Scheduler)) (
	took map[string]time.Duration, r *siteRunner,
) {
	t.Helper()
	r = &siteRunner{sites: sites, at: map[string]time.Time{}}
	var files []scheduler.File
	for name := range sites {
		j, err := job.Parse(name, name+scheduler.Suffix, fmt.Appendf(nil, "url = \"https://%s.example/\"\n", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, scheduler.File{
			Name: name,
			Path: name,
			Job:  j,
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := scheduler.New(scheduler.Options{
			Runner:    r,
			Store:     NoRecords{},
			MaxRuns:   turns,
			MaxParked: parked,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(scheduler.Resolve(files, s.Config()))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		start := time.Now()
		var tickets []*scheduler.Ticket
		for _, f := range files {
			k, _, err := s.RunNow(f.Name, scheduler.RunNowOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, k)
		}
		if look != nil {
			look(s)
		}
		for i, k := range tickets {
			<-k.Done()
			if run, err := k.Result(); err != nil || !run.Complete() {
				t.Errorf("%s: %+v, %v", files[i].Name, run, err)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		took = map[string]time.Duration{}
		for name, at := range r.at {
			took[name] = at.Sub(start)
		}
	})
	return took, r
}

// last is when the last of the jobs with a prefix was done.
func last(took map[string]time.Duration, prefix string) (most time.Duration) {
	for name, d := range took {
		if strings.HasPrefix(name, prefix) {
			most = max(most, d)
		}
	}
	return most
}

// Four sites that drip do not keep twenty others from being mirrored, and are mirrored as well.
func TestDrippingSitesStarveNobodyInBulk(t *testing.T) {
	two, four := fetch.Politeness{Connections: 2}, fetch.Politeness{Connections: 4}
	slowly := fetch.Politeness{Delay: 3 * time.Second}
	site := func(urls int, takes time.Duration, bytes int, p fetch.Politeness) aSite {
		return aSite{
			urls:   urls,
			takes:  takes,
			bytes:  bytes,
			polite: p,
		}
	}
	quick, drip := site(600, 100*time.Millisecond, 20_000, two), site(12, 5*time.Minute, 39_000, four)
	for name, c := range map[string]struct{ normal, dripping aSite }{
		"quick":          {quick, drip},
		"one by one":     {quick, site(40, 10*time.Second, 1300, fetch.Politeness{})},
		"polite":         {site(30, 100*time.Millisecond, 0, slowly), drip},
		"long runs":      {site(900, 400*time.Millisecond, 20_000, fetch.Politeness{}), drip},
		"silent servers": {quick, site(4, 8*time.Minute, 0, two)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			normal, all := map[string]aSite{}, map[string]aSite{}
			for i := range 20 {
				normal[fmt.Sprintf("normal%02d", i)] = c.normal
				all[fmt.Sprintf("normal%02d", i)] = c.normal
			}
			for i := range 4 {
				all[fmt.Sprintf("dripping%d", i)] = c.dripping
			}
			alone, _ := runSites(t, normal, 2, 22, nil)
			beside, _ := runSites(t, all, 2, 22, nil)
			a, b := last(alone, "normal"), last(beside, "normal")
			t.Logf("normal %v alone, %v beside those that drip, which took %v", a, b, last(beside, "drip"))
			if b > 2*a {
				t.Errorf("normal sites took %v beside sites that drip, %v without", b, a)
			}
			rounds := (c.dripping.urls + max(c.dripping.polite.Connections, 1) - 1) /
				max(c.dripping.polite.Connections, 1)
			if d := last(beside, "drip"); d > 2*time.Duration(rounds)*c.dripping.takes+b {
				t.Errorf("the sites that drip took %v", d)
			}
		})
	}
}

// A run that makes a request every few seconds keeps its pace while all turns are taken.
func TestPoliteRunKeepsItsPace(t *testing.T) {
	sites := map[string]aSite{
		"polite": {urls: 600, takes: 100 * time.Millisecond, polite: fetch.Politeness{Delay: 2 * time.Second}},
	}
	for i := range 3 {
		sites[fmt.Sprintf("busy%d", i)] = aSite{urls: 6000, takes: 200 * time.Millisecond, bytes: 50_000}
	}
	took, _ := runSites(t, sites, 1, 0, nil)
	if most := 2*600*2100*time.Millisecond + 20*time.Minute; took["polite"] > most {
		t.Errorf("polite took %v, %v alone", took["polite"], 600*2100*time.Millisecond)
	}
	t.Log(took)
}

// No job waits for longer than the bound while others work: long runs give way to one another.
func TestLongRunsTakeTurns(t *testing.T) {
	sites := map[string]aSite{}
	for i := range 6 {
		sites[fmt.Sprintf("long%d", i)] = aSite{urls: 6000, takes: 300 * time.Millisecond, bytes: 20_000}
	}
	worst := time.Duration(0)
	took, _ := runSites(t, sites, 2, 0, func(s *scheduler.Scheduler) {
		for range 3 * 60 { // three hours
			time.Sleep(time.Minute)
			for _, j := range s.Status().Jobs {
				if j.Waits != nil && j.Waits.For == status.ForTurn {
					worst = max(worst, time.Since(*j.Waits.Since))
				}
			}
		}
	})
	if worst > 3*(5*time.Minute+30*time.Second) {
		t.Errorf("a job waited %v for a turn", worst)
	}
	if d := last(took, "long"); d > 95*time.Minute {
		t.Errorf("took %v", d)
	}
}

// Two jobs of one host take turns on it, also when one of them has many more pages.
func TestBothJobsOfAHost(t *testing.T) {
	for name, p := range map[string]fetch.Politeness{
		"a gap":          {Delay: time.Second},
		"one connection": {Connections: 1},
		"connections":    {Connections: 2},
		"a long gap":     {Delay: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 50
			sites := map[string]aSite{
				"small": {urls: n, takes: 150 * time.Millisecond, bytes: 9000, polite: p, host: "shared"},
				"large": {urls: 10 * n, takes: 150 * time.Millisecond, bytes: 9000, polite: p, host: "shared"},
			}
			_, r := runSites(t, sites, 2, 0, nil)
			end := 0
			for i, s := range r.seen {
				if s == "shared small" {
					end = i
				}
			}
			if large := end + 1 - n; large > n+n/4 {
				t.Errorf("the larger job made %d requests while the smaller one made %d", large, n)
			}
			if !slices.Contains(r.seen[:4], "shared small") || !slices.Contains(r.seen[:4], "shared large") {
				t.Errorf("began with %q", r.seen[:4])
			}
		})
	}
}
