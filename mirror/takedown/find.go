// SPDX-License-Identifier: Apache-2.0

package takedown

import (
	"errors"
	"maps"
	"slices"

	"mirrord/mirror/render"
	"mirrord/mirror/scope"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Sought is what a mirror has of something that is to be taken down.
type Sought struct {
	URLs     []string            // that the mirror knows, or knew in a version that is kept
	Twins    []scope.TakeDown    // URLs of the same files, which go too
	Versions int                 // that have files of them
	Entry    string              // the entry page of the mirror, when it is one of them
	Shared   []string            // URLs that stay, and have a body in common with them
	Bodies   map[[32]byte]string // of those that other sites may have too, with a URL of each
}

// Find looks for the resources to take down. It changes nothing.
func Find(s *store.Site, d scope.TakeDown) (*Sought, error) {
	down, err := new(scope.TakeDowns).With(d)
	if err != nil {
		return nil, err
	}
	f := &Sought{Bodies: map[[32]byte]string{}}
	if f.Twins, err = twins(s, down); err != nil {
		return nil, err
	}
	if down, err = down.With(f.Twins...); err != nil {
		return nil, err
	}
	found, shared := map[site.URL]bool{}, map[string]bool{}
	each := func(look func(rec *record.Resource, gone bool)) error {
		return s.Records.Every(func(rec *record.Resource) error {
			look(rec, down.Has(rec.URL))
			return nil
		})
	}
	err = each(func(rec *record.Resource, gone bool) {
		if !gone || isStub(rec) {
			return
		}
		found[rec.URL] = true
		if rec.Body == record.BlobBody {
			f.Bodies[rec.Digest] = rec.URL.String()
		}
	})
	if err != nil {
		return nil, err
	}
	err = each(func(rec *record.Resource, gone bool) {
		if _, has := f.Bodies[rec.Digest]; has && !gone && rec.Body == record.BlobBody {
			shared[rec.URL.String()] = true
		}
	})
	if err != nil {
		return nil, err
	}
	for u := range found {
		f.URLs = append(f.URLs, u.String())
	}
	slices.Sort(f.URLs)
	f.Shared = slices.Sorted(maps.Keys(shared))
	if f.Versions, err = versionsWith(s, found); err != nil {
		return nil, err
	}
	f.Entry, err = entryOf(s, down)
	return f, err
}

// twins returns the URLs that share files with those of a take-down and are none of it.
func twins(s *store.Site, down *scope.TakeDowns) (out []scope.TakeDown, err error) {
	seen := map[string]bool{}
	err = s.Records.Every(func(rec *record.Resource) error {
		if !rec.InSet || rec.Path != "" {
			return nil
		}
		twin, _, err := site.Parse(render.IndexTwin(rec.URL, rec.MIME))
		if err != nil || down.Has(rec.URL) == down.Has(twin) {
			return nil
		}
		other := twin
		if down.Has(twin) {
			other = rec.URL
		}
		if u := other.String(); !seen[u] {
			seen[u] = true
			d := down.List[0]
			d.What, d.Glob, d.URLs, d.Versions = u, false, 0, 0
			out = append(out, d)
		}
		return nil
	})
	return out, err
}

// versionsWith counts the versions that have one of some URLs.
func versionsWith(s *store.Site, urls map[site.URL]bool) (n int, err error) {
	vs, err := s.Versions.List()
	if err != nil {
		return 0, err
	}
	has := map[int]bool{}
	for u := range urls {
		if len(has) == len(vs) {
			break
		}
		past, err := s.Versions.History(u)
		if err != nil {
			return 0, err
		}
		for _, d := range past {
			if d.Known && d.Record.InSet {
				has[d.Version.Number] = true
			}
		}
	}
	return len(has), nil
}

// entryOf returns the URL of the entry page of the published version when it is part of a take-down.
func entryOf(s *store.Site, down *scope.TakeDowns) (string, error) {
	tree, err := s.Trees.Current()
	if errors.Is(err, record.ErrNoVersion) || errors.Is(err, disk.ErrDamaged) {
		return "", nil // nothing is published, or the next run makes it again
	}
	if err != nil {
		return "", err
	}
	defer tree.Close()
	m, err := phm.OpenMeta(tree.FS())
	if err != nil {
		return "", nil // it is damaged
	}
	entry := ""
	err = render.ScanTable(tree, nil, func(f *phm.File) error {
		if u, _, err := site.Parse(f.URL); f.Path == m.Entry && err == nil && down.Has(u) {
			entry = f.URL
		}
		return nil
	})
	if errors.Is(err, disk.ErrDamaged) {
		err = nil
	}
	return entry, err
}
