// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"mirrord/fetch/robots"
	"mirrord/store/shared"
)

// SharedFacts is all that users of a state ask for besides its sites. None of them declares it whole: package
// mirror wants the run log, the pairs and the hosts, the daemon the records of jobs and the last runs.
type SharedFacts interface {
	runFacts
	pairFacts
	hostFacts
	jobFacts
}

type runFacts interface {
	AddRun(shared.RunRecord) error
	Runs(site string, n int) ([]shared.RunRecord, error)
	LastRuns() (map[string]shared.RunRecord, error)
}

type pairFacts interface {
	SavePair(shared.PairRecord) error
	LoadPair(base1, base2 string) (shared.PairRecord, bool, error)
	Pairs() ([]shared.PairRecord, error)
}

type hostFacts interface {
	LoadHost(origin string) (robots.FileCopy, bool, error)
	SaveHost(origin string, f robots.FileCopy) error
}

type jobFacts interface {
	JobRecords() (map[string][]byte, error)
	SaveJobRecords(map[string][]byte) error
}

// TestFacts holds an implementation of SharedFacts to the contracts of its users. open makes one with nothing
// in it, and a function that returns the same facts as another process sees them.
func TestFacts(t *testing.T, open func(t *testing.T) (f SharedFacts, again func(t *testing.T) SharedFacts)) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, f SharedFacts, again func(t *testing.T) SharedFacts)
	}{
		{"runs", factsRuns},
		{"pairs", factsPairs},
		{"hosts", factsHosts},
		{"jobs", factsJobs},
		{"many at a time", factsMany},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, again := open(t)
			tc.test(t, f, again)
		})
	}
}

func run(site string, n int64) shared.RunRecord {
	return shared.RunRecord{
		Site:    site,
		Started: time.Unix(n, 0).UTC(),
		Ended:   time.Unix(n+1, 0).UTC(),
		Verdict: "complete",
		Reasons: []string{"a", "b"},
		Version: int(n),
		Summary: json.RawMessage(`{"run":1}`),
	}
}

func factsRuns(t *testing.T, f SharedFacts, again func(t *testing.T) SharedFacts) {
	if got, err := f.Runs("a", 5); len(got) != 0 || err != nil {
		t.Errorf("before the first run: %v, %v", got, err)
	}
	if got, err := f.LastRuns(); len(got) != 0 || err != nil {
		t.Errorf("last runs before the first run: %v, %v", got, err)
	}
	for i, site := range []string{"a", "b", "a", "a"} {
		if err := f.AddRun(run(site, int64(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.AddRun(shared.RunRecord{Site: "a", Summary: json.RawMessage("{")}); err == nil {
		t.Error("a summary that is no JSON is kept")
	}
	for _, f := range []SharedFacts{f, again(t)} {
		for n, want := range [][]shared.RunRecord{nil, {run("a", 3)}, {run("a", 3), run("a", 2)}} {
			if got, err := f.Runs("a", n); !equal(got, want) || err != nil {
				t.Errorf("%d runs: %+v, %v", n, got, err)
			}
		}
		if got, err := f.Runs("a", 9); len(got) != 3 || err != nil {
			t.Errorf("all runs: %+v, %v", got, err)
		}
		want := map[string]shared.RunRecord{"a": run("a", 3), "b": run("b", 1)}
		if got, err := f.LastRuns(); !reflect.DeepEqual(got, want) || err != nil {
			t.Errorf("last runs: %+v, %v", got, err)
		}
	}
}

// equal takes no elements for none.
func equal[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b)) }

func factsPairs(t *testing.T, f SharedFacts, again func(t *testing.T) SharedFacts) {
	if got, err := f.Pairs(); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	pair := func(a, b, level string) shared.PairRecord {
		return shared.PairRecord{
			Base1:  a,
			Base2:  b,
			Level:  level,
			Tested: time.Unix(5, 0).UTC(),
			Good:   0.5,
			Tests:  3,
		}
	}
	for _, p := range []shared.PairRecord{
		pair("http://b/", "http://c/", "1"), pair("http://a/", "http://c/", "2"),
		pair("http://a/", "http://b/", "3"),
		pair("http://a/", "http://c/", "4"), // instead of the earlier one
	} {
		if err := f.SavePair(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []SharedFacts{f, again(t)} {
		want := []shared.PairRecord{
			pair("http://a/", "http://b/", "3"), pair("http://a/", "http://c/", "4"),
			pair("http://b/", "http://c/", "1"),
		}
		if got, err := f.Pairs(); !equal(got, want) || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		if got, ok, err := f.LoadPair("http://a/", "http://c/"); !ok || err != nil ||
			!reflect.DeepEqual(got, want[1]) {
			t.Errorf("%+v, %t, %v", got, ok, err)
		}
		if got, ok, err := f.LoadPair("http://c/", "http://a/"); ok || err != nil ||
			!reflect.DeepEqual(got, shared.PairRecord{}) {
			t.Errorf("in the other order: %+v, %t, %v", got, ok, err)
		}
	}
}

func factsHosts(t *testing.T, f SharedFacts, again func(t *testing.T) SharedFacts) {
	const origin = "http://a"
	if got, ok, err := f.LoadHost(origin); ok || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	body := []byte("User-agent: *\n")
	for i, status := range []int{404, 200} {
		h := robots.FileCopy{
			Fetched: time.Unix(int64(i), 0).UTC(),
			Status:  status,
			Body:    body,
			ETag:    `"x"`,
		}
		if err := f.SaveHost(origin, h); err != nil {
			t.Fatal(err)
		}
	}
	clear(body) // it is the caller's
	for _, f := range []SharedFacts{f, again(t)} {
		got, ok, err := f.LoadHost(origin)
		want := robots.FileCopy{
			Fetched: time.Unix(1, 0).UTC(),
			Status:  200,
			Body:    []byte("User-agent: *\n"),
			ETag:    `"x"`,
		}
		if !ok || err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %t, %v", got, ok, err)
		}
		if _, ok, err := f.LoadHost("https://a"); ok || err != nil {
			t.Errorf("another origin: %t, %v", ok, err)
		}
	}
}

func factsJobs(t *testing.T, f SharedFacts, again func(t *testing.T) SharedFacts) {
	for _, step := range []struct{ save, want map[string][]byte }{
		{nil, map[string][]byte{}},
		{
			map[string][]byte{
				"a": []byte("1"),
				"b": []byte("2"),
			}, map[string][]byte{"a": []byte("1"), "b": []byte("2")},
		},
		{map[string][]byte{"a": nil, "b": []byte("3"), "c": nil}, map[string][]byte{"b": []byte("3")}},
	} {
		if step.save != nil {
			if err := f.SaveJobRecords(step.save); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range []SharedFacts{f, again(t)} {
			if got, err := f.JobRecords(); err != nil || !maps.EqualFunc(got, step.want, slices.Equal) {
				t.Errorf("%q, %v; want %q", got, err, step.want)
			}
		}
	}
}

// factsMany has several at work at the same time: nothing is lost.
func factsMany(t *testing.T, f SharedFacts, again func(t *testing.T) SharedFacts) {
	var wg sync.WaitGroup
	for i := range 4 {
		f := f
		if i%2 == 0 {
			f = again(t)
		}
		wg.Go(func() {
			for n := range 5 {
				name := fmt.Sprint(i)
				if err := f.AddRun(run("all", int64(n))); err != nil {
					t.Error(err)
				}
				if err := f.SaveJobRecords(map[string][]byte{name: []byte(name)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if runs, err := f.Runs("all", 100); len(runs) != 20 || err != nil {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if jobs, err := f.JobRecords(); len(jobs) != 4 || err != nil {
		t.Errorf("%q, %v", jobs, err)
	}
}
