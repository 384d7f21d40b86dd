// SPDX-License-Identifier: Apache-2.0

package known_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/mirror"
	"mirrord/replay"
	"mirrord/testing/mirrortest"
)

// toy is a policy that lives outside of package policy: it asks for every other unit.
type toy struct {
	m     *policy.Model
	next  policy.ID
	asked map[policy.ID]bool
	told  map[policy.ID]bool
}

func definition() policy.Definition {
	begin := func(m *policy.Model, _ policy.Options) policy.Plan {
		return &toy{m: m, asked: map[policy.ID]bool{}, told: map[policy.ID]bool{}}
	}
	return policy.Definition{Name: "toy", Doc: "every other one", Begin: begin}
}

func (t *toy) wants(u policy.ID) bool { return t.m.In(u) && u%2 == 0 && !t.told[u] }

func (t *toy) Next(most int) (out []policy.Ask) {
	for ; int(t.next) < t.m.Units() && len(out) < most; t.next++ {
		if t.wants(t.next) {
			t.asked[t.next] = true
			out = append(out, policy.Ask{Unit: t.next, Why: policy.Reason{Why: policy.Everything}})
		}
	}
	return out
}

func (t *toy) NextListings(int) []policy.Ask { return nil }

func (t *toy) Tell(o policy.Outcome) { t.told[o.Unit] = true }

func (t *toy) Reason(u policy.ID) policy.Reason {
	if u%2 == 0 {
		return policy.Reason{Why: policy.Everything}
	}
	return policy.Reason{Why: policy.Cheap}
}

func (t *toy) Spared() iter.Seq2[policy.ID, policy.Reason] {
	return func(yield func(policy.ID, policy.Reason) bool) {
		for u := range policy.ID(t.m.Units()) {
			if t.m.In(u) && !t.asked[u] && !t.told[u] && !yield(u, t.Reason(u)) {
				return
			}
		}
	}
}

// Names are unique, and each policy says what it does and can begin a run.
func TestDefinitions(t *testing.T) {
	seen := map[policy.Name]bool{}
	for _, p := range known.All() {
		if seen[p.Name] || p.Name == "" || p.Doc == "" || p.Begin == nil {
			t.Errorf("%q: named twice or incomplete", p.Name)
		}
		seen[p.Name] = true
	}
}

// A policy that is registered and nothing else runs in a replay.
func TestToyInReplay(t *testing.T) {
	h := history(t)
	with := append(known.All(), definition())
	full, err := replay.Run(h, replay.Options{Policy: policy.Full, Policies: with, Train: 2})
	if err != nil {
		t.Fatal(err)
	}
	got, err := replay.Run(h, replay.Options{Policy: "toy", Policies: with, Train: 2})
	if err != nil {
		t.Fatal(err)
	}
	if n, all := got.Total.Requests, full.Total.Requests; n == 0 || n*3 > all*2 {
		t.Errorf("the toy made %d requests, full %d: want about half", n, all)
	}
	if _, err := replay.Run(h, replay.Options{
		Policy: "toy",
		Train:  2,
	}); err == nil || !strings.Contains(err.Error(), `unknown policy "toy"`) {
		t.Errorf("without registration: %v", err)
	}
}

func history(t *testing.T) *replay.History {
	var b replay.Builder
	for v := range 6 {
		var records []replay.Record
		for i := range 20 {
			if v > 0 && (i%4 == 0) {
				continue // as it was
			}
			records = append(records, replay.Record{
				Path: fmt.Sprintf("d%d/p%02d.html", i/5, i),
				Size: 100,
				Blob: fmt.Sprintf("%d.%d", i, v*(i%4)),
			})
		}
		if err := b.Add(time.Date(2026, 1, 1+7*v, 0, 0, 0, 0, time.UTC), "", records); err != nil {
			t.Fatal(err)
		}
	}
	return b.History()
}

// And in a run of the engine.
func TestToyInRun(t *testing.T) {
	w := mirrortest.Start(t)
	var links strings.Builder
	for i := range 40 {
		fmt.Fprintf(&links, "<a href=p%02d.html>%d</a>", i, i)
		w.Set(fmt.Sprintf("http://toy.test/p%02d.html", i), mirrortest.HTML("page", fmt.Sprint("text ", i)))
	}
	w.Set("http://toy.test/", mirrortest.HTML("all", links.String()))
	m := mirrortest.New(t, w, `url = "http://toy.test/"`)
	m.Set("full_runs", "1")
	run := func() *mirror.Summary {
		sum, err := m.RunWith(context.Background(), func(o *mirror.Options) {
			o.Policies = append(known.All(), definition())
		})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	run()
	m.Job.Policy = "toy"
	w.Requests() // those so far are forgotten
	sum := run()
	if n := len(w.Requests()); sum.Policy != "toy" || sum.Verdict != mirror.Complete || sum.Skipped < 15 ||
		n < 15 || n > 30 {
		t.Errorf("policy %s, verdict %s: %d requests, %d skipped; want about 20 of each", sum.Policy, sum.Verdict,
			n, sum.Skipped)
	}
}
