// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/shared"
	"mirrord/store/trees"
)

// Ownership is an implementation of store.Owner that is tested.
type Ownership struct {
	Owner home.Owner
	// Again returns an Owner of the same sites, as another process has it.
	Again func(t *testing.T) home.Owner
	// Lose takes a site from its holder.
	Lose func(t *testing.T, site string)
	// State returns a state whose sites the Owner owns. The test closes it.
	State func(t *testing.T) *store.State
}

// TestOwner holds an implementation of store.Owner to the contract. open makes one with nothing in it.
func TestOwner(t *testing.T, open func(t *testing.T) Ownership) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, o Ownership)
	}{
		{"exclusive", ownerExclusive},
		{"one of many", ownerRace},
		{"token grows", ownerToken},
		{"released", ownerReleased},
		{"lost", ownerLost},
		{"a lost lease changes nothing", ownerFence},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

func acquire(t *testing.T, o home.Owner, site string) home.Lease {
	t.Helper()
	l, err := o.Acquire(site)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { release(t, l) })
	return l
}

func release(t *testing.T, l home.Lease) {
	t.Helper()
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

func wantLost(t *testing.T, l home.Lease, want bool) {
	t.Helper()
	got := false
	select {
	case <-l.Lost():
		got = true
	default:
	}
	if got != want {
		t.Errorf("the channel of token %d is closed: %t", l.Token(), got)
	}
}

func ownerExclusive(t *testing.T, o Ownership) {
	l := acquire(t, o.Owner, "x")
	for range 3 {
		for _, by := range []home.Owner{o.Owner, o.Again(t)} {
			if _, err := by.Acquire("x"); !errors.Is(err, disk.ErrLocked) {
				t.Errorf("a second owner: %v", err)
			}
		}
	}
	wantLost(t, acquire(t, o.Again(t), "y"), false)
	wantLost(t, l, false)
	release(t, l)
	acquire(t, o.Again(t), "x")
}

func ownerRace(t *testing.T, o Ownership) {
	var mu sync.Mutex
	var got []home.Lease
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			switch l, err := o.Owner.Acquire("x"); {
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				got = append(got, l)
			case !errors.Is(err, disk.ErrLocked):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(got) != 1 {
		t.Errorf("%d own it", len(got))
	}
	for _, l := range got {
		release(t, l)
	}
}

func ownerToken(t *testing.T, o Ownership) {
	last := uint64(0)
	for i, by := range []home.Owner{o.Owner, o.Owner, o.Again(t), o.Again(t), o.Owner} {
		l := acquire(t, by, "x")
		if l.Token() <= last {
			t.Errorf("lease %d: token %d after %d", i, l.Token(), last)
		}
		last = l.Token()
		if i == 2 {
			o.Lose(t, "x")
		}
		release(t, l)
	}
}

func ownerReleased(t *testing.T, o Ownership) {
	l := acquire(t, o.Owner, "x")
	if first := l.Lost(); first != l.Lost() {
		t.Error("two channels")
	}
	wantLost(t, l, false)
	release(t, l)
	wantLost(t, l, true)
	next := acquire(t, o.Owner, "x")
	release(t, l) // once more
	wantLost(t, next, false)
	if _, err := o.Owner.Acquire("x"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a lease that has ended gave the site of the next one away: %v", err)
	}
}

func ownerLost(t *testing.T, o Ownership) {
	st := o.State(t)
	defer st.Close()
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Notes.SetFact("x", []byte("y")); err != nil {
		t.Error(err)
	}
	o.Lose(t, "x")
	for range 2 {
		if err := s.Notes.SetFact("x", []byte("z")); !errors.Is(err, db.ErrLeaseLost) {
			t.Errorf("%v", err)
		}
	}
	if v, err := s.Notes.Fact("x"); err != nil || string(v) != "y" { // what it knows it may still read
		t.Errorf("%q, %v", v, err)
	}
}

// build makes a tree of one file.
func build(t *testing.T, s *store.Site, body string) *trees.Tree {
	t.Helper()
	tree, err := s.Trees.Build(trees.TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	w := tree.Writer()
	defer w.Close()
	if err := w.Write("page", []byte(body), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	return tree
}

func publish(t *testing.T, tree *trees.Tree, number int) error {
	t.Helper()
	err := tree.Publish(record.Version{Number: number, Time: time.Unix(int64(number), 0), Files: 1}, nil)
	return errors.Join(err, tree.Close())
}

func ownerFence(t *testing.T, o Ownership) {
	st := o.State(t)
	defer st.Close()
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	urls := []record.NewURL{{URL: "http://a/"}, {URL: "http://a/b"}}
	if err := errors.Join(s.Records.Commit(0, urls[:1], nil), publish(t, build(t, s, "one"), 1)); err != nil {
		t.Fatal(err)
	}
	tree := build(t, s, "two")
	o.Lose(t, "x")
	folding := facts.Folding{
		Version: 2,
		Pending: func(uint32) bool { return true },
		Path:    func(*record.Resource) string { return "" },
	}
	for _, tc := range []struct {
		name string
		do   func() error
	}{
		{"commit", func() error { return s.Records.Commit(1, urls[1:], nil) }},
		{"begin a run", func() error { return s.Notes.BeginRun(&record.Run{}) }},
		{"end a run", func() error { return s.Notes.SetRun(nil) }},
		{"fold", func() error { return s.Records.Fold(folding) }},
		{"publish", func() error { return publish(t, tree, 2) }},
		{"build", func() error { _, err := s.Trees.Build(trees.TreeRules{}); return err }},
		{"build empty", func() error { _, err := s.Trees.BuildEmpty(); return err }},
		{"drop", func() error { return s.Versions.Drop(1) }},
		{"restore", func() error { return s.Versions.Restore(1, 2) }},
		{"compact", func() error { _, err := s.Compact(t.Context(), false); return err }},
		{"collect parts", func() error { _, err := s.Parts.Collect(false, nil); return err }},
		{"keep a run", func() error { return s.Notes.KeepRun(shared.RunRecord{}) }},
	} {
		if err := tc.do(); !errors.Is(err, db.ErrLeaseLost) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s, err = st.OpenSite("x"); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n, err := s.Records.Known(); n != 1 || err != nil {
		t.Errorf("%d URLs are known, %v", n, err)
	}
	if vs, err := s.Versions.List(); len(vs) != 1 || err != nil {
		t.Errorf("%d versions, %v", len(vs), err)
	}
	root, err := s.Trees.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	f, err := root.Open("page")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); strings.TrimSpace(string(b)) != "one" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if err := errors.Join(s.Records.Commit(1, urls[1:], nil), publish(t, build(t, s, "two"), 2)); err != nil {
		t.Error(err)
	}
}
