// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mirrord/store/db"
	"mirrord/store/disk"
)

// lent is a lease of an owner, which a test ends.
type lent struct {
	token    uint64
	lost     chan struct{}
	released int
}

func (l *lent) Token() uint64         { return l.token }
func (l *lent) Lost() <-chan struct{} { return l.lost }
func (l *lent) Release() error        { l.released++; return nil }

// lender is an owner that gives one lease.
type lender struct {
	lease *lent
	err   error
}

func (o lender) Acquire(string) (Lease, error) { return o.lease, o.err }

// open makes a folder with a database that has a bucket, for the owner of a lease.
func open(t *testing.T, o Owner) *Folder {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := &Folder{Name: "x", Dir: dir, Root: root}
	if s.Lease, err = Acquire(o, "x"); err != nil {
		t.Fatal(err)
	}
	s.DB, err = db.Open(db.Options{
		Path:  filepath.Join(dir, SiteDB),
		Site:  "x",
		Mode:  0o600,
		Depth: 1,
		Fresh: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Release(); err != nil {
			t.Error(err)
		}
	})
	if err := s.DB.Update(func(tx *db.Tx) error {
		_, err := tx.CreateBucket(db.Meta)
		if err == nil {
			_, err = tx.CreateBucket(Links)
		}
		return errors.Join(err, s.Lease.Take(tx))
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// A walk over several transactions sees each value once, in order, from any key on, also when values are
// added behind it meanwhile.
func TestEach(t *testing.T) {
	s := open(t, nil)
	put := func(first, last uint64) {
		t.Helper()
		if err := s.Update("put", func(tx *db.Tx) error {
			for n := first; n < last; n++ {
				if err := tx.Bucket(Links).Put(db.NumberKey(n), []byte("v")); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	put(0, 2*viewChunk+1)
	for _, from := range []uint64{0, 5, viewChunk, 2*viewChunk + 1} {
		next := from
		if err := s.EachFrom(Links, db.NumberKey(from), func(k, _ []byte) error {
			if got := binary.BigEndian.Uint64(k); got != next {
				t.Fatalf("from %d: %d, want %d", from, got, next)
			}
			next++
			return nil
		}); err != nil || next != 2*viewChunk+1 {
			t.Errorf("from %d up to %d, %v", from, next, err)
		}
	}
	stop := errors.New("stop")
	if err := s.Each(Links, func(_, _ []byte) error { return stop }); err != stop {
		t.Errorf("%v", err)
	}
	if err := s.Each([]byte("missing"), func(_, _ []byte) error { return stop }); err != nil {
		t.Errorf("%v", err)
	}
}

// Small facts come back, and Shown is called after each commit that changed them, and after nothing else.
func TestMeta(t *testing.T) {
	s := open(t, nil)
	shown := 0
	s.Shown = func() { shown++ }
	if err := s.SetMeta("x", []byte("a"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Meta([]byte("a")); string(v) != "1" || err != nil || shown != 1 {
		t.Errorf("%q, %v, shown %d times", v, err, shown)
	}
	if err := s.SetMeta("x", []byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Meta([]byte("a")); v != nil || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	boom := errors.New("boom")
	if err := s.Update("x", func(tx *db.Tx) error {
		return errors.Join(tx.Meta().Put([]byte("b"), []byte("2")), boom)
	}); !errors.Is(err, boom) || shown != 2 {
		t.Errorf("%v, shown %d times", err, shown)
	}
	if v, err := s.Meta([]byte("b")); v != nil || err != nil {
		t.Errorf("of a change that failed: %q, %v", v, err)
	}
}

// After an I/O error nothing more is written, even if later calls would succeed.
func TestIOErrorIsFinal(t *testing.T) {
	s := open(t, nil)
	eio := &disk.DiskError{Op: "test", Err: syscall.EIO}
	if err := s.Update("test", func(*db.Tx) error { return eio }); err != error(eio) {
		t.Errorf("%v", err)
	}
	if err := s.SetMeta("x", []byte("a"), []byte("1")); err != error(eio) {
		t.Errorf("after an I/O error: %v", err)
	}
}

// A change is refused once the lease is lost, the database has a larger token, or another file has its name.
func TestLostLease(t *testing.T) {
	for name, lose := range map[string]func(s *Folder, l *lent) error{
		"by its owner": func(_ *Folder, l *lent) error { close(l.lost); return nil },
		"to a later one": func(s *Folder, _ *lent) error {
			return s.DB.Update(func(tx *db.Tx) error { return tx.Meta().Put(KeyToken, db.NumberKey(8)) })
		},
		"with its file": func(s *Folder, _ *lent) error { return s.Root.Rename(SiteDB, "other") },
	} {
		l := &lent{token: 7, lost: make(chan struct{})}
		s := open(t, lender{lease: l})
		if err := s.SetMeta("x", []byte("a"), []byte("1")); err != nil || s.Owned() != nil {
			t.Errorf("%s: %v, %v", name, err, s.Owned())
		}
		if err := lose(s, l); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.SetMeta("x", []byte("a"), []byte("2")); !errors.Is(err, db.ErrLeaseLost) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := s.Owned(); !errors.Is(err, db.ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An owner whose token is older than that of the database gets nothing, and what it gave is given back.
func TestTokens(t *testing.T) {
	l := &lent{token: 3, lost: make(chan struct{})}
	s := open(t, lender{lease: l})
	if err := s.DB.View(func(tx *db.Tx) error {
		if got := TokenIn(tx.Meta()); got != 3 {
			t.Errorf("token %d", got)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	l.token = 2
	if err := s.DB.Update(s.Lease.Take); !errors.Is(err, db.ErrLeaseLost) {
		t.Errorf("%v", err)
	}
	ctx, stop := s.WhileOwned(t.Context())
	close(l.lost)
	<-ctx.Done()
	stop()
	if err := context.Cause(ctx); !errors.Is(err, db.ErrLeaseLost) {
		t.Errorf("%v", err)
	}
	boom := errors.New("boom")
	if _, err := Acquire(lender{err: boom}, "x"); err != boom {
		t.Errorf("%v", err)
	}
}
