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
	"mirrord/store/disk"
)

// Owner decides who may write a site, above the lock of its database, which does so on one machine; see
// Options.Owner.
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

// siteLock is the lease of one machine: the locked database of a site. Above it may be a lease of
// Options.Owner, which then has the token.
type siteLock struct {
	siteFolder
	above Lease // nil without Options.Owner
	token uint64

	lost    chan struct{} // closed by end
	ending  sync.Once
	freeing sync.Once
}

// acquire makes the caller the only writer of a site on this machine, and makes the site when it does not
// exist. The site's database stays open until the lease is released. One that cannot be used is a
// *DatabaseError.
func (s *State) acquire(name string, mode openMode) (_ *siteLock, err error) {
	l := &siteLock{lost: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Release())
		}
	}()
	if l.above, err = s.leaseAbove(name); err != nil {
		return nil, err
	}
	if l.siteFolder, err = s.openFolder(name, mode); err != nil {
		return nil, err
	}
	if err := l.db.View(l.checkWhole); err != nil { // before anything is changed
		return nil, err
	}
	last, known, err := db.Last(l.db)
	if err != nil {
		return nil, err
	}
	if end, err := cutLog(s, l.root, name); err != nil {
		return nil, err
	} else if (end > 0) && known && (last > end) {
		return nil, l.db.Damaged(db.ErrNoBodies)
	}
	if err := l.db.Follow(l.root); err != nil {
		return nil, err
	}
	if err := l.db.Update(l.take); err != nil {
		return nil, disk.Err("open "+siteDB, err)
	}
	return l, nil
}

// leaseAbove takes the lease of Options.Owner, nil without one.
func (s *State) leaseAbove(name string) (Lease, error) {
	if s.opt.Owner == nil {
		return nil, nil
	}
	return s.opt.Owner.Acquire(name)
}

// take upgrades the database to the present format and writes the token into it.
func (l *siteLock) take(tx *db.Tx) error {
	if err := l.renew(tx); err != nil {
		return err
	}
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

// LastToken returns the token of the last lease of a site, 0 when it has none or cannot be read.
func (s *State) LastToken(site string) (token uint64) {
	v, err := s.ViewSite(site)
	if err != nil {
		return 0
	}
	defer v.Close()
	if err := v.db.View(func(tx *db.Tx) error {
		token = tokenIn(tx.Meta())
		return nil
	}); err != nil {
		return 0
	}
	return token
}

// Release ends the lease. The database is closed first.
func (l *siteLock) Release() (err error) {
	l.freeing.Do(func() {
		if l.db != nil {
			err = l.close()
		}
		if l.above != nil {
			err = errors.Join(err, l.above.Release())
		}
		l.end()
	})
	return err
}

// end closes the lease's own channel.
func (l *siteLock) end() { l.ending.Do(func() { close(l.lost) }) }

// ours is ErrLeaseLost once the lease has ended.
func (l *siteLock) ours() error {
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
func (l *siteLock) inPlace() error {
	fi, err := l.root.Lstat(siteDB)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if opened, serr := l.db.File.Stat(); err != nil || (serr == nil && !os.SameFile(fi, opened)) {
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
		if err := s.lease.inPlace(); err != nil {
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
func (s *Site) WhileOwned(ctx context.Context) (owned context.Context, stop func()) {
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
