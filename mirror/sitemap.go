// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"

	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// Limits of sitemaps (sitemaps.org, protocol): 50 MB and 50 000 locations each; we read somewhat more of
// careless ones.
const (
	maxSitemapBytes = 64 << 20
	maxLocations    = 200_000
	maxSitemaps     = 2000 // of one run, against indexes that name one another
)

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

// sitemapFormat marks the record of a sitemap that robots.txt or an index named. Its body is a blob; a
// sitemap that a page links to is a document like any other, in a pack.
const sitemapFormat = uint8(relocate.Sitemap)

// sitemap admits what a sitemap or an index of sitemaps names, and returns the numbers of that.
func (r *run) sitemap(now *store.Resource, body []byte, p *processor) ([]uint32, error) {
	p.ids = p.ids[:0]
	list := r.readSitemap(now.URL, body)
	p.cands = p.cands[:0]
	for _, e := range list.Entries {
		u, _, err := now.URL.Resolve(e.Loc)
		if err != nil {
			continue
		}
		if list.Index {
			if id := r.addSitemap(u); id >= 0 {
				p.ids = append(p.ids, id)
			}
			continue
		}
		p.cands = append(p.cands, admit.Candidate{URL: []byte(u.String()), Follow: true})
	}
	if list.Index {
		return p.targets(nil), nil
	}
	p.ids = slices.Grow(p.ids, len(p.cands))[:len(p.cands)]
	add := r.admitInto(p.ids, now.ID, 0, p.cands)
	if err := r.evidence.HearSitemap(list, now.URL); err != nil { // before anybody asks for what it names
		return nil, err
	}
	r.enqueue(add...)
	return p.targets(nil), nil
}

// readSitemap reads the body of a sitemap, packed or not.
func (r *run) readSitemap(u site.URL, body []byte) relocate.SitemapList {
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		body = r.gunzip(u, body)
	}
	list := relocate.ScanSitemap(body, maxLocations)
	if list.Truncated {
		r.notes.Add(fmt.Sprintf("sitemaps with more than %d locations: the rest was not read", maxLocations), u)
	}
	return list
}

// mapsOf returns the sitemaps that an index names; none when body is no index.
func (r *run) mapsOf(base site.URL, body []byte) (out []site.URL) {
	list := r.readSitemap(base, body)
	if !list.Index {
		return nil
	}
	for _, e := range list.Entries {
		if u, _, err := base.Resolve(e.Loc); err == nil {
			out = append(out, u)
		}
	}
	return out
}

// gunzip unpacks a .gz sitemap. What can be read of a damaged one is used.
func (r *run) gunzip(u site.URL, body []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		r.notes.Add("sitemaps that could not be unpacked", u)
		return nil
	}
	out, err := io.ReadAll(io.LimitReader(z, maxSitemapBytes+1))
	if err != nil || len(out) > maxSitemapBytes {
		r.notes.Add("sitemaps that could not be unpacked whole", u)
	}
	return out[:min(len(out), maxSitemapBytes)]
}
