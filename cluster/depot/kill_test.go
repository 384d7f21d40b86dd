// SPDX-License-Identifier: Apache-2.0

package depot_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/store/travel"
	"mirrord/testing/objectstest"
)

// dying is a store that dies at its n-th call: before the call, or after it, so that only the answer is lost.
func dying(s objects.Store, n int, fault objectstest.Failure) *objectstest.Faulty {
	return &objectstest.Faulty{Store: s, Decide: func(at int, _, _ string) objectstest.Failure {
		switch {
		case at == n:
			return fault
		case at > n:
			return objectstest.Dead
		}
		return objectstest.None
	}}
}

// whole checks that a depot has a site as it was or as it is to be, and says which.
func whole(t *testing.T, s objects.Store) uint64 {
	t.Helper()
	d := openDepot(t, s)
	c, err := d.Check(t.Context())
	if err != nil || len(c.Problems) > 0 || c.Chunks == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	all, err := d.Sites(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[0].Sequence
}

// Whenever a check-in ends, the depot has the old state or the new one, and the same call then ends in the
// new one.
func TestCrashCheckin(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.Run()
	made := filepath.Join(t.TempDir(), "depot")
	first, err := objects.OpenFolder(made)
	if err != nil {
		t.Fatal(err)
	}
	mustCheckin(t, first, m.Dir)
	m.change(1)
	notes := filepath.Join(m.Dir, "sites", "test", travel.DepotNotes)
	noted, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range []objectstest.Failure{objectstest.Dead, objectstest.After} {
		done := false
		for n := 0; !done; n++ {
			s, err := objects.OpenFolder(copyDir(t, made))
			if err != nil {
				t.Fatal(err)
			}
			state := m.Dir
			if err := os.WriteFile(notes, noted, 0o600); err != nil { // of the check-in before
				t.Fatal(err)
			}
			_, err = checkin(t, dying(s, n, fault), state, false)
			if done = err == nil; !done && !errors.Is(err, objectstest.ErrFault) {
				t.Fatalf("call %d: %v", n, err)
			}
			if n > 40 {
				t.Fatal("it does not end")
			}
			sequence := whole(t, s)
			if sequence != 1 && sequence != 2 {
				t.Fatalf("call %d: check-in %d", n, sequence)
			}
			if out := mustCheckin(t, s, state); out.Sequence != 2 || out.Unchanged != (sequence == 2) {
				t.Fatalf("call %d: %+v after %d", n, out, sequence)
			}
			if whole(t, s) != 2 {
				t.Fatalf("call %d: not the new state", n)
			}
		}
	}
}

// Whenever a check-out ends, the machine has the old state or the new one, and the same call then ends in the
// new one.
func TestCrashCheckout(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.Run()
	s := folder(t)
	mustCheckin(t, s, m.Dir)
	old := filepath.Join(t.TempDir(), "old")
	if _, err := checkout(t, s, old, depot.Out{Ready: unpublished}); err != nil {
		t.Fatal(err)
	}
	m.change(1)
	mustCheckin(t, s, m.Dir)
	done := false
	for n := 0; !done; n++ {
		state := copyDir(t, old)
		_, err := checkout(t, dying(s, n, objectstest.Dead), state, depot.Out{Ready: unpublished})
		if done = err == nil; !done && !errors.Is(err, objectstest.ErrFault) {
			t.Fatalf("call %d: %v", n, err)
		}
		if n > 40 {
			t.Fatal("it does not end")
		}
		if !done {
			out, err := checkout(t, s, state, depot.Out{Ready: unpublished})
			if err != nil || out.Unchanged {
				t.Fatalf("call %d: %+v, %v", n, out, err)
			}
		}
		st := openState(t, state)
		site, err := st.OpenSite("test")
		if err != nil {
			t.Fatal(err)
		}
		vs, err := site.Versions.List()
		if err != nil || len(vs) != 2 {
			t.Errorf("call %d: %d versions, %v", n, len(vs), err)
		}
		if err := errors.Join(site.Close(), st.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// Each answer may be lost, and each call may fail for a moment: a check-in that repeats its calls ends in the
// new state all the same, by one pointer.
func TestAnswersLost(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.Run()
	for _, fault := range []objectstest.Failure{objectstest.After, objectstest.Before} {
		s := folder(t)
		failed := map[string]bool{}
		f := &objectstest.Faulty{Store: s, Decide: func(_ int, op, name string) objectstest.Failure {
			if failed[op+name] {
				return objectstest.None
			}
			failed[op+name] = true
			return fault
		}}
		r := &objects.Retry{Store: f, Pause: time.Microsecond}
		out, err := checkin(t, r, copyDir(t, m.Dir), false)
		if err != nil || out.Sequence != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		if whole(t, s) != 1 || r.Counted.Retries < 5 {
			t.Errorf("%d retries", r.Counted.Retries)
		}
	}
}

// Of two machines that check the same state in, one wins, and the other one gets an error.
func TestTwoCheckins(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.Run()
	s := folder(t)
	mustCheckin(t, s, m.Dir)
	m.change(1)
	other := copyDir(t, m.Dir)
	faster := false
	f := &objectstest.Faulty{Store: s, Decide: func(_ int, op, name string) objectstest.Failure {
		if op == "put" && name == "sites/test.json" && !faster {
			faster = true
			mustCheckin(t, s, other)
		}
		return objectstest.None
	}}
	if _, err := checkin(t, f, m.Dir, false); !errors.Is(err, depot.ErrDiverged) || !faster {
		t.Errorf("%v", err)
	}
	if whole(t, s) != 2 {
		t.Error("not the state of the winner")
	}
}

// noTime lets collections follow one another at once: the clock of a file system stands still for some
// milliseconds.
const noTime time.Duration = -1

// What nothing refers to goes after two collections, and nothing that a check-in relies on meanwhile.
func TestCollect(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.Run()
	s := folder(t)
	mustCheckin(t, s, m.Dir)
	first := len(listing(t, s))
	m.change(1)
	if _, err := checkin(t, dying(s, 9, objectstest.Dead), copyDir(t, m.Dir), false); err == nil {
		t.Fatal("it was not killed")
	}
	mustCheckin(t, s, m.Dir)
	collect := func(epoch time.Duration) (*depot.DepotCollection, error) {
		t.Helper()
		d, err := depot.Open(t.Context(), depot.Options{Store: s, Epoch: epoch})
		if err != nil {
			t.Fatal(err)
		}
		return d.Collect(t.Context(), false)
	}
	c, err := collect(time.Hour)
	if err != nil || c.Removed > 0 || c.Condemned < 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := collect(time.Hour); !errors.Is(err, depot.ErrTooSoon) {
		t.Errorf("at once: %v", err)
	}
	condemned := c.Condemned
	if c, err = collect(noTime); err != nil || c.Removed != condemned || c.Condemned > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	whole(t, s)
	fresh := filepath.Join(t.TempDir(), "fresh")
	mustCheckout(t, s, fresh)
	sameTree(t, m.Dir, fresh)
	if left := len(listing(t, s)); left > first+4 {
		t.Errorf("%d objects, %d at first", left, first)
	}
	// A collection begins while objects are put that no pointer names yet, and continues before the pointer
	// moves.
	m.change(2)
	rounds := 0
	f := &objectstest.Faulty{Store: s, Decide: func(_ int, op, name string) objectstest.Failure {
		if op == "get" && name == "epoch.json" && rounds < 2 {
			rounds++
			if _, err := collect(noTime); err != nil {
				t.Error(err)
			}
		}
		return objectstest.None
	}}
	if _, err := checkin(t, f, m.Dir, false); err != nil || rounds != 2 {
		t.Fatalf("%d rounds, %v", rounds, err)
	}
	for range 2 {
		if _, err := collect(noTime); err != nil {
			t.Fatal(err)
		}
	}
	whole(t, s)
}
