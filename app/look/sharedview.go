// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"
	"sync"
	"time"

	"mirrord/app/env"
	"mirrord/store"
	"mirrord/store/disk"
)

// sharedFor is how long a view serves further requests: frequent requests to a public server must not make it
// read the log of a large site each time.
const sharedFor = 5 * time.Second

// sharedViews keeps a view of each site for a moment, if a run writes the site. The zero value is ready. It
// is safe for concurrent use.
type sharedViews struct {
	mu     sync.Mutex // guards what follows, and the counts of the views
	open   map[string]*sharedView
	closed bool
}

// sharedView is a view with those that read it.
type sharedView struct {
	site  *store.Site
	users int
	until *time.Timer // nil once it takes no new readers
}

// read calls f with a view of a site, which may be sharedFor old while a run writes it. f is called again
// as view says.
func (v *sharedViews) read(st *store.State, name string, f func(*store.Site) error) error {
	s := v.take(name)
	if s == nil {
		opened, err := st.ViewSite(name)
		if err != nil {
			return err
		}
		s = v.put(name, opened)
	}
	err := f(s.site)
	gone := errors.Is(err, disk.ErrDamaged) && s.site.Stale()
	if rerr := v.release(s); rerr != nil {
		return errors.Join(err, rerr)
	}
	if gone {
		return env.View(st, name, f)
	}
	return err
}

// take returns the view that is kept of a site, with one more user, or nil.
func (v *sharedViews) take(name string) *sharedView {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.open[name]
	if s != nil {
		s.users++
	}
	return s
}

// put keeps a view for others. The caller is its first user.
func (v *sharedViews) put(name string, site *store.Site) *sharedView {
	s := &sharedView{site: site, users: 1}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed || v.open[name] != nil {
		return s
	}
	if v.open == nil {
		v.open = map[string]*sharedView{}
	}
	v.open[name] = s
	s.users++                                                           // until it is dropped
	s.until = time.AfterFunc(sharedFor, func() { _ = v.drop(name, s) }) // read only: nothing can be lost
	return s
}

// drop makes a view take no new readers.
func (v *sharedViews) drop(name string, s *sharedView) error {
	v.mu.Lock()
	if v.open[name] != s {
		v.mu.Unlock()
		return nil
	}
	delete(v.open, name)
	s.until.Stop()
	v.mu.Unlock()
	return v.release(s)
}

// release ends a use; the last one closes the view.
func (v *sharedViews) release(s *sharedView) error {
	v.mu.Lock()
	s.users--
	last := s.users == 0
	v.mu.Unlock()
	if last {
		return s.site.Close()
	}
	return nil
}

// close drops all views. Those that are being read are closed by their readers.
func (v *sharedViews) close() (err error) {
	v.mu.Lock()
	v.closed = true
	open := make(map[string]*sharedView, len(v.open))
	for name, s := range v.open {
		open[name] = s
	}
	v.mu.Unlock()
	for name, s := range open {
		err = errors.Join(err, v.drop(name, s))
	}
	return err
}
