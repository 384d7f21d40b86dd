// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/job"
	"mirrord/store/record"
)

// history is a site of 100 pages whose complete runs, after the first, began so long after it, and each found
// the first 10 pages changed.
func history(after ...time.Duration) KnownSite {
	runs := busy(len(after) + 1)
	for i, d := range after {
		runs[i].Time = 1_700_000_000 + int64(d.Seconds())
	}
	s, _ := pages(100, runs...)
	return s
}

// nextPlan plans the run a minute after the last one.
func nextPlan(t *testing.T, s KnownSite, set func(*job.Job)) (*Planner, string) {
	t.Helper()
	runs := s.Observed.(observed)
	o := PlanOptions{
		Job:       job.Default(home + "/"),
		Policies:  known.All(),
		Dead:      new(DeadLinks),
		Site:      s,
		Run:       len(runs) + 1,
		Now:       time.Unix(runs[len(runs)-1].Time+60, 0),
		PlanTerms: PlanTerms{Published: true},
	}
	if set != nil {
		set(o.Job)
	}
	p, why, err := NewPlanner(o)
	if err != nil {
		t.Fatal(err)
	}
	return p, why
}

// Learning needs time, not runs: no number of runs within a short time makes a policy that weighs requests
// skip anything.
func TestLearningNeedsTime(t *testing.T) {
	const day, minute = 24 * time.Hour, time.Minute
	burst := []time.Duration{minute, 2 * minute, 3 * minute, 4 * minute, 5 * minute}
	daily := []time.Duration{day, 2 * day, 3 * day}
	schedule := func(s string) func(*job.Job) { return func(j *job.Job) { j.Schedule = s } }
	learn := func(d string) func(*job.Job) { return func(j *job.Job) { j.Adaptive.LearnFor = d } }
	for _, c := range []struct {
		name  string
		after []time.Duration
		set   func(*job.Job)
		why   string // why everything is requested; "": a plan
	}{
		{"six runs in five minutes", burst, nil, "learn_for"},
		{"six runs in five minutes, 0s", burst, learn("0s"), ""},
		{"six runs in five minutes, near", burst, func(j *job.Job) { j.Policy = policy.Near }, ""},
		{"six runs, and one two days later", append(slices.Clone(burst), 2*day), nil, "full_runs"},
		{"six runs, and two later", append(slices.Clone(burst), day, 2*day), nil, ""},
		{"two days by hand", daily[:2], nil, ""},
		{"a day by hand", []time.Duration{day / 2, day}, nil, "learn_for"},
		{"daily, two days", daily[:2], schedule("30 3 * * *"), "learn_for"},
		{"daily, three days", daily, schedule("30 3 * * *"), ""},
		{"continuous, two days", daily[:2], schedule("continuous"), ""},
		{"weekly, by hand meanwhile", daily, schedule("@weekly"), "learn_for"},
		{"weekly, and a burst", []time.Duration{minute, 21 * day}, schedule("@weekly"), "full_runs"},
		{"weekly, explicit", daily, func(j *job.Job) { j.Schedule, j.Adaptive.LearnFor = "@weekly", "2d" }, ""},
	} {
		p, why := nextPlan(t, history(c.after...), c.set)
		if (p == nil) != (c.why != "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: plan %v, because %q; want %q", c.name, p != nil, why, c.why)
		}
	}
}

// Runs that lie close together are one look also when enough was learned; for near each run is a version.
func TestBurstsAreOneLook(t *testing.T) {
	const day = 24 * time.Hour
	var after []time.Duration
	for d := day; d <= 10*day; d += day {
		after = append(after, d, d+time.Minute, d+2*time.Minute)
	}
	for _, c := range []struct {
		name string
		set  func(*job.Job)
		want int // looks
	}{
		{"adaptive", nil, 11},
		{"by schedule", func(j *job.Job) { j.Schedule = "@daily" }, 11},
		{"0s", func(j *job.Job) { j.Adaptive.LearnFor = "0s" }, 31},
		{"near", func(j *job.Job) { j.Policy = policy.Near }, 31},
	} {
		p, why := nextPlan(t, history(after...), c.set)
		if p == nil {
			t.Fatalf("%s: no plan: %s", c.name, why)
		}
		if got := p.Model().Runs(); got != c.want {
			t.Errorf("%s: %d looks, want %d", c.name, got, c.want)
		}
	}
}

// No page goes unseen for longer than limits.max_skip_time, however few runs there were.
func TestMaxSkipTime(t *testing.T) {
	const day = 24 * time.Hour
	for most, want := range map[time.Duration]int{30 * day: 50, 0: 0, 60 * day: 0} {
		runs := busy(20)
		for i := range runs { // pages 50 to 99 were last looked at 34 days before the end
			runs[i].Time = 1_700_000_000 + int64(i+1)*2*86_400
			if i >= 2 {
				runs[i].Asked = record.IDs{{First: 0, Last: 49}}
			}
		}
		s, _ := pages(100, runs...)
		p, why := nextPlan(t, s, func(j *job.Job) {
			j.Adaptive.Price, j.Limits.MaxSkip, j.Limits.MaxSkipTime = 1, 0, most.String()
		})
		if p == nil {
			t.Fatal(why)
		}
		asked := 0
		for id := range foreseen(ForeseeOptions{Plan: p, Sources: new(Sources), Table: s.Table}).Planned {
			if id >= 50 {
				asked++
			}
		}
		if asked != want {
			t.Errorf("%v: %d of 50 pages that were last seen 34 days ago are requested, want %d", most, asked, want)
		}
	}
}

func TestSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	random := func() (ids record.IDs, has [40]bool) {
		for id := range uint32(40) {
			if has[id] = rng.IntN(3) == 0; has[id] {
				ids.Add(id)
			}
		}
		return ids, has
	}
	for range 500 {
		a, inA := random()
		b, inB := random()
		both, left := union(a, b), minus(a, b)
		for id := range uint32(40) {
			if both.Has(id) != (inA[id] || inB[id]) || left.Has(id) != (inA[id] && !inB[id]) {
				t.Fatalf("%v, %v: union %v, difference %v", a, b, both, left)
			}
		}
	}
}
