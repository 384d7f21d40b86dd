// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"

	"mirrord/mirror/render"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// An explanation reads the records that it names, by key. Only a number needs more, because no index leads
// from it to its URL: one pass over the numbers of all records, which keeps nothing.

// record returns the latest record of a URL: the journal of an unfinished run knows more than the record.
func (v *View) record(u site.URL) (rec record.Resource, known bool, err error) {
	if v.Site == nil || u.IsZero() {
		return rec, false, nil
	}
	if rec, known, err = v.Site.Records.Get(u); err != nil {
		return rec, false, err
	}
	err = v.Site.Records.Replay(
		func(id uint32, n record.NewURL) error {
			if !known && n.URL == u.String() {
				known = true
				rec = record.Resource{
					ID:       id,
					URL:      u,
					Outcome:  site.Pending,
					Referrer: n.Referrer,
					Depth:    n.Depth,
					Requis:   n.Requis,
				}
			}
			return nil
		},
		func(r *record.Resource, _ []byte, _ bool) error {
			if r.URL == u {
				head, last := rec.Head, rec.LastHead // the journal's are not folded yet
				if r.Digest != rec.Digest {
					head = record.HeadPlace{}
				}
				known, rec = true, *r
				rec.Head, rec.LastHead = head, last
			}
			return nil
		})
	return rec, known, err
}

// urls returns the URLs of some numbers, as far as there are any.
func (v *View) urls(ids ...uint32) (map[uint32]site.URL, error) {
	out := map[uint32]site.URL{}
	for _, id := range ids {
		out[id] = site.URL{}
	}
	err := v.Site.Records.Numbers(func(id, _ uint32) bool {
		u, wanted := out[id]
		return wanted && u.IsZero()
	}, func(id uint32, u site.URL) { out[id] = u })
	return out, err
}

// trail returns the documents by which a resource was found, the one that names it first, up to an entry
// point or to one that is no longer there, but not more than 50. It takes four bytes for each URL of the
// site while it works.
func (v *View) trail(rec *record.Resource) (out []string, err error) {
	if rec.Referrer == 0 {
		return nil, nil
	}
	n, err := v.Site.Records.Known()
	if err != nil {
		return nil, err
	}
	referrers := make([]uint32, n) // plus one
	err = v.Site.Records.Numbers(func(id, referrer uint32) bool {
		if id < n {
			referrers[id] = referrer
		}
		return false
	}, nil)
	if err != nil {
		return nil, err
	}
	var ids []uint32
	for ref := rec.Referrer; ref > 0 && ref <= n && len(ids) < 50; ref = referrers[ref-1] {
		ids = append(ids, ref-1)
	}
	urls, err := v.urls(ids...)
	for _, id := range ids {
		doc, _, gerr := v.Site.Records.Get(urls[id])
		if err = errors.Join(err, gerr); err != nil || isOver(&doc) {
			break
		}
		out = append(out, urls[id].String())
	}
	return out, err
}

// isOver reports whether a document was forgotten, left the scope of the job, or is gone.
func isOver(doc *record.Resource) bool {
	return !doc.InSet && (doc.Outcome == site.OutOfScope || doc.Outcome == site.Gone)
}

// target returns what a record redirects to; without a URL when it does not, or has no record.
func (v *View) target(rec *record.Resource) (record.Resource, error) {
	if rec.Target == 0 || rec.InSet {
		return record.Resource{}, nil
	}
	urls, err := v.urls(rec.Target - 1)
	if err != nil {
		return record.Resource{}, err
	}
	to, _, err := v.record(urls[rec.Target-1])
	return to, err
}

// final follows redirects to the resource that holds the content, which need not be in the mirror.
func (v *View) final(rec record.Resource) (record.Resource, error) {
	for range urls.MaxHops {
		to, err := v.target(&rec)
		if err != nil || to.URL.IsZero() {
			return rec, err
		}
		rec = to
	}
	return rec, nil
}

// twin returns the other one of two resources that want the mirror path of a directory's index; without a
// path when none exists.
func (v *View) twin(rec *record.Resource) (record.Resource, error) {
	u := site.Canonical(render.IndexTwin(rec.URL, rec.MIME))
	other, _, err := v.record(u)
	if other.ID == rec.ID {
		return record.Resource{}, err
	}
	return other, err
}

// isKept reports whether a resource belongs to the mirror regardless of its type.
func (v *View) isKept(rec *record.Resource) (bool, error) {
	if isUntypedPage(rec) {
		return true, nil
	}
	for _, u := range v.rules.Seeds {
		lead, _, err := v.record(u)
		for hops := 0; err == nil && !lead.URL.IsZero() && hops <= urls.MaxHops; hops++ {
			if lead.URL == rec.URL {
				return true, nil
			}
			lead, err = v.target(&lead)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// lookedAt returns the last run that looked at a URL, 0 when none did, and the last run.
func (v *View) lookedAt(id uint32) (looked, last int, err error) {
	err = v.Site.Records.Observations(func(o *record.Observation) error {
		if o.Run == v.run.Number {
			return nil // under way
		}
		last = max(last, o.Run)
		if !o.Doubtful && (o.Asked.Has(id) || o.Spared.Has(id)) {
			looked = o.Run
		}
		return nil
	})
	return looked, last, err
}
