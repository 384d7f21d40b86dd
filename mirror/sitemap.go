// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"slices"

	"mirrord/mirror/crawl"
	"mirrord/mirror/intake"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// maxSitemaps is how many sitemaps a run reads, against indexes that name one another.
const maxSitemaps = 2000

// addSitemaps puts the sitemaps that robots.txt names into the frontier.
func (r *run) addSitemaps(origin site.URL, maps []string) {
	for _, m := range maps {
		if u, _, err := origin.Resolve(m); err == nil {
			r.addSitemap(u)
		}
	}
}

// addSitemap puts one sitemap into the frontier, when it is on a host of the scope.
func (r *run) addSitemap(u site.URL) (id int64) {
	if !r.rules.AllowSitemap(u) || len(u.String()) > store.MaxURL {
		return -1
	}
	if r.traits.CountSitemaps() >= maxSitemaps {
		r.notes.Cap(fmt.Sprintf("more than %d sitemaps: the rest was not read", maxSitemaps))
		return -1
	}
	n, first := r.table.Enter([]byte(u.String()), 0)
	r.traits.NoteSitemap(n)
	if first {
		r.front.Add(u.Origin(), n, crawl.PrioSeed)
	}
	return int64(n)
}

// sitemap admits what a sitemap or an index of sitemaps names, and returns the numbers of that.
func (r *run) sitemap(now *store.Resource, x *intake.Extract) (targets []uint32, err error) {
	if x.Sitemap.Index {
		for u := range intake.Locations(now.URL, *x.Sitemap) {
			if id := r.addSitemap(u); id >= 0 {
				targets = append(targets, uint32(id))
			}
		}
		slices.Sort(targets)
		return slices.Compact(targets), nil
	}
	add := r.admitInto(x.IDs, now.ID, 0, x.Candidates)
	if err := r.evidence.HearSitemap(*x.Sitemap, now.URL); err != nil { // before anybody asks for what it names
		return nil, err
	}
	r.entrance.Add(add...)
	return x.Targets(r.rules), nil
}

// readSitemap reads a stored sitemap again.
func (r *run) readSitemap(u site.URL, body []byte) relocate.SitemapList {
	list, notes := intake.ReadSitemap(body)
	for _, what := range notes {
		r.notes.Add(what, u)
	}
	return list
}
