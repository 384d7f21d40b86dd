// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/phm/space"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/home"
)

// Store serves the mirrors of a state directory. The published tree alone is enough: its file table has URLs
// and types. Redirects and charsets are in the site's database, which a run keeps locked; they are read once
// for each version, as soon as it can be had, and a moment's look is all that the lock is held for. It is
// safe for concurrent use.
type Store struct {
	state *store.State
	kept  Kept // nil: only current versions
	now   func() time.Time

	mu    sync.Mutex // guards sites
	sites map[string]*storeSite
}

// NewStore returns the Sites of a state directory, which must stay open as long as they are used. kept gives
// versions that are no longer published; nil: there are none. now is the clock; nil is time.Now.
func NewStore(st *store.State, kept Kept, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{
		state: st,
		kept:  kept,
		now:   now,
		sites: map[string]*storeSite{},
	}
}

// Names lists the sites that have a published version.
func (s *Store) Names() ([]string, error) {
	all, err := s.state.Sites()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range all {
		if _, err := os.Stat(filepath.Join(s.dir(name), phm.FilesName)); err == nil {
			out = append(out, name)
		}
	}
	return out, nil
}

// dir is the published tree of a site: a symbolic link that each publish moves.
func (s *Store) dir(name string) string {
	return filepath.Join(s.state.Dir, "sites", name, "current")
}

// Site returns a site that has a published version.
func (s *Store) Site(name string) (Site, error) {
	if !home.ValidName(name) {
		return nil, ErrNoSite
	}
	s.mu.Lock()
	st := s.sites[name]
	s.mu.Unlock()
	if st != nil {
		return st, nil
	}
	if _, err := os.Stat(filepath.Join(s.dir(name), phm.FilesName)); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoSite
	} else if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sites[name] == nil {
		s.sites[name] = &storeSite{s: s, name: name, table: filepath.Join(s.dir(name), phm.FilesName)}
	}
	return s.sites[name], nil
}

// Close lets go of the open trees. Snapshots that are still in use stay usable until they are released.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.sites {
		st.mu.Lock()
		st.live.release()
		st.live = nil
		st.mu.Unlock()
		st.old.close()
	}
	clear(s.sites)
	return nil
}

// storeSite is one site, with its current version open.
type storeSite struct {
	s     *Store
	name  string
	table string // path of the published file table

	build sync.Mutex // held by who reads a tree or the database
	mu    sync.Mutex // guards live
	live  *openTree

	old oldTrees

	space atomic.Pointer[space.Overlay] // as it was last read
}

// Versions lists the kept versions and the current one.
func (st *storeSite) Versions() ([]Version, error) {
	t, err := st.current()
	if err != nil {
		return nil, err
	}
	defer t.release()
	return append(slices.Clone(t.known().kept), t.version()), nil
}

// History tells what there is to tell without opening old versions.
func (st *storeSite) History(ctx context.Context, u site.URL) (all []State, ok bool, err error) {
	t, err := st.current()
	if err != nil {
		return nil, false, err
	}
	defer t.release()
	if len(t.known().kept) == 0 {
		if _, ok, err := t.Find(u); err != nil || ok {
			return []State{{Version: t.version()}}, err == nil, err
		}
	}
	if h, ok := st.s.kept.(KeptHistorian); ok {
		all, err = h.History(ctx, st.name, u)
		if errors.Is(err, db.ErrBusy) { // open versions can be served
			return nil, false, nil
		}
		return all, err == nil, err
	}
	return nil, false, nil
}

// Snapshot opens a version.
func (st *storeSite) Snapshot(ctx context.Context, number int) (*Snapshot, error) {
	t, err := st.current()
	if err != nil {
		return nil, err
	}
	if number != 0 && number != t.meta.Version {
		known := slices.ContainsFunc(t.known().kept, func(v Version) bool { return v.Number == number })
		t.release()
		if !known {
			return nil, ErrNoVersion
		}
		if t, err = st.old.get(ctx, st.s.kept, st.name, number); err != nil {
			return nil, fmt.Errorf("open version %d of mirror %s: %w", number, st.name, err)
		}
	}
	return t.snapshot(), nil
}

// current returns the published tree; the caller releases it. A tree is read again when another table lies
// where current points; who asks meanwhile waits for it.
func (st *storeSite) current() (*openTree, error) {
	if t, err := st.opened(); t != nil || err != nil {
		return t, err
	}
	st.build.Lock()
	defer st.build.Unlock()
	if t, err := st.opened(); t != nil || err != nil {
		return t, err
	}
	t, err := st.read()
	if err != nil {
		return nil, err
	}
	t.users.Add(1) // the caller
	st.old.close() // what was taken down went from these, too
	st.mu.Lock()
	defer st.mu.Unlock()
	st.live.release()
	st.live = t
	return t, nil
}

// known returns the facts of a tree. They are read when they are first used, so that a list of mirrors opens
// no database; who asks meanwhile waits.
func (t *openTree) known() *facts {
	switch f := t.facts.Load(); {
	case f == nil:
		t.site.build.Lock()
	case !f.due(t.site) || !t.site.build.TryLock():
		return f
	}
	defer t.site.build.Unlock()
	f := t.facts.Load()
	if f == nil || f.due(t.site) {
		f = t.site.facts(t)
		t.facts.Store(f)
	}
	return f
}

// opened returns the tree that is open, with one more user; nil when it is not the published one.
func (st *storeSite) opened() (*openTree, error) {
	fi, err := os.Stat(st.table)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if err != nil {
		st.live.release()
		st.live = nil
		return nil, ErrNoVersion
	}
	if st.live == nil || !st.live.is(fi) {
		return nil, nil
	}
	st.live.users.Add(1)
	return st.live, nil
}

// read opens the published tree, with one user: storeSite itself.
func (st *storeSite) read() (*openTree, error) {
	root, err := regular.OpenRoot(st.s.dir(st.name))
	if err != nil {
		return nil, fmt.Errorf("open mirror %s: %w", st.name, err)
	}
	t, err := readTree(root.FS(), root)
	if err != nil {
		return nil, fmt.Errorf("open mirror %s: %w", st.name, err)
	}
	t.site = st
	t.facts.Store(nil)
	return t, nil
}
