// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/testing/storetest"
)

func openState(t *testing.T, dir string, o store.Options) *store.State {
	t.Helper()
	st, err := store.OpenState(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// The lock of one machine. It is lost when the database is replaced: a copy of the state is put back
// while it is in use, say.
func TestLocalOwner(t *testing.T) {
	storetest.TestOwner(t, func(t *testing.T) storetest.Ownership {
		dir := t.TempDir()
		again := func(t *testing.T) *store.State {
			st := openState(t, dir, store.Options{})
			t.Cleanup(func() { st.Close() })
			return st
		}
		return storetest.Ownership{
			Owner: again(t),
			Again: func(t *testing.T) home.Owner { return again(t) },
			Lose: func(t *testing.T, site string) {
				name := filepath.Join(dir, "sites", site, "site.db")
				db, err := os.ReadFile(name)
				if err == nil {
					err = os.WriteFile(name+".copy", db, 0o600)
				}
				if err := errors.Join(err, os.Rename(name+".copy", name)); err != nil {
					t.Fatal(err)
				}
			},
			State: func(t *testing.T) *store.State { return openState(t, dir, store.Options{}) },
		}
	})
}

func TestMemoryOwner(t *testing.T) {
	storetest.TestOwner(t, func(*testing.T) storetest.Ownership {
		o := new(storetest.Owner)
		return storetest.Ownership{
			Owner: o,
			Again: func(*testing.T) home.Owner { return o },
			Lose:  func(_ *testing.T, site string) { o.Lose(site) },
			State: func(t *testing.T) *store.State { return openState(t, t.TempDir(), store.Options{Owner: o}) },
		}
	})
}

// An owner that has lost its memory gives smaller tokens than the site has seen: its leases open nothing.
func TestOldToken(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		st := openState(t, dir, store.Options{})
		s, err := st.OpenSite("x")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Close(), st.Close()); err != nil {
			t.Fatal(err)
		}
	}
	o := new(storetest.Owner)
	st := openState(t, dir, store.Options{Owner: o})
	defer st.Close()
	for n, want := range []error{db.ErrLeaseLost, db.ErrLeaseLost, nil} {
		s, err := st.OpenSite("x")
		if !errors.Is(err, want) {
			t.Errorf("token %d: %v", n+1, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

// losing loses the lease of one site as soon as another one is acquired.
type losing struct {
	storetest.Owner
	lose, at string
}

func (l *losing) Acquire(site string) (home.Lease, error) {
	if site == l.at {
		l.Lose(l.lose)
	}
	return l.Owner.Acquire(site)
}

// Bodies that no site refers to are not deleted when one of the sites is lost meanwhile.
func TestCollectBlobsWithLostLease(t *testing.T) {
	dir := t.TempDir()
	o := &losing{lose: "a"}
	st := openState(t, dir, store.Options{Owner: o})
	for _, name := range []string{"a", "b"} {
		s, err := st.OpenSite(name)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	body := []byte("unreferenced")
	digest := sha256.Sum256(body)
	if err := st.Bodies.Put(digest, body, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	st.Close() // no writer of bodies is left
	st = openState(t, dir, store.Options{Owner: o})
	defer st.Close()
	o.at = "b"
	freed, err := st.CollectBlobs(t.Context(), false)
	if !errors.Is(err, db.ErrLeaseLost) || freed.Blobs != 0 {
		t.Errorf("%+v, %v", freed, err)
	}
	o.at = ""
	if freed, err := st.CollectBlobs(t.Context(), false); err != nil || freed.Blobs != 1 {
		t.Errorf("%+v, %v", freed, err)
	}
}

// Removing or rebuilding a site needs its lease too.
func TestOwnerOfRemovedSite(t *testing.T) {
	o := new(storetest.Owner)
	st := openState(t, t.TempDir(), store.Options{Owner: o})
	defer st.Close()
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	l, err := o.Acquire("x")
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.Rebuild("x")
	for _, err := range []error{err, st.RemoveSite("x")} {
		if !errors.Is(err, disk.ErrLocked) {
			t.Errorf("%v", err)
		}
	}
	l.Release()
	if err := st.RemoveSite("x"); err != nil {
		t.Error(err)
	}
	if l, err = o.Acquire("x"); err != nil {
		t.Error(err)
	} else {
		l.Release()
	}
}

// Work under a lease ends when it is lost.
func TestWhileOwned(t *testing.T) {
	o := new(storetest.Owner)
	st := openState(t, t.TempDir(), store.Options{Owner: o})
	defer st.Close()
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := s.WhileOwned(t.Context())
	stop()
	if ctx.Err() == nil || context.Cause(ctx) != context.Canceled {
		t.Errorf("%v", context.Cause(ctx))
	}
	ctx, stop = s.WhileOwned(t.Context())
	defer stop()
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	o.Lose("x")
	<-ctx.Done()
	if err := context.Cause(ctx); err != db.ErrLeaseLost {
		t.Errorf("%v", err)
	}
}
