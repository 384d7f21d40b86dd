// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// answered304 is the record of a page that answered 304 when it was last requested.
func answered304(id int) *record.Resource {
	return &record.Resource{
		ID:           uint32(id),
		URL:          page(id),
		Outcome:      site.Unchanged,
		Status:       http.StatusNotModified,
		InSet:        true,
		Body:         record.PackBody,
		Size:         1000,
		ETag:         `"1"`,
		LastModified: "Fri, 01 May 2026 12:00:00 GMT",
	}
}

// In every run a few resources are requested without validators. When one of these changed behind its
// validators, none are sent in its directory in this run and the next four.
func TestUnreliableValidators(t *testing.T) {
	_, table := pages(100)
	v := NewValidators(7)
	for id := range 100 {
		v.Load(answered304(id))
	}
	large := answered304(100)
	large.Size = maxAudited + 1
	v.Load(large)
	if n := len(slices.Collect(v.candidates.All())); n != 100 || !v.Any() {
		t.Errorf("%d candidates", n)
	}
	skip := []uint32{60, 3}
	picked := v.PickAudits(table, skip, (*Planner)(nil).Key)
	if len(picked) != leastValidators || slices.Contains(picked, 3) || slices.Contains(picked, 60) {
		t.Errorf("picked %v", picked)
	}
	audited := answered304(int(picked[0]))
	if tag, date := v.For(audited); tag != "" || date != "" {
		t.Errorf("an audited resource is requested with %q, %q", tag, date)
	}
	other := answered304(int(picked[0])/50*50 + 49)
	if tag, date := v.For(other); tag == "" || date == "" {
		t.Errorf("a resource is requested with %q, %q", tag, date)
	}
	v.NoteStale(other.ID, other.URL) // no audit
	var notes urls.Notes
	if fact, err := v.Distrust(&notes); fact != nil || err != nil {
		t.Errorf("%s, %v", fact, err)
	}
	v.NoteStale(audited.ID, audited.URL)
	if tag, date := v.For(other); tag != "" || date != "" {
		t.Errorf("beside a resource that hid a change: %q, %q", tag, date)
	}
	fact, err := v.Distrust(&notes)
	if all, _ := notes.List(); err != nil || len(all) != 1 || !strings.Contains(all[0].What, "run 12") {
		t.Errorf("%v, notes %v", err, all)
	}
	again, err := v.Distrust(&notes)
	if all, _ := notes.List(); err != nil || all[0].Count != 1 || string(again) != string(fact) {
		t.Errorf("again: %s, %v, notes %v", again, err, all)
	}
	for run, want := range map[int]bool{8: true, 11: true, 12: false} {
		next := NewValidators(run)
		if err := next.Read(fact); err != nil {
			t.Fatal(err)
		}
		if _, ok := next.Until(other.URL); ok != want {
			t.Errorf("run %d without validators: %v, want %v", run, ok, want)
		}
	}
	if err := v.Read([]byte("{")); err == nil {
		t.Error("a fact that cannot be read must be an error")
	}
	if err := v.Read([]byte("null")); err != nil {
		t.Error(err)
	}
}

// A directory that is found again has no validators for twice as long, unless that was long ago.
func TestUnreliableAgain(t *testing.T) {
	var fact []byte
	var notes urls.Notes
	u := answered304(1).URL
	find := func(run int) (until int) {
		v := NewValidators(run)
		if err := v.Read(fact); err != nil {
			t.Fatal(err)
		}
		v.audited[1] = true
		v.NoteStale(1, u)
		v.NoteStale(1, u)
		for range 2 {
			until, _ = v.Until(u)
			var err error
			if fact, err = v.Distrust(&notes); err != nil {
				t.Fatal(err)
			}
		}
		next := NewValidators(run + 1)
		if err := next.Read(fact); err != nil {
			t.Fatal(err)
		}
		if got, ok := next.Until(u); got != until || !ok {
			t.Errorf("run %d: until %d, stored %d", run, until, got)
		}
		return until - run - 1
	}
	for _, step := range []struct{ run, runs int }{{10, 4}, {15, 8}, {30, 16}, {60, 32}, {1000, 4}} {
		if got := find(step.run); got != step.runs {
			t.Errorf("run %d: distrusted for %d runs, want %d", step.run, got, step.runs)
		}
	}
	fact = fmt.Appendf(nil, `{%q: 12}`, directory(u)) // of an earlier release
	if got := find(12); got != 8 {
		t.Errorf("distrusted for %d runs after an older fact", got)
	}
}

// What failed is requested without validators, unless it is large.
func TestValidatorsOfFailures(t *testing.T) {
	v := NewValidators(7)
	failed := answered304(1)
	failed.Outcome = site.Failed
	if tag, date := v.For(failed); tag != "" || date != "" {
		t.Errorf("a failure is requested with %q, %q", tag, date)
	}
	failed.Size = maxAudited + 1
	if tag, date := v.For(failed); tag == "" || date == "" {
		t.Errorf("a large one is requested with %q, %q", tag, date)
	}
}

// A planned run audits some of what it requests anyway.
func TestPlannedAudits(t *testing.T) {
	v := NewValidators(3)
	for id := range 100 {
		v.Load(answered304(id))
	}
	for id := range uint32(5000) {
		v.Plan(id, id)
	}
	if n := len(v.audited); n == 0 || n > mostValidators {
		t.Errorf("%d audits", n)
	}
	for id := range v.audited {
		if id >= 100 {
			t.Errorf("%d is audited although it never answered 304", id)
		}
	}
}

// A planned run that requests five pages audits one of them in the mean, so that a server which always
// answers 304 is found out on a quiet site, too.
func TestPlannedAuditsOfFew(t *testing.T) {
	const runs = 200
	audits, none := 0, 0
	for run := range runs {
		v := NewValidators(run)
		for id := range 100 {
			v.Load(answered304(id))
		}
		for i := range 5 {
			id := uint32(run+i*13) % 100
			v.Plan(id, id)
		}
		if audits += len(v.audited); len(v.audited) == 0 {
			none++
		}
	}
	if audits < runs || audits > 2*runs || none > runs/4 {
		t.Errorf("%d audits in %d runs, none in %d of them", audits, runs, none)
	}
}

func TestStaleValidators(t *testing.T) {
	for name, c := range map[string]struct {
		tag, date     string // of the new body
		stale         bool
		noTag, noDate bool
	}{
		"all others":     {`"2"`, "later", false, false, false},
		"same tag":       {`"1"`, "later", true, true, false},
		"same date only": {`"2"`, "then", false, false, false},
		"date, no tag":   {"", "then", true, false, true},
		"both":           {`"1"`, "then", true, true, true},
	} {
		now := record.Resource{ETag: c.tag, LastModified: c.date}
		old := record.Resource{ETag: `"1"`, LastModified: "then"}
		got := StaleValidators(&now, &old)
		if got != c.stale || now.NoETag != c.noTag || now.NoDate != c.noDate {
			t.Errorf("%s: %v, %v, %v", name, got, now.NoETag, now.NoDate)
		}
		if (now.Reason != "") != c.stale {
			t.Errorf("%s: reason %q", name, now.Reason)
		}
	}
}

func TestForgive(t *testing.T) {
	for _, c := range []struct {
		observed int
		recent   uint16
		want     bool // the validators are sent again
	}{{16, 0, true}, {15, 0, false}, {20, 4, false}} {
		rec := record.Resource{NoETag: true, NoDate: true}
		rec.Observed, rec.Recent = c.observed, c.recent
		if Forgive(&rec); rec.NoETag == c.want || rec.NoDate == c.want {
			t.Errorf("%+v: %v, %v", c, rec.NoETag, rec.NoDate)
		}
	}
}

// Everything has its turn, and two runs that follow one another take different ones.
func TestRotate(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, 16, 100, 1000} {
		ids := make([]uint32, n)
		for i := range ids {
			ids[i] = uint32(i) * 3
		}
		for _, k := range []int{0, 1, 2, 10} {
			turns := map[uint32]int{}
			var last []uint32
			for run := 1; run <= n*3; run++ {
				got := rotate(ids, run, k)
				if len(got) != min(k, n) {
					t.Fatalf("%d of %d: %v", k, n, got)
				}
				for _, id := range got {
					if turns[id]++; 2*k <= n && slices.Contains(last, id) {
						t.Errorf("%d of %d: %d in two runs", k, n, id)
					}
				}
				last = got
			}
			if k > 0 && len(turns) != n {
				t.Errorf("%d of %d: only %d had their turn", k, n, len(turns))
			}
		}
	}
}
