// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/disk"
)

// openTree is the tree of a version, held open. It is closed with its last user. It is safe for concurrent
// use.
type openTree struct {
	fsys  fs.FS
	close io.Closer
	meta  *phm.Meta
	table tableReader
	stat  fs.FileInfo // of the table
	index *phm.TableIndex
	seed  maphash.Seed          // of the charsets
	facts atomic.Pointer[facts] // see known
	users atomic.Int64

	site *storeSite // of a published tree; nil of one that does not change
}

type tableReader interface {
	io.ReaderAt
	io.Closer
}

// readTree opens a tree, with one user: the caller. c is closed with the tree, or at once with an error.
func readTree(fsys fs.FS, c io.Closer) (_ *openTree, err error) {
	t := &openTree{fsys: fsys, close: c, seed: maphash.MakeSeed()}
	t.users.Store(1)
	t.facts.Store(&facts{known: true})
	defer func() {
		if err != nil {
			t.release()
		}
	}()
	if t.meta, err = phm.OpenMeta(fsys); err != nil {
		return nil, err
	}
	if p, _, perr := site.Parse(t.meta.Primary + "/"); perr != nil || p.Origin() != t.meta.Primary {
		return nil, fmt.Errorf("%s: primary origin %q: %w", phm.MetaName, t.meta.Primary, phm.ErrNotPHM)
	}
	f, err := fsys.Open(phm.FilesName)
	if err != nil {
		return nil, err
	}
	if t.stat, err = f.Stat(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if at, ok := f.(io.ReaderAt); ok {
		t.table = struct {
			io.ReaderAt
			io.Closer
		}{at, f}
		t.index, err = phm.IndexTable(f, t.meta.Files)
		return t, err
	}
	b, err := io.ReadAll(f) // from an archive
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	t.table = memory{bytes.NewReader(b)}
	t.index, err = phm.IndexTable(bytes.NewReader(b), t.meta.Files)
	return t, err
}

// memory is a file that was read whole.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

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
	t.close.Close()
}

func (t *openTree) version() Version { return Version{t.meta.Version, t.meta.Retrieved} }

// Find returns the resource of a URL.
func (t *openTree) Find(u site.URL) (Resource, bool, error) {
	f, err := t.index.ByURL(t.table, u.String())
	if f != nil {
		res, ok, err := t.resource(f)
		res.URL = u // one of several, when it is shared
		return res, ok, err
	}
	if err == nil {
		if to, ok := t.known().redirects[u]; ok {
			return Resource{
				URL:          u,
				Status:       to.status,
				RedirectTo:   to.to,
				RedirectPart: to.part,
			}, true, nil
		}
	}
	return Resource{}, false, err
}

// At returns the file at a mirror path.
func (t *openTree) At(path string) (Resource, bool, error) {
	f, err := t.index.ByPath(t.table, path)
	if f == nil {
		return Resource{}, false, err
	}
	return t.resource(f)
}

func (t *openTree) resource(f *phm.File) (Resource, bool, error) {
	r, err := resourceOf(f)
	if err != nil {
		return Resource{}, false, err
	}
	facts := t.known()
	if i, ok := facts.charsets[maphash.String(t.seed, f.URL)]; ok {
		r.Charset = facts.names[i]
	}
	return r, true, nil
}

// Open opens a file. A run works on the tree that is not published, so what was opened is right when this
// tree is the published one after that; files are replaced, never written into, so it stays right.
func (t *openTree) Open(r Resource) (io.ReadSeekCloser, error) {
	f, err := t.fsys.Open(r.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if t.site != nil {
		if now, serr := os.Stat(t.site.table); serr != nil || !t.is(now) {
			if f != nil {
				f.Close()
			}
			return nil, fmt.Errorf("%s: %w", r.Path, ErrMoved)
		}
	}
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && (!fi.Mode().IsRegular() || fi.Size() != r.Size) {
		err = fmt.Errorf("%s: %w: not the file that %s describes", r.Path, disk.ErrDamaged, phm.FilesName)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	if s, ok := f.(io.ReadSeekCloser); ok {
		return s, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, r.Size)) // from an archive
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return memory{bytes.NewReader(b)}, nil
}

// Kept gives access to versions of a site that are no longer published. Its methods are called from many
// goroutines at once.
type Kept interface {
	// Versions lists them, oldest first; the current one may be among them. It is called once for each version
	// that is published, and again after an error.
	Versions(name string) ([]Version, error)
	// Open opens one as the tree of a PHM. Files of it are read from many goroutines at once; those that can
	// seek and read anywhere are read as they are, others whole. It is closed when it has not been used for a
	// while.
	Open(ctx context.Context, name string, number int) (KeptTree, error)
}

// KeptHistorian is a Kept that knows the states of a URL as a Historian does, in the current version too.
// Without it a TimeMap costs a look into every version, and Mementos do not link to their neighbours.
type KeptHistorian interface {
	History(ctx context.Context, name string, u site.URL) ([]State, error)
}

// KeptTree is the tree of a version.
type KeptTree interface {
	fs.FS
	io.Closer
}

// keptOpen is how many old versions of a site stay open.
const keptOpen = 4

// oldTrees are the old versions of a site that are open, last used first.
type oldTrees struct {
	mu   sync.Mutex // held while one is opened: who asks for the same waits
	open []*openTree
}

// get returns a version; the caller releases it.
func (o *oldTrees) get(ctx context.Context, kept Kept, name string, number int) (*openTree, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, t := range o.open {
		if t.meta.Version == number {
			copy(o.open[1:i+1], o.open[:i])
			o.open[0] = t
			t.users.Add(1)
			return t, nil
		}
	}
	tree, err := kept.Open(ctx, name, number)
	if err != nil {
		return nil, err
	}
	t, err := readTree(tree, tree)
	if err != nil {
		return nil, err
	}
	if t.meta.Version != number {
		defer t.release()
		return nil, fmt.Errorf("%s says that it is version %d: %w", phm.MetaName, t.meta.Version, disk.ErrDamaged)
	}
	if len(o.open) == keptOpen {
		o.open[keptOpen-1].release()
		o.open = o.open[:keptOpen-1]
	}
	o.open = append([]*openTree{t}, o.open...)
	t.users.Add(1)
	return t, nil
}

func (o *oldTrees) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.open {
		t.release()
	}
	o.open = nil
}
