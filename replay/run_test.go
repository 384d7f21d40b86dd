// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/evolution/policy"
)

func TestRunFull(t *testing.T) {
	h := smallHistory(t)
	r, err := Run(h, Options{Policy: policy.Full, Train: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Steps) != 6 || r.Total.Req != 1 || *r.Total.CR != 1 || *r.Total.CRMicro != 1 ||
		r.Total.Stale != 0 || r.Total.BR != 0 {
		t.Errorf("%+v", r.Total)
	}
	if s := r.Steps[0]; s.CR != nil || s.Version != 2 || s.Requests != 15 {
		t.Errorf("the quiet week: %+v", s)
	}
}

// Without a price the adaptive policy asks for everything, and what only a listing can show is found by the
// listing.
func TestRunEverything(t *testing.T) {
	h := smallHistory(t)
	for _, batch := range []int{1, 3, 64} {
		r, err := Run(h, Options{Price: -1, Train: 2, Batch: batch})
		if err != nil {
			t.Fatal(err)
		}
		if r.Policy != policy.Adaptive || *r.Total.CR != 1 || r.Total.Stale != 0 || r.Total.BR != 0 ||
			r.Total.Req < 1 || r.Total.Req > 1.1 {
			t.Errorf("in batches of %d: %+v", batch, r.Total)
		}
	}
}

func TestRunBaselines(t *testing.T) {
	h := smallHistory(t)
	// What came and went unseen is as the site has it.
	r, err := Run(h, Options{Policy: Nothing, Train: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.Total.Requests != 0 || r.Total.Changes != 21 || r.Total.Found != 1 || r.Total.BR != 1 {
		t.Errorf("nothing: %+v", r.Total)
	}
	// Nothing directly in docs and docs/1.0 changed in the first four versions: deleted pages there stay,
	// new ones are not found.
	if r, err = Run(h, Options{Policy: Never, Train: 4}); err != nil {
		t.Fatal(err)
	}
	if last := r.Steps[len(r.Steps)-1]; r.Total.Found != r.Total.Changes-6 || last.Stale != 5.0/13 {
		t.Errorf("never: %+v, last %+v", r.Total, last)
	}
}

// The limit of a job is for what the mirror already has: new pages are requested on top, and takes nothing
// from what quiet runs leave.
func TestLimitWithoutWhatIsNew(t *testing.T) {
	const limit, fresh = 25, 30
	at := time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC)
	var b Builder
	for w := range 29 {
		var rs []Record
		if w%4 == 0 { // all change, and nothing is new
			for p := range 40 {
				rs = append(rs, Record{Path: fmt.Sprintf("a/%02d.html", p), Size: 100, Blob: fmt.Sprint(w)})
			}
			rs = append(rs, Record{Path: "index.html", Size: 100, Blob: fmt.Sprint(w)})
		} else {
			for p := range fresh {
				rs = append(rs, Record{Path: fmt.Sprintf("new/%02d-%02d.html", w, p), Size: 100, Blob: "new"})
			}
		}
		if err := b.Add(at.AddDate(0, 0, 7*w), "", rs); err != nil {
			t.Fatal(err)
		}
	}
	b.Linked(nil) // new pages are found by other means
	b.First("index.html")
	known, most, n := 0, 0, 0
	o := Options{Train: 4, MaxRequests: limit, Price: 0.05}
	o.After = func(w *World) {
		n++
		made := w.Requests() - w.Fresh()
		known, most = known+made, max(most, made)
		if known > n*(limit+1) { // the entry page comes on top
			t.Errorf("version %d: %d requests for what was known in %d runs", w.Now(), known, n)
		}
		if got := w.Requests() - made; got != fresh*boolInt(w.Now()%4 != 0) {
			t.Errorf("version %d: %d requests for new pages", w.Now(), got)
		}
	}
	if _, err := Run(b.History(), o); err != nil {
		t.Fatal(err)
	}
	if most <= limit+1 {
		t.Errorf("at most %d requests in a run for what was known: what others left was not used", most)
	}
}

func TestRunRefuses(t *testing.T) {
	h := smallHistory(t)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "nothing is left to replay"},
		{Options{Train: 8}, "8 versions, and the first 8"},
		{Options{Train: -1}, "full syncs"},
		{Options{Train: 2, Budget: 1.5}, "budget"},
		{Options{Train: 2, Price: 7}, "price"},
		{Options{Train: 2, MaxSkip: -1}, "max_skip"},
		{Options{Train: 2, Batch: -1}, "batches"},
		{Options{Train: 2, Policy: "best"}, "best"},
	} {
		if _, err := Run(h, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.o, err, c.want)
		}
	}
}

func TestRunDeterministic(t *testing.T) {
	for _, name := range []policy.Name{policy.Full, policy.Adaptive, policy.Near, Never} {
		var first *Result
		for range 3 {
			r, err := Run(smallHistory(t), Options{
				Policy: name,
				Train:  3,
				Budget: 0.5,
				Batch:  2,
			})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = r
			} else if !reflect.DeepEqual(r, first) {
				t.Errorf("%s: %+v and %+v", name, r, first)
			}
		}
	}
}

// A site that is empty at first, and again at the end.
func TestRunEmpty(t *testing.T) {
	var b Builder
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for i, records := range [][]Record{nil, nil, {{"a/b", "x", 1}}, {{"a/b", "", 0}}, nil} {
		if err := b.Add(at.AddDate(0, 0, 7*i), "", records); err != nil {
			t.Fatal(err)
		}
	}
	h := b.History()
	for _, name := range []policy.Name{policy.Full, policy.Adaptive, policy.Near, Nothing} {
		r, err := Run(h, Options{Policy: name, Train: 1, Price: -1})
		if err != nil {
			t.Fatal(err)
		}
		if name != Nothing && (*r.Total.CR != 1 || r.Total.Stale != 0) {
			t.Errorf("%s: %+v", name, r.Total)
		}
		var out bytes.Buffer
		if err := json.NewEncoder(&out).Encode(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Run(new(Builder).History(), Options{}); err == nil {
		t.Error("a history without versions was replayed")
	}
}

func sortRecords(r []Record) {
	slices.SortFunc(r, func(a, b Record) int { return strings.Compare(a.Path, b.Path) })
}
