// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math"
	"slices"
	"testing"

	"mirrord/evolution/policy"
	"mirrord/job"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// deadSite is a site of 100 pages, of which those from 50 on are dead links since run 2. They were looked at
// in each run up to the last.
func deadSite(t *testing.T, last int, later ...record.Observation) *SiteModel {
	t.Helper()
	var runs []record.Observation
	for n := 2; n <= last; n++ {
		o := record.Observation{
			Run:   n,
			Time:  1_700_000_000 + int64(n)*86_400,
			Asked: record.IDs{{First: 0, Last: 99}},
		}
		if n == 2 {
			o.Left = record.IDs{{First: 50, Last: 99}}
		}
		runs = append(runs, o)
	}
	known, table := pages(100, append(runs, later...)...)
	for id := uint32(50); id < 100; id++ {
		gone := record.Resource{ID: id, URL: page(int(id)), Outcome: site.Gone}
		table.Settled().Load(&gone, urls.Run{Number: 1000})
	}
	m, err := known.Model(ModelOptions{Run: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func restingDead(m *SiteModel, run, most int) (n int) {
	p := planDead(m, run, job.Default(home+"/").Adaptive.Price, most)
	for id := uint32(50); id < 100; id++ {
		if p.urgency(id) < 1 {
			n++
		}
	}
	return n
}

// A dead link is requested when its age has doubled, then by what the site has taught; one of a directory
// after max_skip runs; and all of a directory after one of them was alive again.
func TestDeadLinks(t *testing.T) {
	young := deadSite(t, 4) // dead for two runs
	if n := restingDead(young, 5, 14); n != 50 {
		t.Errorf("%d of 50 rest a run after the last look, want all", n)
	}
	if n := restingDead(young, 6, 14); n != 0 {
		t.Errorf("%d of 50 rest when their age has doubled, want none", n)
	}
	old := deadSite(t, 12)
	if n := restingDead(old, 16, 14); n != 50 {
		t.Errorf("%d of 50 rest 4 runs after the last look, want all", n)
	}
	dirs := map[policy.Dir]bool{}
	for id := uint32(50); id < 100; id++ {
		dirs[old.DirOf(policy.ID(id))] = true
	}
	if n := restingDead(old, 12+14, 14); n != 50-len(dirs) {
		t.Errorf("%d of 50 in %d directories rest after max_skip, want all but one of each", n, len(dirs))
	}
	if n := restingDead(old, 12+14, 0); n != 50 {
		t.Errorf("%d of 50 rest without max_skip, want all", n)
	}
	back := deadSite(t, 12, record.Observation{
		Run:     13,
		Time:    1_700_000_000 + 13*86_400,
		Asked:   record.IDs{{First: 50, Last: 50}},
		Entered: record.IDs{{First: 50, Last: 50}},
	})
	p := planDead(back, 14, 0.001, 0)
	for id := uint32(51); id < 100; id++ {
		if same := back.DirOf(policy.ID(id)) == back.DirOf(50); (p.urgency(id) < 1) == same {
			t.Errorf("dead link %d rests: %v; in the directory of one that is alive again: %v", id, !same, same)
		}
	}
	if back.dead.rate() <= old.dead.rate() {
		t.Errorf("rate %v after one came back, %v before", back.dead.rate(), old.dead.rate())
	}
}

// Dead links are at most a twentieth of what a run requests, the most urgent ones first. In runs that request
// less than twenty URLs some request one.
func TestDeadQueue(t *testing.T) {
	byKey := func(a, b policy.ID) int { return int(a) - int(b) }
	q := newDeadQueue()
	for id := range uint32(100) {
		q.add(id, float64(id%10+1))
	}
	if got := q.take(1, 100, byKey); !slices.Equal(got, []uint32{9, 19, 29, 39, 49}) {
		t.Errorf("%v", got)
	}
	if got := q.take(1, 105, byKey); len(got) != 0 {
		t.Errorf("%v although none was requested since", got)
	}
	if got := q.take(1, 124, byKey); !slices.Equal(got, []uint32{59}) {
		t.Errorf("%v", got)
	}
	for _, others := range []int{1, 5, 10, 19} {
		n := 0
		for run := range 1000 {
			n += deadAllowed(run, others)
		}
		if want := 1000 * float64(others) / 19; math.Abs(float64(n)-want) > 20 {
			t.Errorf("%d dead links in 1000 runs of %d requests, want %.0f", n, others, want)
		}
	}
}
