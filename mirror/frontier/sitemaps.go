// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// Sitemap lets one sitemap enter the frontier, when it is on a host of the scope, and returns its number; -1
// when it is not. full reports that the run reads no more sitemaps.
func (a *Admission) Sitemap(u site.URL) (id int64, full bool) {
	u = a.Rules.Main(u)
	if !a.Rules.AllowSitemap(u) || len(u.String()) > record.MaxURL {
		return -1, false
	}
	n, known := a.Table.FindURL(u)
	known = known && a.Traits.Is(n, urls.NamedSitemap)
	if !known && a.Traits.CountSitemaps() >= urls.MaxSitemaps {
		return -1, true
	}
	n, first := urls.Enter(a.Table, []byte(u.String()), 0)
	a.Traits.Note(n, urls.NamedSitemap) // before a worker may take it
	if first {
		a.Front.Add(u.Origin(), n, PrioSeed)
	}
	return int64(n), false
}

// Lists lets the lists of changes that a URL shows enter the frontier, but for those that are dead ends.
func (a *Admission) Lists(u site.URL) {
	for _, l := range a.Rules.ListsBeside(u) {
		id, known := a.Table.FindURL(l)
		if !known || !a.Leaves(id, a.Table.State(id)) {
			_, _ = a.Sitemap(l) // without it nothing is skipped
		}
	}
}

// Sitemaps lets the sitemaps that the robots.txt of an origin names enter the frontier. full reports that
// they are more than a run reads.
func (a *Admission) Sitemaps(origin site.URL, maps []string) (full bool) {
	for _, m := range maps {
		if u, _, err := origin.Resolve(m); err == nil {
			_, rest := a.Sitemap(u)
			full = full || rest
		}
	}
	return full
}
