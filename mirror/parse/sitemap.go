// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"compress/gzip"
	"io"

	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
)

// sitemap reads what a sitemap names.
func (rd *Reader) sitemap(b *Body) {
	x := &rd.x
	list, cut, notes := ReadSitemap(rd.Rules, b.URL, b.Data)
	x.Sitemap, x.Cut, x.Notes = &list, x.Cut|cut, append(x.Notes, notes...)
	if list.Index || rd.Rules.ListAt(b.URL) != nil { // of a change it is not known which address is right
		return
	}
	for u := range Locations(b.URL, list) {
		x.Candidates = append(x.Candidates, scope.Candidate{URL: []byte(u.String()), Follow: true})
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

// ReadSitemap reads the body of a sitemap, packed or not, or of a list of changes in JSON. Of a damaged or
// too large one it takes what it can; cut and notes report that.
func ReadSitemap(
	rules *scope.URLRules, u site.URL, body []byte,
) (list relocate.SitemapList, cut result.Cut, notes []string) {
	if l := rules.ListAt(u); l != nil {
		items, _ := l.Read(body)
		for _, x := range items {
			for _, page := range x.Pages {
				list.Entries = append(list.Entries, relocate.SitemapEntry{Loc: page, LastMod: x.Time})
			}
		}
		return list, cut, notes
	}
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		var note string
		if body, cut, note = gunzip(body); note != "" {
			notes = append(notes, note)
		}
	}
	list = relocate.ScanSitemap(body, urls.MaxLocations)
	if list.Truncated {
		cut |= result.CutEntries
	}
	return list, cut, notes
}

// gunzip unpacks a .gz sitemap; note names the fault.
func gunzip(body []byte) (out []byte, cut result.Cut, note string) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, result.CutDamaged, "sitemaps that could not be unpacked"
	}
	out, err = io.ReadAll(io.LimitReader(z, urls.MaxSitemap+1))
	switch {
	case err != nil:
		cut, note = result.CutDamaged, "sitemaps that could not be unpacked whole"
	case len(out) > urls.MaxSitemap:
		out, cut = out[:urls.MaxSitemap], result.CutEntries
	}
	return out, cut, note
}
