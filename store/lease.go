// SPDX-License-Identifier: Apache-2.0

package store

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

// siteLease is the lease of one machine, of a site whose database is locked. Above it may be the lease of an
// Owner, which then has the token.
type siteLease struct {
	above Lease // nil without an Owner
	token uint64

	lost   chan struct{} // closed by end
	ending sync.Once
}

// acquire takes the lease of an owner, which may be nil, for a site whose database is about to be locked.
func acquire(o Owner, site string) (l *siteLease, err error) {
	l = &siteLease{lost: make(chan struct{})}
	if o != nil {
		l.above, err = o.Acquire(site)
	}
	return l, err
}

// Take writes the token into the database of the site.
func (l *siteLease) Take(tx *db.Tx) error {
	m := tx.Meta()
	stored := tokenIn(m)
	if l.token = stored + 1; l.above != nil {
		if l.token = l.above.Token(); l.token < stored {
			return db.ErrLeaseLost
		}
	}
	return m.Put(kToken, binary.BigEndian.AppendUint64(nil, l.token))
}

// tokenIn returns the token of the last lease, 0 when there was none.
func tokenIn(meta *db.Bucket) uint64 {
	n, _ := meta.Number(kToken)
	return n
}

// Release ends the lease. The database is closed before.
func (l *siteLease) Release() (err error) {
	if l.above != nil {
		err = l.above.Release()
	}
	l.end()
	return err
}

// end closes the lease's own channel.
func (l *siteLease) end() { l.ending.Do(func() { close(l.lost) }) }

// ours is ErrLeaseLost once the lease has ended.
func (l *siteLease) ours() error {
	if ended(l.lost) || (l.above != nil && ended(l.above.Lost())) {
		return db.ErrLeaseLost
	}
	return nil
}

func ended(lost <-chan struct{}) bool {
	select {
	case <-lost:
		return true
	default:
		return false
	}
}

// inPlace is ErrLeaseLost when the locked file is the site's database no more: who replaced it may open the
// other one.
func (s *home) inPlace() error {
	fi, err := s.root.Lstat(siteDB)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if opened, serr := s.db.File.Stat(); err != nil || (serr == nil && !os.SameFile(fi, opened)) {
		return db.ErrLeaseLost
	}
	return nil
}

// owned is ErrLeaseLost when this process may no longer change the site. It must be called before changes
// outside of the database.
func (s *home) owned() error {
	if s.lease == nil {
		return nil // of a site that is open for reading: its database refuses
	}
	return s.lease.ours()
}

// fenced makes a transaction one that is refused when the lease is lost or another one has been given since.
func (s *home) fenced(f func(*db.Tx) error) func(*db.Tx) error {
	if s.lease == nil {
		return f
	}
	return func(tx *db.Tx) error {
		if err := s.lease.ours(); err != nil {
			return err
		}
		if err := s.inPlace(); err != nil {
			return err
		}
		if tokenIn(tx.Meta()) > s.lease.token {
			return db.ErrLeaseLost
		}
		return f(tx)
	}
}

// WhileOwned returns a context that ends with the cause ErrLeaseLost when the site's lease is lost. stop must
// be called; it returns when nothing watches the lease. The lease of one machine is not watched: its loss
// shows when a change is refused.
func (s *home) WhileOwned(ctx context.Context) (owned context.Context, stop func()) {
	if s.lease == nil || s.lease.above == nil {
		return ctx, func() {}
	}
	owned, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.lease.above.Lost():
			cancel(db.ErrLeaseLost)
		case <-owned.Done():
		}
	})
	return owned, func() {
		cancel(nil)
		watch.Wait()
	}
}
