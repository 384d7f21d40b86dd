// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"slices"

	"mirrord/mirror/intake"
	"mirrord/mirror/ledger"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// sitemap admits what a sitemap or an index of sitemaps names, and returns the numbers of that.
func (r *reading) sitemap(
	now *store.Resource, x *intake.Extract, as *ledger.Account,
) (targets []uint32, err error) {
	if x.Sitemap.Index {
		for u := range intake.Locations(now.URL, *x.Sitemap) {
			if id := r.admission.Sitemap(u); id >= 0 {
				targets = append(targets, uint32(id))
			}
		}
		slices.Sort(targets)
		return slices.Compact(targets), nil
	}
	add := r.admit(now.ID, 0, x, as)
	// Before anybody asks for what it names.
	if err := r.advice.Evidence.HearSitemap(*x.Sitemap, now.URL); err != nil {
		return nil, err
	}
	r.motor.Entrance.Add(add...)
	return x.Targets(r.rules), nil
}

// readSitemap reads a stored sitemap again.
func (r *reading) readSitemap(u site.URL, body []byte) relocate.SitemapList {
	list, notes := intake.ReadSitemap(body)
	for _, what := range notes {
		r.notes.Add(what, u)
	}
	return list
}
