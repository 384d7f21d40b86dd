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
	mu   sync.Mutex             // guards what follows
	open map[string]*sharedView // by site
}

// sharedView is the view of a site. One request at a time reads it.
type sharedView struct {
	mu   sync.Mutex  // guards what follows, and is held while the view is read
	site *store.Site // nil: it is opened by the next request
}

// read calls f with a view of a site, which may be sharedFor old while a run writes it. f is called again
// as view says.
func (v *sharedViews) read(st *store.State, name string, f func(*store.Site) error) error {
	s := v.of(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.site == nil {
		opened, err := st.ViewSite(name)
		if err != nil {
			return err
		}
		s.site = opened
		time.AfterFunc(sharedFor, func() { _ = s.close() }) // read only: nothing can be lost
	}
	err := f(s.site)
	if errors.Is(err, disk.ErrDamaged) && s.site.Stale() {
		return env.View(st, name, f)
	}
	return err
}

func (v *sharedViews) of(name string) *sharedView {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open == nil {
		v.open = map[string]*sharedView{}
	}
	if v.open[name] == nil {
		v.open[name] = &sharedView{}
	}
	return v.open[name]
}

func (s *sharedView) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.site == nil {
		return nil
	}
	err := s.site.Close()
	s.site = nil
	return err
}

// close closes all views, once those that are being read are not.
func (v *sharedViews) close() (err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.open {
		err = errors.Join(err, s.close())
	}
	return err
}
