// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"mirrord/mirror/admit"
	"mirrord/relocate"
	"mirrord/site"
)

// Limits of sitemaps (sitemaps.org, protocol): 50 MB and 50 000 locations each; we read somewhat more of
// careless ones.
const (
	MaxSitemap   = 64 << 20 // bytes, unpacked
	maxLocations = 200_000
)

// sitemap reads what a sitemap names.
func (rd *Reader) sitemap(b *Body) {
	x := &rd.x
	list, notes := ReadSitemap(b.Data)
	x.Sitemap, x.Notes = &list, append(x.Notes, notes...)
	if list.Index {
		return
	}
	for u := range Locations(b.URL, list) {
		x.Candidates = append(x.Candidates, admit.Candidate{URL: []byte(u.String()), Follow: true})
	}
}

// Locations returns the URLs that a sitemap, or an index of sitemaps, names.
func Locations(base site.URL, list relocate.SitemapList) func(yield func(site.URL) bool) {
	return func(yield func(site.URL) bool) {
		for _, e := range list.Entries {
			if u, _, err := base.Resolve(e.Loc); err == nil && !yield(u) {
				return
			}
		}
	}
}

// ReadSitemap reads the body of a sitemap, packed or not. What can be read of a damaged one is used, and
// notes say so.
func ReadSitemap(body []byte) (list relocate.SitemapList, notes []string) {
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		var note string
		if body, note = gunzip(body); note != "" {
			notes = append(notes, note)
		}
	}
	list = relocate.ScanSitemap(body, maxLocations)
	if list.Truncated {
		const what = "sitemaps with more than %d locations: the rest was not read"
		notes = append(notes, fmt.Sprintf(what, maxLocations))
	}
	return list, notes
}

// gunzip unpacks a .gz sitemap, and says what is wrong with it.
func gunzip(body []byte) (out []byte, note string) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, "sitemaps that could not be unpacked"
	}
	out, err = io.ReadAll(io.LimitReader(z, MaxSitemap+1))
	if err != nil || len(out) > MaxSitemap {
		note = "sitemaps that could not be unpacked whole"
	}
	return out[:min(len(out), MaxSitemap)], note
}
