// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"io"

	"mirrord/mirror/intake"
	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// resumeLinks puts into the frontier what the documents that were answered before an interruption link to.
// New URLs are in the journal, but a URL that was known and is not in the mirror, such as a page that was
// gone, enters the frontier only when a document links to it; the interruption forgot that.
func (r *reading) resumeLinks() error {
	skip := map[uint32]bool{} // documents whose list in the store does not count
	maps := map[uint32]store.Resource{}
	look := func(rec *store.Resource) {
		delete(maps, rec.ID)
		switch {
		case rec.Run != r.run.Number || rec.NoFollow:
			skip[rec.ID] = true
		case ledger.IsSitemap(rec):
			maps[rec.ID] = *rec
		case !rec.InSet:
			skip[rec.ID] = true
		}
		if rec.Run == r.run.Number && rec.Outcome == site.Redirected && rec.Target > 0 {
			r.admission.Stored(store.AppendTargets(nil, []uint32{rec.Target - 1}))
		}
	}
	err := r.site.Records.Resources(func(rec *store.Resource) error {
		look(rec)
		return nil
	})
	if err != nil {
		return err
	}
	added := func(uint32, store.NewURL) error { return nil }
	err = r.site.Records.Replay(added, func(rec *store.Resource, targets []byte, linked bool) error {
		delete(skip, rec.ID)
		look(rec)
		if linked {
			if !skip[rec.ID] {
				r.admission.Stored(targets)
			}
			skip[rec.ID] = true // what the store has is older
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, rec := range maps {
		if err := r.resumeSitemap(&rec); err != nil {
			return err
		}
	}
	return r.site.Records.Links(func(id uint32, targets []byte) error {
		if !skip[id] {
			r.admission.Stored(targets)
		}
		return nil
	})
}

// resumeSitemap reads a stored index of sitemaps again: those that it names and that were not asked yet must
// be known as sitemaps.
func (r *reading) resumeSitemap(rec *store.Resource) error {
	f, err := r.bodies.Open(rec.Digest, 0, intake.MaxSitemap)
	if err != nil {
		return nil // verify reports it
	}
	defer f.Close()
	body, err := io.ReadAll(f)
	if err != nil {
		return &store.DiskError{Op: "read sitemap", Err: err}
	}
	if list := r.readSitemap(rec.URL, body); list.Index {
		for u := range intake.Locations(rec.URL, list) {
			r.admission.Sitemap(u)
		}
	}
	return nil
}
