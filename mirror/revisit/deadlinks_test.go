// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math"
	"slices"
	"testing"

	"mirrord/evolution/policy"
	"mirrord/site"
	"mirrord/store/record"
)

// A dead link has its turn after 1, 2, 4 and then every 8 runs, also one that leads away or that robots.txt
// forbids, of which no looks are counted: after 8.
func TestDeadLinksHaveTurns(t *testing.T) {
	for _, c := range []struct {
		rec   record.Resource
		since int // runs after which it is due; 0: it is no dead link
	}{
		{record.Resource{Outcome: site.Gone, Gone: 1, Status: 404}, 1},
		{record.Resource{Outcome: site.Gone, Gone: 2, Status: 404}, 2},
		{record.Resource{Outcome: site.Gone, Gone: 3, Status: 410}, 4},
		{record.Resource{Outcome: site.Gone, Gone: 4, Status: 410}, 8},
		{record.Resource{Outcome: site.Gone, Gone: 1000, Status: 410}, 8},
		{record.Resource{Outcome: site.Failed, Failures: 9}, 8},
		{record.Resource{Outcome: site.Redirected, Status: 301}, 8},
		{record.Resource{Outcome: site.Disallowed}, 8},
		{record.Resource{Outcome: site.Redirected, Status: 301, Target: 7}, 0},
		{record.Resource{Outcome: site.Failed, Failures: 9, InSet: true}, 0},
		{record.Resource{Outcome: site.OutOfScope}, 0},
	} {
		for since := range 10 {
			var d DeadLinks
			c.rec.Run = 100 - since
			d.Load(&c.rec, 100)
			is, due := d.named(c.rec.ID), len(d.due) == 1
			if is != (c.since > 0 && since > 0) || due != (is && since >= c.since) {
				t.Errorf("%+v after %d runs: dead %v, due %v", c.rec, since, is, due)
			}
		}
	}
}

// Dead links are at most a twentieth of what a planned run requests, those that are overdue for longest
// first. In runs that request less than twenty URLs some request one.
func TestDeadLinksArePartOfARun(t *testing.T) {
	byKey := func(a, b policy.ID) int { return int(a) - int(b) }
	var d DeadLinks
	for id := range uint32(100) {
		rec := record.Resource{ID: id, Outcome: site.Gone, Gone: 1}
		rec.Run = 99 - int(id%10)
		d.Load(&rec, 100)
		d.named(id)
	}
	if got := d.take(1, 100, byKey); !slices.Equal(got, []uint32{9, 19, 29, 39, 49}) {
		t.Errorf("%v", got)
	}
	if got := d.take(1, 105, byKey); len(got) != 0 {
		t.Errorf("%v although none was requested since", got)
	}
	if got := d.take(1, 124, byKey); !slices.Equal(got, []uint32{59}) {
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

// When a dead link is alive again, the others of its directory that were not looked at since are not left to
// their turns.
func TestDeadLinksOfADirectoryComeBack(t *testing.T) {
	const day = 86_400
	known, _ := pages(100,
		record.Observation{Run: 2, Time: 1_700_000_000, Asked: record.IDs{{First: 0, Last: 99}}},
		record.Observation{
			Run:     3,
			Time:    1_700_000_000 + day,
			Asked:   record.IDs{{First: 50, Last: 50}},
			Entered: record.IDs{{First: 50, Last: 50}},
		},
		record.Observation{Run: 4, Time: 1_700_000_000 + 2*day, Asked: record.IDs{{First: 60, Last: 60}}})
	m, err := known.Model(ModelOptions{Run: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	for id := uint32(51); id < 100; id++ {
		same := m.DirOf(policy.ID(id)) == m.DirOf(50) && id != 60
		if m.isBack(id) != same {
			t.Errorf("%d: %v; in the directory of one that is alive again: %v", id, !same, same)
		}
	}
}
