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
	"mirrord/store"
	"mirrord/testing/objectstest"
)

// hasSite reports whether a state has the site of the tests.
func hasSite(t *testing.T, dir string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, "sites", "test"))
	return err == nil
}

// dropSite removes the site of the tests from a state, as the command does.
func dropSite(t *testing.T, st *store.State) {
	t.Helper()
	err := depot.Removed(st, "test", "")
	held, herr := st.HoldSite("test")
	if err = errors.Join(err, herr); err == nil {
		err = errors.Join(held.Remove(), held.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A site that is removed from a depot: what it had there is collected, no machine that has seen it restores
// it, and one that makes it again can.
func TestRemove(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]objects.Store{
		"folder": folder(t),
		"S3":     objectstest.OpenS3(t, objectstest.Serve(t, nil), "some/where"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, other, third := newMachine(t), filepath.Join(t.TempDir(), "other"), filepath.Join(t.TempDir(), "third")
			m.Run()
			mustCheckin(t, s, m.Dir)
			mustCheckout(t, s, other)
			mustCheckout(t, s, third)
			d := openDepot(t, s)
			check(t, "remove another", depot.Remove(t.Context(), d, "no-such", nil), depot.ErrUnknown)
			check(t, "remove", depot.Remove(t.Context(), d, "test", nil), nil)
			check(t, "remove again", depot.Remove(t.Context(), d, "test", nil), depot.ErrRemoved)
			if sites, err := d.Sites(t.Context()); err != nil || len(sites) > 0 {
				t.Errorf("sites: %v, %v", sites, err)
			}

			_, err := checkout(t, s, filepath.Join(t.TempDir(), "new"), depot.Out{})
			check(t, "out on a machine without it", err, depot.ErrUnknown)
			m.change(1)
			_, err = checkin(t, s, m.Dir, false)
			check(t, "in from one that went on", err, depot.ErrDiverged)
			_, err = checkout(t, s, m.Dir, depot.Out{Removed: true})
			check(t, "out on one that went on", err, depot.ErrDiverged)
			_, err = checkout(t, s, third, depot.Out{})
			check(t, "out by hand", err, depot.ErrRemoved)
			_, err = checkout(t, s, other, depot.Out{Removed: true})
			check(t, "out on one that follows", err, depot.ErrRemoved)
			if !hasSite(t, m.Dir) || !hasSite(t, third) || hasSite(t, other) {
				t.Error("another machine than the one that follows has lost it, or that one has not")
			}

			d.Epoch = -time.Second
			for range 2 {
				if _, err := d.Collect(t.Context(), false); err != nil {
					t.Fatal(err)
				}
			}
			c, err := d.Collect(t.Context(), true)
			if err != nil || c.Total > 0 {
				t.Errorf("collected: %+v, %v", c, err)
			}

			again := newMachine(t)
			again.Run()
			if in := mustCheckin(t, s, again.Dir); in.Sequence != 3 {
				t.Errorf("in once more: %+v", in)
			}
			mustCheckout(t, s, other)
			sameTree(t, again.Dir, other)
			_, err = checkin(t, s, m.Dir, false)
			check(t, "in from one that went on", err, depot.ErrDiverged)
			if in, err := checkin(t, s, m.Dir, true); err != nil || in.Sequence != 4 {
				t.Errorf("in with again: %+v, %v", in, err)
			}
		})
	}
}

// A damaged pointer can be removed, and what comes after it follows what machines have seen.
func TestRemoveDamaged(t *testing.T) {
	t.Parallel()
	s, m := folder(t), newMachine(t)
	m.Run()
	mustCheckin(t, s, m.Dir)
	m.change(1)
	mustCheckin(t, s, m.Dir)
	_, err := s.Put(t.Context(), "sites/test.json", objects.Bytes([]byte("{")), objects.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "remove", depot.Remove(t.Context(), openDepot(t, s), "test", nil), nil)
	if in, err := checkin(t, s, m.Dir, true); err != nil || in.Sequence != 4 {
		t.Errorf("in: %+v, %v", in, err)
	}
}

// What was removed on a machine goes from the depot, unless another machine went on with it; what was renamed
// goes when the depot has the new name.
func TestFinishRemoval(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, s objects.Store, st *store.State) (early bool){
		"removed": func(t *testing.T, _ objects.Store, st *store.State) bool {
			dropSite(t, st)
			return true
		},
		"interrupted": func(t *testing.T, _ objects.Store, st *store.State) bool {
			if err := depot.Removed(st, "test", ""); err != nil {
				t.Fatal(err)
			}
			return false
		},
		"another went on": func(t *testing.T, s objects.Store, st *store.State) bool {
			other := newMachine(t)
			other.Run()
			if _, err := checkin(t, s, other.Dir, true); err != nil {
				t.Fatal(err)
			}
			dropSite(t, st)
			return false
		},
		"renamed": func(t *testing.T, s objects.Store, st *store.State) bool {
			held, err := st.HoldSite("test")
			if err == nil {
				err = errors.Join(depot.Renamed(st, "test", "other"), held.Rename("other"), held.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			d := openDepot(t, s)
			if done, err := d.FinishRemoval(t.Context(), st, "test"); done || err != nil {
				t.Errorf("before the depot has the new name: %v, %v", done, err)
			}
			if _, err := d.Checkin(t.Context(), st, "other", false); err != nil {
				t.Fatal(err)
			}
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := folder(t), newMachine(t)
			m.Run()
			mustCheckin(t, s, m.Dir)
			st := openState(t, m.Dir)
			defer st.Close()
			want := change(t, s, st)
			d := openDepot(t, s)
			sites, err := d.Removals(st)
			if err != nil || len(sites) != 1 {
				t.Fatalf("%q, %v", sites, err)
			}
			if done, err := d.FinishRemoval(t.Context(), st, "test"); err != nil || done != want {
				t.Errorf("%v, %v", done, err)
			}
			_, err = checkout(t, s, filepath.Join(t.TempDir(), "new"), depot.Out{})
			if errors.Is(err, depot.ErrRemoved) != want {
				t.Errorf("out: %v", err)
			}
			if sites, err = d.Removals(st); err != nil || (len(sites) > 0) != (name == "interrupted") {
				t.Errorf("afterwards %q, %v", sites, err)
			}
		})
	}
}
