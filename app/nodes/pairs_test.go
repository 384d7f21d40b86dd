// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/poll"
)

// The result of a test of two places is known on all nodes, and the last one counts. An unreadable result
// is replaced, and not used.
func TestClusterPairs(t *testing.T) {
	state := func() *store.State {
		st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	facts := localFacts{state().Shared}
	var nodes []*ClusterPairs
	for range 3 {
		nodes = append(nodes, &ClusterPairs{
			State: state(),
			Facts: facts,
			Log:   slog.New(slog.DiscardHandler),
		})
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pair := func(base2, level string, after time.Duration) shared.PairRecord {
		return shared.PairRecord{
			Base1:  "https://a.example/",
			Base2:  base2,
			Tested: at.Add(after),
			Level:  level,
		}
	}
	save := func(n int, p shared.PairRecord) {
		t.Helper()
		if err := nodes[n].State.Shared.SavePair(p); err != nil {
			t.Fatal(err)
		}
	}
	all := func(want ...shared.PairRecord) {
		t.Helper()
		for range 2 {
			for _, n := range nodes {
				if err := n.settle(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, n := range nodes {
			if got, err := n.State.Shared.Pairs(); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("node %d: %+v, %v\nwant %+v", i, got, err, want)
			}
		}
	}
	const b, c = "https://b.example/", "https://c.example/"
	save(0, pair(b, "1", 0))
	save(1, pair(c, "2", 0))
	all(pair(b, "1", 0), pair(c, "2", 0))
	save(2, pair(b, "mismatch", time.Hour))
	save(1, pair(b, "4", time.Minute))
	all(pair(b, "mismatch", time.Hour), pair(c, "2", 0))

	gone := pair(c, "2", 0)
	for _, key := range []string{keyOfPair(&gone), "other"} {
		err := facts.Change(kindPairs, key, func([]byte) ([]byte, error) { return []byte("{"), nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	all(pair(b, "mismatch", time.Hour), pair(c, "2", 0))
	if v, err := facts.All(kindPairs); err != nil || len(v) != 3 || len(v[keyOfPair(&gone)]) < 10 {
		t.Errorf("%q, %v", v, err)
	}

	// a test of a wrong clock does not count
	future := pair(c, "mismatch", 0)
	future.Tested = time.Now().AddDate(10, 0, 0).UTC().Truncate(time.Second)
	value, err := json.Marshal(future)
	if err == nil {
		err = facts.Change(kindPairs, keyOfPair(&future), func([]byte) ([]byte, error) { return value, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	all(pair(b, "mismatch", time.Hour), pair(c, "2", 0))
	save(1, future)
	for range 2 {
		for _, n := range nodes {
			if err := n.settle(); err != nil {
				t.Fatal(err)
			}
		}
	}
	all(pair(b, "mismatch", time.Hour), pair(c, "2", 0))

	// one that follows has what was tested before
	late := &ClusterPairs{State: state(), Facts: facts, Log: nodes[0].Log}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		late.Follow(ctx)
	}()
	poll.Until(t, "both pairs", func() bool {
		got, err := late.State.Shared.Pairs()
		if err != nil {
			t.Error(err)
		}
		return err != nil || len(got) == 2
	})
	cancel()
	<-done
}
