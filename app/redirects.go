// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"fmt"

	"mirrord/archive"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// mostHops is how many redirects are followed to a file.
const mostHops = 20

// redirectsOf returns the redirects of a version that lead to files, in the order of their URLs; 0 is the
// published one. A redirect has no file; its path is the one that a file at its URL would prefer.
func redirectsOf(st *store.State, name string, number int) (out []archive.Redirect, err error) {
	err = view(st, name, func(s *store.Site) error {
		v, err := versionNumbered(s, number)
		if err != nil {
			return err
		}
		out, err = findRedirects(s, v)
		return err
	})
	return out, err
}

// versionNumbered returns a kept version, for 0 the newest.
func versionNumbered(s *store.Site, number int) (v store.Version, err error) {
	vs, err := s.Versions.List()
	if err != nil {
		return v, err
	}
	if len(vs) == 0 {
		return v, fmt.Errorf("site %s: %w", s.Name, store.ErrNoVersion)
	}
	i := len(vs) - 1
	if number != 0 {
		if i, err = numbered(s, vs, number); err != nil {
			return v, err
		}
	}
	return vs[i], nil
}

func findRedirects(s *store.Site, v store.Version) (out []archive.Redirect, err error) {
	m, err := phm.ReadMeta(bytes.NewReader(v.Meta))
	if err != nil {
		return nil, err
	}
	past, err := s.Versions.Past(v.Number)
	if err != nil {
		return nil, err
	}
	type redirect struct {
		from site.URL
		to   uint32 // number of a URL
	}
	var all []redirect
	next := map[uint32]uint32{}
	err = past.Resources(func(rec *store.Resource, here bool) error {
		if here && isRedirect(rec) {
			all = append(all, redirect{rec.URL, rec.Target - 1})
			next[rec.ID] = rec.Target - 1
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	type file struct{ path, mime string }
	files := map[uint32]file{}
	for i := range all {
		for hop := 0; hop < mostHops; hop++ {
			to, more := next[all[i].to]
			if !more {
				break
			}
			all[i].to = to
		}
		files[all[i].to] = file{}
	}
	err = past.Resources(func(rec *store.Resource, here bool) error {
		if _, wanted := files[rec.ID]; wanted && here && rec.InSet {
			files[rec.ID] = file{rec.Path, rec.MIME}
		}
		return nil
	})
	layout := phm.Layout{Primary: m.Primary}
	for _, r := range all {
		if f := files[r.to]; f.path != "" {
			out = append(out, archive.Redirect{Path: layout.Preferred(r.from, f.mime), Target: f.path})
		}
	}
	return out, err
}
