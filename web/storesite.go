package web

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// Store serves the mirrors of a state directory. The published tree alone is enough: its file table has URLs and types. Redirects and
// charsets are in the site's database, which a run keeps locked; they are read once for each version, as soon as it can be had, and a
// moment's look is all that the lock is held for. It is safe for concurrent use.
type Store struct {
	state *store.State
	now   func() time.Time

	mu    sync.Mutex // guards sites
	sites map[string]*storeSite
}

// NewStore returns the Sites of a state directory, which must stay open as long as they are used. now is the clock; nil is time.Now.
func NewStore(st *store.State, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{state: st, now: now, sites: map[string]*storeSite{}}
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
	if !store.ValidName(name) {
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
		s.sites[name] = &storeSite{s: s, name: name}
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
	}
	clear(s.sites)
	return nil
}

// storeSite is one site, with its current version open.
type storeSite struct {
	s    *Store
	name string

	build sync.Mutex // held by who reads a tree or the database
	mu    sync.Mutex // guards live
	live  *openTree
}

// Versions lists the current version.
func (st *storeSite) Versions() ([]Version, error) {
	t, err := st.current()
	if err != nil {
		return nil, err
	}
	defer t.release()
	return []Version{t.version()}, nil
}

// Snapshot opens the current version.
func (st *storeSite) Snapshot(_ context.Context, number int) (*Snapshot, error) {
	t, err := st.current()
	if err != nil {
		return nil, err
	}
	if number != 0 && number != t.meta.Version {
		t.release()
		return nil, ErrNoVersion
	}
	m := t.meta
	return &Snapshot{Version: t.version(), Primary: m.Primary, Entry: m.Entry, Title: m.Title, Files: m.Files, Bytes: m.Bytes,
		Table: t, Release: sync.OnceFunc(t.release)}, nil
}

// current returns the published tree; the caller releases it. A tree is read anew when another table lies where current points; who asks
// meanwhile waits for it.
func (st *storeSite) current() (*openTree, error) {
	if t, err := st.opened(); t != nil || err != nil {
		if t != nil && t.facts.Load().due(st.s.now()) && st.build.TryLock() {
			t.facts.Store(st.facts(t))
			st.build.Unlock()
		}
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
	t.facts.Store(st.facts(t))
	t.users.Add(1) // the caller
	st.mu.Lock()
	defer st.mu.Unlock()
	st.live.release()
	st.live = t
	return t, nil
}

// opened returns the tree that is open, with one more user; nil when it is not the published one.
func (st *storeSite) opened() (*openTree, error) {
	fi, err := os.Stat(st.table())
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

// table is the path of the published file table.
func (st *storeSite) table() string { return filepath.Join(st.s.dir(st.name), phm.FilesName) }

// read opens the published tree, with one user: storeSite itself.
func (st *storeSite) read() (_ *openTree, err error) {
	root, err := os.OpenRoot(st.s.dir(st.name))
	if err != nil {
		return nil, fmt.Errorf("open mirror %s: %w", st.name, err)
	}
	t := &openTree{root: root, current: st.table()}
	t.users.Store(1)
	defer func() {
		if err != nil {
			t.release()
			err = fmt.Errorf("open mirror %s: %w", st.name, err)
		}
	}()
	if t.meta, err = phm.OpenMeta(root.FS()); err != nil {
		return nil, err
	}
	if p, _, perr := site.Parse(t.meta.Primary + "/"); perr != nil || p.Origin() != t.meta.Primary {
		return nil, fmt.Errorf("%s: primary origin %q: %w", phm.MetaName, t.meta.Primary, phm.ErrNotPHM)
	}
	if t.table, err = root.Open(phm.FilesName); err != nil {
		return nil, err
	}
	if t.stat, err = t.table.Stat(); err != nil {
		return nil, err
	}
	t.index, err = indexTable(t.table, t.meta.Files)
	return t, err
}

// openTree is a published tree, held open. It is closed with its last user.
type openTree struct {
	root  *os.Root
	meta  *phm.Meta
	table *os.File
	stat  fs.FileInfo // of the table
	index *tableIndex
	facts atomic.Pointer[facts]
	users atomic.Int64

	current string // path of the published file table
}

// is reports whether fi is this tree's table.
func (t *openTree) is(fi fs.FileInfo) bool {
	return os.SameFile(fi, t.stat) && fi.ModTime().Equal(t.stat.ModTime()) && fi.Size() == t.stat.Size()
}

func (t *openTree) release() {
	if t == nil || t.users.Add(-1) != 0 {
		return
	}
	if t.table != nil {
		t.table.Close() // read only: nothing can be lost
	}
	t.root.Close()
}

func (t *openTree) version() Version { return Version{t.meta.Version, t.meta.Retrieved} }

// Find returns the resource of a URL.
func (t *openTree) Find(u site.URL) (Resource, bool, error) {
	f, _, err := t.index.byURL(t.table, u)
	if f != nil {
		return t.resource(f)
	}
	if facts := t.facts.Load(); err == nil && facts != nil {
		if to, ok := facts.redirects[u]; ok {
			return Resource{URL: u, Status: to.status, RedirectTo: to.to}, true, nil
		}
	}
	return Resource{}, false, err
}

// At returns the file at a mirror path.
func (t *openTree) At(path string) (Resource, bool, error) {
	f, _, err := t.index.byPath(t.table, path)
	if f == nil {
		return Resource{}, false, err
	}
	return t.resource(f)
}

func (t *openTree) resource(f *phm.File) (Resource, bool, error) {
	r, err := resourceOf(f)
	if facts := t.facts.Load(); err == nil && facts != nil {
		if i, ok := facts.charsets[maphash.String(t.index.seed, f.URL)]; ok {
			r.Charset = facts.names[i]
		}
	}
	return r, err == nil, err
}

// Open opens a file. A run works on the tree that is not published, so what was opened is right when this tree is the published one after
// that; files are replaced, never written into, so it stays right.
func (t *openTree) Open(r Resource) (io.ReadSeekCloser, error) {
	f, err := t.root.Open(filepath.FromSlash(r.Path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if now, serr := os.Stat(t.current); serr != nil || !t.is(now) {
		if f != nil {
			f.Close()
		}
		return nil, fmt.Errorf("%s: %w", r.Path, ErrMoved)
	}
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && (!fi.Mode().IsRegular() || fi.Size() != r.Size) {
		err = fmt.Errorf("%s: %w: not the file that %s describes", r.Path, store.ErrDamaged, phm.FilesName)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
