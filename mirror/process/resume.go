// SPDX-License-Identifier: Apache-2.0

package process

import (
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// resumeLinks puts into the frontier what the documents that were answered before an interruption link to.
// New URLs are in the journal, but a URL that was known and is not in the mirror, such as a page that was
// gone, enters the frontier only when a document links to it; the interruption forgot that.
func (r *reading) resumeLinks() error {
	skip := map[uint32]bool{} // documents whose list in the store does not count
	maps := map[uint32]record.Resource{}
	look := func(rec *record.Resource) {
		delete(maps, rec.ID)
		switch {
		case rec.Run != r.Run.Number || rec.NoFollow:
			skip[rec.ID] = true
		case urls.IsSitemap(rec):
			maps[rec.ID] = *rec
		case !rec.InSet:
			skip[rec.ID] = true
		}
		if rec.Run == r.Run.Number && rec.Outcome == site.Redirected && rec.Target > 0 {
			r.Admission.Stored(record.AppendTargets(nil, []uint32{rec.Target - 1}))
		}
	}
	err := r.Records.Resources(func(rec *record.Resource) error {
		look(rec)
		return nil
	})
	if err != nil {
		return err
	}
	added := func(uint32, record.NewURL) error { return nil }
	err = r.Records.Replay(added, func(rec *record.Resource, targets []byte, linked bool) error {
		delete(skip, rec.ID)
		look(rec)
		if linked {
			if !skip[rec.ID] {
				r.Admission.Stored(targets)
			}
			skip[rec.ID] = true // what the store has is older
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, rec := range maps {
		if _, err := r.storedSitemap(&rec); err != nil { // what an index names must be known as sitemaps
			return err
		}
	}
	return r.Records.Links(func(id uint32, targets []byte) error {
		if !skip[id] {
			r.Admission.Stored(targets)
		}
		return nil
	})
}
