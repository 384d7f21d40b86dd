// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math/rand/v2"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/job"
	"mirrord/store/record"
)

// thirds is the history of a site of n pages after its first run: each run looked at a third, and a page of a
// hundred changed.
func thirds(n, runs int) (out []record.Observation) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 1; i < runs; i++ {
		o := record.Observation{Run: i + 1, Time: 1_700_000_000 + int64(i)*86_400, Complete: true}
		for id := range uint32(n) {
			if (int(id)/50+i)%3 != 0 {
				continue
			}
			o.Asked.Add(id)
			if rng.IntN(100) == 0 {
				o.Changed.Add(id)
			}
		}
		out = append(out, o)
	}
	return out
}

// BenchmarkPlan is what planning a run costs: the model is made from 200 runs of a site of 100 000 pages, and
// the plan hands out its first batch.
func BenchmarkPlan(b *testing.B) {
	site, _ := pages(100_000, thirds(100_000, 200)...)
	for _, name := range []policy.Name{policy.Adaptive, policy.Near} {
		b.Run(string(name), func(b *testing.B) {
			o := PlanOptions{
				Job:       job.Default(home + "/"),
				Policies:  known.All(),
				Dead:      new(DeadLinks),
				Site:      site,
				Run:       201,
				PlanTerms: PlanTerms{Published: true},
				Now:       time.Unix(1_700_000_000+200*86_400, 0),
			}
			o.Job.Policy = name
			for b.Loop() {
				p, why, err := NewPlanner(o)
				if err != nil || p == nil {
					b.Fatal(why, err)
				}
				p.Enter(PlanOpen)
				p.Refill(short)
			}
		})
	}
}
