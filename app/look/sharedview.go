// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"
	"maps"
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
	mu   sync.Mutex // guards open
	open map[string]*sharedView
}

// sharedView is a view with those that read it. One that is kept no longer takes no new readers.
type sharedView struct {
	site    *store.Site
	readers sync.WaitGroup
}

// read calls f with a view of a site, which may be sharedFor old while a run writes it. f is called again
// as view says.
func (v *sharedViews) read(st *store.State, name string, f func(*store.Site) error) error {
	s := v.take(name, nil)
	if s == nil {
		opened, err := st.ViewSite(name)
		if err != nil {
			return err
		}
		if s = v.take(name, opened); s.site != opened {
			_ = opened.Close() // read only: nothing can be lost
		}
	}
	err := f(s.site)
	gone := errors.Is(err, disk.ErrDamaged) && s.site.DB.Stale()
	s.readers.Done()
	if gone {
		return env.View(st, name, f)
	}
	return err
}

// take returns the view that is kept of a site, with one more reader; without one it keeps the opened view,
// nil for none.
func (v *sharedViews) take(name string, opened *store.Site) *sharedView {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.open[name]
	if s == nil && opened == nil {
		return nil
	}
	if s == nil {
		s = &sharedView{site: opened}
		if v.open == nil {
			v.open = map[string]*sharedView{}
		}
		v.open[name] = s
		time.AfterFunc(sharedFor, func() { _ = v.drop(name, s) }) // likewise
	}
	s.readers.Add(1)
	return s
}

// drop closes a view, unless it was dropped before, once its readers have ended.
func (v *sharedViews) drop(name string, s *sharedView) error {
	v.mu.Lock()
	kept := v.open[name] == s
	if kept {
		delete(v.open, name)
	}
	v.mu.Unlock()
	if !kept {
		return nil
	}
	s.readers.Wait()
	return s.site.Close()
}

// close drops all views.
func (v *sharedViews) close() (err error) {
	v.mu.Lock()
	open := maps.Clone(v.open)
	v.mu.Unlock()
	for name, s := range open {
		err = errors.Join(err, v.drop(name, s))
	}
	return err
}
