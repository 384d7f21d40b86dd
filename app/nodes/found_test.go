// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"testing"
	"time"

	"mirrord/app/daemon"
	"mirrord/app/replicas"
	"mirrord/app/shares"
	"mirrord/store"
	"mirrord/testing/apptest"
)

// foundNodes are the nodes of a cluster, at a time that a test sets.
type foundNodes struct {
	t     *testing.T
	at    time.Time
	facts localFacts
	fakes *fakeNodes
	nodes []*ClusterFound
}

func newFoundNodes(t *testing.T) *foundNodes {
	f := &foundNodes{t: t, at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	state := func() *store.State {
		st, err := store.OpenState(t.TempDir(), store.Options{
			Volatile: true,
			Now:      func() time.Time { return f.at },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	f.facts = localFacts{state().Shared}
	f.fakes = &fakeNodes{sites: map[string]string{}, nodes: map[string]http.Handler{}}
	for i := range 3 {
		node, st := "north.node-"+strconv.Itoa(i), state()
		f.fakes.sites[node], f.fakes.nodes[node] = node, sayFound(st, node)
		f.nodes = append(f.nodes, &ClusterFound{
			Nodes: oneNode{f.fakes, node},
			State: st,
			Facts: f.facts,
			Log:   slog.New(slog.DiscardHandler),
		})
	}
	return f
}

// find keeps on a node what it found, as mirrord replicas does.
func (f *foundNodes) find(node, pages int, families [][]string, others ...replicas.ReplicaNode) {
	f.t.Helper()
	r := &replicas.Replicas{Pages: pages, Elsewhere: others}
	for _, dirs := range families {
		r.Clusters = append(r.Clusters, replicas.ReplicaCollection{Copies: []replicas.ReplicaCopy{{At: dirs[0]}}})
	}
	if err := replicas.SaveReplicas(f.nodes[node].State.Dir, f.at, r, nil); err != nil {
		f.t.Fatal(err)
	}
}

// settle has all nodes exchange what they found.
func (f *foundNodes) settle() error {
	var errs []error
	for range 2 {
		for _, n := range f.nodes {
			errs = append(errs, n.settle(f.t.Context(), true))
		}
	}
	return errors.Join(errs...)
}

// all checks that each node shows what one of them found.
func (f *foundNodes) all(pages, node int) {
	f.t.Helper()
	if err := f.settle(); err != nil {
		f.t.Fatal(err)
	}
	for i, n := range f.nodes {
		got, err := replicas.LoadReplicas(n.State.Dir)
		if err != nil || got.Pages != pages || (got.Node != f.nodes[node].Nodes.Me()) != (i == node) {
			f.t.Errorf("node %d: %+v, %v; want %d of node %d", i, got, err, pages, node)
		}
	}
}

// What was found last, on whichever node, all nodes show, with the node. What a machine found by itself
// before it was part of the cluster stays there.
func TestClusterFound(t *testing.T) {
	f := newFoundNodes(t)
	other := replicas.ReplicaNode{Node: "another", Jobs: 1}
	f.find(1, 5, nil)
	if err := f.settle(); err != nil {
		t.Fatal(err)
	}
	for _, node := range []int{0, 2} {
		if got, err := replicas.LoadReplicas(f.nodes[node].State.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	f.at = f.at.Add(time.Minute)
	f.find(0, 10, nil, other)
	f.all(10, 0)
	f.at = f.at.Add(time.Minute)
	f.find(1, 20, nil, other)
	f.find(2, 15, nil, other)
	f.at = f.at.Add(-time.Minute / 2) // it was found earlier
	f.find(2, 15, nil, other)
	f.all(20, 1)

	// What a node found that is gone comes from one that has it, or is said to be missing. The next findings
	// replace it.
	gone := func(node int) (back func()) {
		name := f.nodes[node].Nodes.Me()
		h := f.fakes.nodes[name]
		f.fakes.nodes[name] = nil
		return func() { f.fakes.nodes[name] = h }
	}
	f.at = f.at.Add(time.Hour)
	f.find(2, 30, nil, other)
	for _, node := range []int{2, 1} {
		if err := f.nodes[node].settle(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	back := gone(2)
	f.all(30, 2)
	back()
	f.at = f.at.Add(time.Minute)
	f.find(0, 40, nil, other)
	if err := f.nodes[0].settle(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	back = gone(0)
	const want = "what node north.node-0 found: no other node has it"
	if err := f.nodes[1].settle(t.Context(), true); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if got, err := replicas.LoadReplicas(f.nodes[1].State.Dir); err != nil || got.Pages != 30 {
		t.Errorf("%+v, %v", got, err)
	}
	back()
	f.at = f.at.Add(time.Minute)
	f.find(1, 50, nil, other)
	if err := f.nodes[1].settle(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	f.all(50, 1)
	err := f.facts.Change(kindFound, foundHead, func([]byte) ([]byte, error) { return []byte("no JSON"), nil })
	if err != nil {
		t.Fatal(err)
	}
	f.at = f.at.Add(time.Minute)
	f.find(0, 60, nil, other)
	f.all(60, 0)
}

// One node makes the daily comparison, again and again; when it is gone another one does.
func TestClusterFoundTurn(t *testing.T) {
	f := newFoundNodes(t)
	turns := func(want ...bool) {
		t.Helper()
		for i, n := range f.nodes {
			if mine, err := n.turn(); err != nil || mine != want[i] {
				t.Errorf("node %d: %v, %v", i, mine, err)
			}
		}
	}
	turns(true, false, false)
	f.at = f.at.Add(foundTurnFor - time.Minute)
	turns(true, false, false)
	f.at = f.at.Add(foundTurnFor - time.Minute)
	turns(true, false, false)
	f.nodes[0] = f.nodes[2] // it is gone
	f.at = f.at.Add(foundTurnFor)
	turns(true, false, true)

	a, run, version := apptest.MirroredToFind(t, "all")
	run()
	if _, err := replicas.FindReplicas(t.Context(), a, nil, replicas.ReplicaOptions{}); err != nil {
		t.Fatal(err)
	}
	version.Store(2)
	run()
	st, err := a.MustState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k := daemon.NewKeptIndex(a, st)
	for turn, want := range map[error]bool{nil: true, errors.New("no keeper"): false} {
		k.Turn = func() (bool, error) { return turn == nil, turn }
		if got := k.ReplicasAreOld(t.Context(), time.Now().Add(daemon.ReplicasEvery+time.Hour)); got != want {
			t.Errorf("%v: old %v", turn, got)
		}
	}
}

// failingFacts are those of keepers that answer some calls, and then none.
type failingFacts struct {
	shares.Facts
	left int
}

func (f *failingFacts) fails() error {
	if f.left--; f.left < 0 {
		return errors.New("no keeper answers")
	}
	return nil
}

func (f *failingFacts) Get(ctx context.Context, kind, key string) ([]byte, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.Facts.Get(ctx, kind, key)
}

func (f *failingFacts) Change(kind, key string, change func([]byte) ([]byte, error)) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.Facts.Change(kind, key, change)
}

// What was found while no keeper answered gets to the others afterwards.
func TestClusterFoundKeepersAway(t *testing.T) {
	f := newFoundNodes(t)
	facts := &failingFacts{Facts: f.facts}
	f.nodes[0].Facts = facts
	f.find(0, 10, nil, replicas.ReplicaNode{Node: "another", Jobs: 1})
	for left := range 2 { // the head is not read, nor written
		facts.left = left
		if err := f.nodes[0].settle(t.Context(), false); err == nil {
			t.Errorf("%d calls answered: no error", left)
		}
	}
	facts.left = 1000
	if err := f.nodes[0].settle(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	f.all(10, 0)
}

// What a node with a wrong clock found, or claimed, in the future does not count; nor does it there when the
// clock is right again.
func TestClusterFoundClock(t *testing.T) {
	f := newFoundNodes(t)
	other := replicas.ReplicaNode{Node: "another", Jobs: 1}
	now := f.at
	f.at = now.AddDate(10, 0, 0)
	f.find(1, 99, nil, other)
	if err := f.nodes[1].settle(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if mine, err := f.nodes[1].turn(); !mine || err != nil {
		t.Errorf("%v, %v", mine, err)
	}
	f.at = now
	f.find(0, 10, nil, other)
	f.all(10, 0)
	if mine, err := f.nodes[0].turn(); !mine || err != nil {
		t.Errorf("the turn of a wrong clock: %v, %v", mine, err)
	}
}
