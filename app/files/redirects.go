// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"cmp"
	"fmt"

	"mirrord/app/env"
	"mirrord/archive"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

func IsRedirect(rec *record.Resource) bool { return !rec.InSet && rec.Target > 0 }

// Numbered returns the place of a version among all.
func Numbered(s *store.Site, vs []record.Version, number int) (int, error) {
	i := render.VersionAt(vs, number)
	if i < 0 {
		return 0, env.NoVersion(s.Name, number)
	}
	return i, nil
}

// mostHops is how many redirects are followed to a file.
const mostHops = 20

// RedirectsOf returns the redirects of a version that lead to files, in the order of their URLs; 0 is the
// published one. A redirect has no file; its path is the one that a file at its URL would prefer.
func RedirectsOf(st *store.State, name string, number int) (out []archive.Redirect, err error) {
	err = env.View(st, name, func(s *store.Site) (err error) {
		out, err = RedirectsIn(s, number)
		return err
	})
	return out, err
}

// RedirectsIn is redirectsOf for a site that is open.
func RedirectsIn(s *store.Site, number int) ([]archive.Redirect, error) {
	v, err := versionNumbered(s, number)
	if err != nil {
		return nil, err
	}
	return findRedirects(s, v)
}

// versionNumbered returns a kept version, for 0 the newest.
func versionNumbered(s *store.Site, number int) (v record.Version, err error) {
	vs, err := s.Versions.List()
	if err != nil {
		return v, err
	}
	if len(vs) == 0 {
		return v, fmt.Errorf("site %s: %w", s.Name, record.ErrNoVersion)
	}
	i := len(vs) - 1
	if number != 0 {
		if i, err = Numbered(s, vs, number); err != nil {
			return v, err
		}
	}
	return vs[i], nil
}

func findRedirects(s *store.Site, v record.Version) (out []archive.Redirect, err error) {
	m, err := phm.ReadMeta(bytes.NewReader(v.Meta))
	if err != nil {
		return nil, err
	}
	layout := phm.Layout{Primary: m.Primary}
	err = EachRedirect(s, v.Number, func(from site.URL, to *Redirected) {
		if to.path != "" {
			out = append(out, archive.Redirect{Path: layout.Preferred(from, to.mime), Target: to.path})
		}
	})
	return out, err
}

// Redirected is the target of a redirect, at the end of its chain, with the last fragment that one names.
type Redirected struct{ URL, path, mime, Part string }

// EachRedirect calls f for each redirect of a version whose target is a resource of it, in the order of the
// URLs.
func EachRedirect(s *store.Site, number int, f func(from site.URL, to *Redirected)) error {
	past, err := s.Versions.Past(number)
	if err != nil {
		return err
	}
	type redirect struct {
		from site.URL
		part string
		to   uint32 // number of a URL
	}
	var all []redirect
	next := map[uint32]redirect{}
	err = past.Resources(func(rec *record.Resource, here bool) error {
		if here && IsRedirect(rec) {
			next[rec.ID] = redirect{rec.URL, rec.Fragment, rec.Target - 1}
			all = append(all, next[rec.ID])
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return err
	}
	ends := map[uint32]*Redirected{}
	for i := range all {
		for hop := 0; hop < mostHops; hop++ {
			to, more := next[all[i].to]
			if !more {
				break
			}
			all[i].to, all[i].part = to.to, cmp.Or(to.part, all[i].part)
		}
		ends[all[i].to] = nil
	}
	err = past.Resources(func(rec *record.Resource, here bool) error {
		if _, wanted := ends[rec.ID]; wanted && here && rec.InSet {
			ends[rec.ID] = &Redirected{URL: rec.URL.String(), path: rec.Path, mime: rec.MIME}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range all {
		if to := ends[r.to]; to != nil {
			to.Part = r.part
			f(r.from, to)
		}
	}
	return nil
}
