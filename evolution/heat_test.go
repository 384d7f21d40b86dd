// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"fmt"
	"maps"
	"testing"
)

func TestHeatMap(t *testing.T) {
	h := new(History)
	step := func(at int64, f func(r *Recorder)) {
		t.Helper()
		r := h.Record(at)
		f(r)
		if err := r.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	step(10, func(r *Recorder) {
		r.Insert(r.Dir("cold"), 10)
		r.Insert(r.Dir("hot/deep"), 9)
	})
	step(20, func(r *Recorder) { // half of what was there changes, and one directory is not looked at
		r.Update(r.Dir("hot/deep"), 5)
		r.Miss(r.Dir("cold"), 10)
	})
	step(30, func(r *Recorder) { r.Miss(r.Dir("cold"), 3) })
	step(40, func(r *Recorder) { r.Insert(r.Dir("new"), 2) })
	step(50, func(r *Recorder) { r.Delete(r.Dir("hot/deep"), 9) })
	hot, _ := h.Dirs().Lookup("hot")
	for _, tc := range []struct {
		o    HeatOptions
		want string
	}{
		{HeatOptions{}, "[20 30 40 50] :[6 3 6 7]3/4 hot:[7 0 0 8]2/4 new:[1 1 8 0]1/2 cold:[2 3 0 0]0/3 "},
		{HeatOptions{Most: 2}, "[40 50] :[6 7]2/2 hot:[0 8]1/2 new:[8 0]1/2 cold:[0 0]0/2 "},
		{HeatOptions{Top: hot}, "[20 30 40 50] hot:[7 0 0 8]2/4 hot/deep:[7 0 0 8]2/4 "},
		{HeatOptions{All: true, Most: 1}, "[50] :[7]1/1 hot:[8]1/1 hot/deep:[8]1/1 cold:[0]0/1 new:[0]0/1 "},
	} {
		m := h.HeatMap(tc.o)
		got := fmt.Sprint(m.Times, " ")
		for _, r := range m.Rows {
			got += fmt.Sprintf("%s:%v%d/%d ", r.Path, r.Shades, r.Changed, r.Seen)
		}
		if got != tc.want {
			t.Errorf("%+v:\n got %s\nwant %s", tc.o, got, tc.want)
		}
	}
	step(60, func(r *Recorder) {
		r.Update(r.Dir("new"), 1)
		r.Miss(r.Dir("cold"), 10)
	})
	step(70, func(r *Recorder) {
		r.Update(r.Dir("cold"), 1)
		r.Update(r.Dir("new"), 1)
	})
	late := map[string]int{}
	for _, r := range h.HeatMap(HeatOptions{All: true}).Rows {
		late[r.Path] = r.Late
	}
	// what changed at 40 and 70 was, in part, not looked at in the step before
	if want := map[string]int{"": 2, "hot": 0, "hot/deep": 0, "new": 0, "cold": 1}; !maps.Equal(late, want) {
		t.Errorf("late: %v, want %v", late, want)
	}
	// audits count in the directories above them, too, and those of steps that are not shown do not
	cold, _ := h.Dirs().Lookup("cold")
	audits := [][]Dir{nil, {cold}, nil, nil, nil, nil, {cold, cold, Root}}
	got := ""
	for _, r := range h.HeatMap(HeatOptions{Audits: audits, Most: 2}).Rows {
		got += fmt.Sprintf("%s:%v%d ", r.Path, r.Audits, r.Audited())
	}
	if want := ":[0 3]1 new:[0 0]0 cold:[0 2]1 "; got != want {
		t.Errorf("audits: %s, want %s", got, want)
	}
	if m := new(History).HeatMap(HeatOptions{}); len(m.Times) != 0 || len(m.Rows) != 1 {
		t.Errorf("of nothing: %+v", m)
	}
}
