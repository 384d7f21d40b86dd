// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/fetch/robots"
	"mirrord/relocate"
	"mirrord/site/listing"
)

// Shape is a hash of what a page is beside its text: its title, and where its links lead without their
// queries. A site that answers a login page everywhere gives its pages one shape, although the page names
// where the reader wanted to go. A page with neither title nor links is only like one with the same bytes.
func Shape(d *relocate.Doc, body []byte) uint32 {
	if d.Title == "" && len(d.Links) == 0 {
		return max(uint32(xxh3.Hash(body)), 1)
	}
	var h xxh3.Hasher
	h.WriteString(d.Title)
	var room [1 << 10]byte // a few links at a time
	b := room[:0]
	for i := range d.Links {
		l := &d.Links[i]
		if l.URL == nil || l.Kind == relocate.Reference || l.Kind == relocate.InScript {
			continue
		}
		u, _, _ := bytes.Cut(l.URL, []byte{'?'})
		if len(b)+len(u) >= len(room) {
			h.Write(b)
			b = b[:0]
		}
		b = append(append(b, u...), '\n')
	}
	h.Write(b)
	return max(uint32(h.Sum64()), 1)
}

// directives merges the robots metas that address us.
func directives(d *relocate.Doc, product string, now time.Time) robots.Directives {
	var out robots.Directives
	for _, m := range d.Robots {
		if m.Name == "robots" || m.Name == product {
			out = out.Or(robots.ParseMeta(m.Content, now))
		}
	}
	return out
}

// listingOf returns the directory listing that a page is, nil for other pages.
func listingOf(b *Body) *listing.Listing {
	if !strings.HasSuffix(b.URL.Path(), "/") {
		return nil
	}
	l, ok := listing.Parse(b.Data, b.URL)
	if !ok {
		return nil
	}
	return l
}
