// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"fmt"

	"mirrord/site"
	"mirrord/store"
)

// maxSitemaps is how many sitemaps a run reads, against indexes that name one another.
const maxSitemaps = 2000

// Sitemap lets one sitemap enter the frontier, when it is on a host of the scope, and returns its number; -1
// when it is not.
func (a *Admission) Sitemap(u site.URL) (id int64) {
	u = a.o.Rules.Main(u)
	if !a.o.Rules.AllowSitemap(u) || len(u.String()) > store.MaxURL {
		return -1
	}
	if a.o.Traits.CountSitemaps() >= maxSitemaps {
		a.o.Notes.Cap(fmt.Sprintf("more than %d sitemaps: the rest was not read", maxSitemaps))
		return -1
	}
	n, first := a.o.Table.Enter([]byte(u.String()), 0)
	a.o.Traits.NoteSitemap(n) // before a worker may take it
	if first {
		a.o.Front.Add(u.Origin(), n, PrioSeed)
	}
	return int64(n)
}

// Sitemaps lets the sitemaps that the robots.txt of an origin names enter the frontier.
func (a *Admission) Sitemaps(origin site.URL, maps []string) {
	for _, m := range maps {
		if u, _, err := origin.Resolve(m); err == nil {
			a.Sitemap(u)
		}
	}
}
