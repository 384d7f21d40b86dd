// SPDX-License-Identifier: Apache-2.0

package orderstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"mirrord/app/orders"
	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/poll"
)

// FakeCluster is one without keepers: what its nodes share is in one state.
type FakeCluster struct {
	facts    *sharedFacts
	mu       sync.Mutex
	sessions map[string]string // of the nodes, as they believe
	members  map[string]string // as the others do
	drained  map[string]bool
	begun    int
	doubts   int
}

// NewCluster makes a cluster without nodes.
func NewCluster(t testing.TB) *FakeCluster {
	t.Helper()
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return &FakeCluster{
		facts:    &sharedFacts{KeyValues: st.Shared, changed: make(chan struct{})},
		sessions: map[string]string{},
		members:  map[string]string{},
		drained:  map[string]bool{},
	}
}

// Join is From for a node. Waits of nodes for one another are short.
func (n *FakeCluster) Join(t testing.TB, node, server string, with ...func(*orders.Options)) *orders.Orders {
	t.Helper()
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return From(t, server, append([]func(*orders.Options){n.With(t, node, st)}, with...)...)
}

// With makes orders those of a node that has a state.
func (n *FakeCluster) With(t testing.TB, node string, st *store.State) func(*orders.Options) {
	t.Helper()
	n.Back(node)
	facts, err := orders.InCluster(n.facts, st, node, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return func(o *orders.Options) {
		a := *o.App
		a.State = func() (string, error) { return st.Dir, nil }
		o.App, o.Facts, o.Cluster, o.Patience = &a, facts, ofNode{n, node}, 20*time.Millisecond
	}
}

// Back begins a session of a node.
func (n *FakeCluster) Back(node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.begun++
	n.sessions[node] = fmt.Sprintf("s%d", n.begun)
	n.members[node] = n.sessions[node]
}

// Over ends the session of a node, as others see it; the node itself does not know.
func (n *FakeCluster) Over(node string) {
	n.mu.Lock()
	delete(n.members, node)
	n.mu.Unlock()
	n.facts.tell()
}

// Notice lets a node learn that its session is over.
func (n *FakeCluster) Notice(node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sessions, node)
}

// Break lets writes of facts fail of which which says so, as without keepers; nil: none.
func (n *FakeCluster) Break(which func(ref string) bool) {
	n.facts.mu.Lock()
	defer n.facts.mu.Unlock()
	n.facts.broken = which
}

// Facts are what the nodes share.
func (n *FakeCluster) Facts() orders.ClusterFacts { return n.facts }

// Doubt lets the next questions whether a session is over have no answer.
func (n *FakeCluster) Doubt(questions int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.doubts = questions
}

// Drain lets a node take nothing.
func (n *FakeCluster) Drain(node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drained[node] = true
}

// Undrain lets it take orders again.
func (n *FakeCluster) Undrain(node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.drained, node)
}

// ofNode is what one node knows of the others.
type ofNode struct {
	*FakeCluster
	me string
}

func (n ofNode) Me() string { return n.me }

func (n ofNode) Members() (names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name := range n.members {
		names = append(names, name)
	}
	return names
}

func (n ofNode) Session() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sessions[n.me]
}

func (n ofNode) Drained() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.drained[n.me]
}

func (n ofNode) Over(_ context.Context, node, session string) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.members[node] == session {
		return false, nil
	}
	if n.doubts--; n.doubts >= 0 {
		return false, errors.New("no keeper answers")
	}
	return true, nil
}

// sharedFacts are facts that tell of changes.
type sharedFacts struct {
	shared.KeyValues
	mu      sync.Mutex
	changed chan struct{}
	broken  func(key string) bool
}

func (f *sharedFacts) breaks() func(string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

func (f *sharedFacts) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *sharedFacts) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// Change implements shared.KeyValues.
func (f *sharedFacts) Change(kind, key string, change func([]byte) ([]byte, error)) error {
	if breaks := f.breaks(); breaks != nil && breaks(key) {
		return errors.New("no keeper answers")
	}
	err := f.KeyValues.Change(kind, key, change)
	if err == nil {
		f.tell()
	}
	return err
}

// Follow implements orders.ClusterFacts.
func (f *sharedFacts) Follow(ctx context.Context, kind string, changed func(string, []byte)) {
	known := map[string][]byte{}
	for {
		next := f.next()
		all, err := f.All(kind)
		if err != nil {
			return
		}
		for key, v := range all {
			if was, ok := known[key]; !ok || !bytes.Equal(was, v) {
				changed(key, v)
			}
		}
		for key := range known {
			if all[key] == nil {
				changed(key, nil)
			}
		}
		known = all
		select {
		case <-ctx.Done():
			return
		case <-next:
		}
	}
}

var _ orders.ClusterFacts = (*sharedFacts)(nil)

// TestFacts holds facts to their contract. open makes some with nothing in them, and returns how those of
// another node are made; nil: they have no other writer.
func TestFacts(
	t *testing.T, open func(t *testing.T) (f orders.Facts, other func(t *testing.T) orders.Facts),
) {
	f, more := open(t)
	others := []orders.Facts{f}
	if more != nil {
		others = append(others, more(t))
	}
	keys := map[orders.OrderID]bool{}
	for range 3 {
		for _, f := range others {
			k, err := f.Next()
			if err != nil || k.Number == 0 || keys[k] {
				t.Fatalf("%+v, %v; before: %v", k, err, keys)
			}
			keys[k] = true
		}
	}
	set := func(f orders.Facts, k orders.OrderID, v []byte) {
		t.Helper()
		if err := f.Change(k, func([]byte) ([]byte, error) { return v, nil }); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(f orders.Facts, want map[orders.OrderID]string) {
		t.Helper()
		poll.Until(t, fmt.Sprintf("%v", want), func() bool {
			all, err := f.All()
			if err != nil {
				t.Fatal(err)
			}
			same := len(all) == len(want)
			for k, v := range want {
				same = same && string(all[k]) == v
			}
			return same
		})
	}
	want := map[orders.OrderID]string{{}: `{"orders":3}`}
	set(f, orders.OrderID{}, []byte(`{"orders":3}`))
	for k := range keys {
		want[k] = `{"by":"` + k.Ref() + `"}`
		set(f, k, []byte(want[k]))
	}
	for _, f := range others {
		holds(f, want)
	}
	k, err := f.Next()
	if err != nil {
		t.Fatal(err)
	}
	stays := errors.New("not now")
	if err := f.Change(k, func([]byte) ([]byte, error) { return []byte("x"), stays }); !errors.Is(err, stays) {
		t.Errorf("an error of change: %v", err)
	}
	holds(f, want)

	// what one changes the others hear of; each counts, also of concurrent changes
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan string, 100)
	var watches, counts sync.WaitGroup
	last := others[len(others)-1]
	if more != nil {
		watches.Go(func() {
			last.Watch(ctx, func(at orders.OrderID, v []byte) {
				if at == k {
					heard <- string(v)
				}
			})
		})
	}
	const each = 10
	for _, f := range others {
		counts.Go(func() {
			for range each {
				err := f.Change(k, func(was []byte) ([]byte, error) { return append(bytes.Clone(was), 'x'), nil })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	counts.Wait()
	want[k] = string(bytes.Repeat([]byte("x"), each*len(others)))
	holds(f, want)
	if more != nil {
		for got := ""; got != want[k]; got = <-heard {
		}
	}
	set(last, k, nil)
	delete(want, k)
	for _, f := range others {
		holds(f, want)
	}
	if more != nil {
		for got := "x"; got != ""; got = <-heard {
		}
	}
	cancel()
	watches.Wait()
}
