// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"mirrord/archive/crawls"
	"mirrord/phm"
)

// Files are mirrors in files of their own: PHM archives, of one version unless they hold all, and web
// archives, of one for each crawl in which something changed. They do not change. Add, AddRecorded and AddZIM
// come first; then the methods of Sites may be called from many goroutines at once.
type Files struct{ mirrors map[string]fileMirror }

// fileMirror is a mirror in a file.
type fileMirror interface {
	Site
	io.Closer
	// pages calls f for each page.
	pages(f func(*FilePage) error) error
}

// add adds a mirror, or closes it with an error.
func (s *Files) add(name string, m fileMirror) error {
	if s.mirrors[name] != nil {
		return errors.Join(fmt.Errorf("two mirrors have the name %s; rename one of the files", name), m.Close())
	}
	if s.mirrors == nil {
		s.mirrors = map[string]fileMirror{}
	}
	s.mirrors[name] = m
	return nil
}

// FilePast is the older versions that a PHM holds beside its own.
type FilePast struct {
	*crawls.Recordings
	io.Closer
}

// Add serves a tree of some form under a name; past is nil for one without older versions. Both are closed
// with the Files, or at once with an error.
func (s *Files) Add(ctx context.Context, name, form string, tree KeptTree, past *FilePast) error {
	t, err := readTree(tree, tree)
	m := &fileSite{tree: t, form: form}
	if past != nil && err == nil {
		m.past, err = newRecorded(ctx, form, past.Recordings, past.Closer)
	} else if past != nil {
		err = errors.Join(err, past.Close())
	}
	if err != nil {
		t.release()
		return err
	}
	return s.add(name, m)
}

// Close closes the files. No request may be under way.
func (s *Files) Close() {
	for _, m := range s.mirrors {
		m.Close() // they were only read
	}
	s.mirrors = nil
}

// Names lists the mirrors, sorted.
func (s *Files) Names() ([]string, error) { return slices.Sorted(maps.Keys(s.mirrors)), nil }

// Site returns a mirror.
func (s *Files) Site(name string) (Site, error) {
	if m := s.mirrors[name]; m != nil {
		return m, nil
	}
	return nil, ErrNoSite
}

// Pages calls f for each page of a mirror.
func (s *Files) Pages(name string, f func(*FilePage) error) error { return s.mirrors[name].pages(f) }

// fileSite is a mirror in a file.
type fileSite struct {
	tree *openTree
	form string
	past *recordedSite // nil: only one version
}

func (s *fileSite) Close() error {
	s.tree.release()
	if s.past != nil {
		return s.past.Close()
	}
	return nil
}

// Versions are the older ones and the one that the file is.
func (s *fileSite) Versions() (all []Version, err error) {
	if s.past != nil {
		for _, c := range s.past.crawls {
			if c.Number < s.tree.meta.Version {
				all = append(all, c.Version)
			}
		}
	}
	return append(all, s.tree.version()), nil
}

// Snapshot opens a version.
func (s *fileSite) Snapshot(ctx context.Context, number int) (*Snapshot, error) {
	switch {
	case number == 0 || number == s.tree.meta.Version:
		s.tree.users.Add(1)
		snap := s.tree.snapshot()
		snap.Form = s.form
		return snap, nil
	case s.past == nil || number > s.tree.meta.Version:
		return nil, ErrNoVersion
	}
	return s.past.Snapshot(ctx, number)
}

func (s *fileSite) pages(f func(*FilePage) error) error {
	t := s.tree
	for line, err := range phm.Files(io.NewSectionReader(t.table, 0, 1<<62)) {
		if err != nil {
			return err
		}
		r, err := resourceOf(line)
		if err != nil || r.URL.IsZero() || !isPageType(r.MIME) {
			continue // the table of another kind of line is no page
		}
		p, last := &FilePage{URL: r.URL}, false
		if s.past != nil {
			p, last = s.past.page(r.URL, t.meta.Version)
		}
		p.saw(t.meta.Version, binary.LittleEndian.Uint64(r.Digest[:]), t, last)
		p.now()
		if err := f(p); err != nil {
			return err
		}
	}
	return s.gone(f)
}

// gone calls f for the pages that only older versions have.
func (s *fileSite) gone(f func(*FilePage) error) error {
	if s.past == nil {
		return nil
	}
	for _, u := range s.past.archive.Each() {
		if _, ok, err := s.tree.Find(u); err != nil || ok {
			continue
		}
		p, _ := s.past.page(u, s.tree.meta.Version)
		if len(p.Intervals) == 0 {
			continue
		}
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
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
