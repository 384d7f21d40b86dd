// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Files are mirrors in files of their own, such as PHM archives, of one version, or web archives, of one for
// each crawl. They do not change. Add, AddRecorded and AddZIM come first; then the methods of Sites may be
// called from many goroutines at once.
type Files struct {
	trees    map[string]*openTree
	recorded map[string]*recordedSite
	zims     map[string]*zimSite
}

func (s *Files) has(name string) bool {
	return s.trees[name] != nil || s.recorded[name] != nil || s.zims[name] != nil
}

// Add serves a tree under a name. It is closed with the Files, or at once with an error.
func (s *Files) Add(name string, tree KeptTree) error {
	if s.has(name) {
		return errors.Join(fmt.Errorf("two mirrors have the name %s; rename one of the files", name), tree.Close())
	}
	t, err := readTree(tree, tree)
	if err != nil {
		return err
	}
	if s.trees == nil {
		s.trees = map[string]*openTree{}
	}
	s.trees[name] = t
	return nil
}

// Close closes the trees. No request may be under way.
func (s *Files) Close() {
	for _, t := range s.trees {
		t.release()
	}
	for _, r := range s.recorded {
		r.close.Close()
	}
	for _, z := range s.zims {
		z.close.Close()
	}
	s.trees, s.recorded, s.zims = nil, nil, nil
}

// Names lists the mirrors, sorted.
func (s *Files) Names() ([]string, error) {
	names := slices.Concat(slices.Collect(maps.Keys(s.trees)), slices.Collect(maps.Keys(s.recorded)),
		slices.Collect(maps.Keys(s.zims)))
	slices.Sort(names)
	return names, nil
}

// Site returns a mirror.
func (s *Files) Site(name string) (Site, error) {
	if t := s.trees[name]; t != nil {
		return fileSite{t}, nil
	}
	if r := s.recorded[name]; r != nil {
		return r, nil
	}
	if z := s.zims[name]; z != nil {
		return z, nil
	}
	return nil, ErrNoSite
}

// fileSite is a mirror in a file.
type fileSite struct{ tree *openTree }

// Versions is the one that the file is.
func (s fileSite) Versions() ([]Version, error) { return []Version{s.tree.version()}, nil }

// Snapshot opens it.
func (s fileSite) Snapshot(_ context.Context, number int) (*Snapshot, error) {
	if number != 0 && number != s.tree.meta.Version {
		return nil, ErrNoVersion
	}
	s.tree.users.Add(1)
	return s.tree.snapshot(), nil
}

// snapshot is the tree as a version, for a user that is counted.
func (t *openTree) snapshot() *Snapshot {
	m := t.meta
	return &Snapshot{
		Version: t.version(),
		Primary: m.Primary,
		Entry:   m.Entry,
		Title:   m.Title,
		Authors: m.Authors,

		Copyright: m.Copyright,
		Abstract:  m.Abstract,

		Files:   m.Files,
		Bytes:   m.Bytes,
		Table:   t,
		Tree:    t.fsys,
		Release: sync.OnceFunc(t.release),
	}
}
