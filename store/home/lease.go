// SPDX-License-Identifier: Apache-2.0

package home

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"sync"

	"mirrord/store/db"
)

// Owner decides who may write a site, above the lock of its database, which does so on one machine.
type Owner interface {
	// Acquire makes the caller the only writer of a site until the lease is released or lost. It does not wait
	// for a site that another process holds, which is ErrLocked, unless the implementation was given a time
	// to wait. It may be called from several goroutines.
	Acquire(site string) (Lease, error)
}

// Lease is the right to write one site. Its methods may be called from several goroutines.
type Lease interface {
	// Token is larger than the token of each earlier lease of the site. The store writes it into the site's
	// database when it is opened and refuses every change whose lease has a smaller token than the database.
	Token() uint64
	// Lost returns the channel that is closed once the lease has ended, by loss or by Release. It is the same
	// channel at each call.
	Lost() <-chan struct{}
	// Release ends the lease. A lease that has ended already is not an error.
	Release() error
}

// SiteLease is the lease of one machine, of a site whose database is locked. Above it may be the lease of an
// Owner, which then has the token.
type SiteLease struct {
	Above Lease // nil without an Owner
	Token uint64

	Ended  chan struct{} // closed by end
	ending sync.Once
}

// Acquire takes the lease of an owner, which may be nil, for a site whose database is about to be locked.
func Acquire(o Owner, site string) (l *SiteLease, err error) {
	l = &SiteLease{Ended: make(chan struct{})}
	if o != nil {
		l.Above, err = o.Acquire(site)
	}
	return l, err
}

// Take writes the token into the database of the site.
func (l *SiteLease) Take(tx *db.Tx) error {
	m := tx.Meta()
	stored := TokenIn(m)
	if l.Token = stored + 1; l.Above != nil {
		if l.Token = l.Above.Token(); l.Token < stored {
			return db.ErrLeaseLost
		}
	}
	return m.Put(KeyToken, binary.BigEndian.AppendUint64(nil, l.Token))
}

// TokenIn returns the token of the last lease, 0 when there was none.
func TokenIn(meta *db.Bucket) uint64 {
	n, _ := meta.Number(KeyToken)
	return n
}

// Release ends the lease. The database is closed before.
func (l *SiteLease) Release() (err error) {
	if l.Above != nil {
		err = l.Above.Release()
	}
	l.end()
	return err
}

func (l *SiteLease) end() { l.ending.Do(func() { close(l.Ended) }) }

// ours is ErrLeaseLost once the lease has ended.
func (l *SiteLease) ours() error {
	var above <-chan struct{} // of no lease: it never ends
	if l.Above != nil {
		above = l.Above.Lost()
	}
	select {
	case <-l.Ended:
	case <-above:
	default:
		return nil
	}
	return db.ErrLeaseLost
}

// inPlace is ErrLeaseLost when the locked file is the site's database no more: who replaced it may open the
// other one.
func (s *Folder) inPlace() error {
	fi, err := s.Root.Lstat(SiteDB)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if opened, serr := s.DB.File.Stat(); err != nil || (serr == nil && !os.SameFile(fi, opened)) {
		return db.ErrLeaseLost
	}
	return nil
}

// Owned is ErrLeaseLost when this process may no longer change the site. It must be called before changes
// outside of the database.
func (s *Folder) Owned() error {
	if s.Lease == nil {
		return nil // of a site that is open for reading: its database refuses
	}
	return s.Lease.ours()
}

// fenced makes a transaction one that is refused when the lease is lost or another one has been given since.
func (s *Folder) fenced(f func(*db.Tx) error) func(*db.Tx) error {
	if s.Lease == nil {
		return f
	}
	return func(tx *db.Tx) error {
		if err := s.Lease.ours(); err != nil {
			return err
		}
		if err := s.inPlace(); err != nil {
			return err
		}
		if TokenIn(tx.Meta()) > s.Lease.Token {
			return db.ErrLeaseLost
		}
		return f(tx)
	}
}

// WhileOwned returns a context that ends with the cause ErrLeaseLost when the site's lease is lost. stop must
// be called; it returns when nothing watches the lease. The lease of one machine is not watched: its loss
// shows when a change is refused.
func (s *Folder) WhileOwned(ctx context.Context) (owned context.Context, stop func()) {
	if s.Lease == nil || s.Lease.Above == nil {
		return ctx, func() {}
	}
	owned, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.Lease.Above.Lost():
			cancel(db.ErrLeaseLost)
		case <-owned.Done():
		}
	})
	return owned, func() {
		cancel(nil)
		watch.Wait()
	}
}
