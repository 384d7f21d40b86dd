// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"mirrord/fetch/robots"
	"mirrord/internal/volatile"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/site/listing"
	"mirrord/store/record"
)

// MayBeVolatile reports whether a new body of a document is compared with the stored one: the dates of
// sitemaps are what they say.
func MayBeVolatile(old *record.Resource, body []byte) bool {
	if relocate.Format(old.Format) == relocate.Sitemap {
		return false
	}
	return old.Body == record.PackBody && old.Size <= volatile.MaxBody && len(body) <= volatile.MaxBody
}

// Compare compares a document with the stored one. only is true when it differs in nothing but what may
// change by itself; kept, when that always changes: then the stored body stays, and old says why. Otherwise
// now has what was learned for the next time. What stands at known positions does not count, unless namesNew
// says that it names a page that is new. The dates of a page that tells of others, and the entries of a
// listing, are what it says: they count. So does the order of items, unless it follows from numbers in them.
// noise is the kind of what differs in a kept one.
func Compare(
	now, old *record.Resource, body, stored []byte, known volatile.Positions, tells bool,
	namesNew func(doc site.URL, refs [][]byte) bool,
) (only, kept bool, noise volatile.Kind) {
	if old.Listing && !sameEntries(old.URL, stored, body) {
		return false, false, 0
	}
	was, is, same := known.Same(stored, body)
	if !same && !old.Listing && volatile.SameSegments(was.Body, is.Body) {
		body = volatile.Ranked(stored, body)
		was, is, same = known.Same(stored, body)
	}
	switch {
	case len(is.Hits)+len(was.Hits) == 0 || namesNew(now.URL, is.Named):
	case same:
		kind, where := was.Unlike(&is)
		old.Reason = fmt.Sprintf("differs only where each answer differs: %s (%v)", volatile.Examples(where), kind)
		return true, true, kind
	default:
		stored, body = was.Body, is.Body
	}
	d, ok := volatile.Compare(stored, body, volatile.Times{
		Old: time.Unix(old.Fetched, 0),
		New: time.Unix(now.Fetched, 0),
	})
	switch {
	case !ok, len(d.Templates) > 0 && (tells || old.Listing):
		return false, false, 0
	case len(d.Templates) == 0:
		old.Reason = "says the same in another way: " + volatile.Examples(d.Examples)
		return true, true, volatile.Age
	case old.Volatile.Covers(d):
		old.Volatile = old.Volatile.Kept()
		old.Reason = "differs only in what always changes: " + volatile.Examples(d.Examples)
		return true, true, volatile.Number
	}
	now.Volatile = old.Volatile.Changed(d)
	now.Reason = "differs only in what may change by itself: " + volatile.Examples(d.Examples)
	return true, false, 0
}

// sameEntries reports whether two bodies of a directory listing have the same entries.
func sameEntries(u site.URL, old, now []byte) bool {
	was, ok := listing.Parse(old, u)
	is, also := listing.Parse(now, u)
	return ok && also && slices.Equal(was.Entries, is.Entries)
}

var (
	robotsMeta  = regexp.MustCompile(`(?i)<meta\s[^>]*\brobots\b[^>]*>`)
	metaContent = regexp.MustCompile(`(?i)\scontent\s*=\s*["']?([^"'>]*)`)
)

// SaysNoFollow reports whether a meta of a page forbids to follow its links.
func SaysNoFollow(body []byte, now time.Time) bool {
	metas := robotsMeta.FindAll(body[:min(len(body), metasWithin)], -1)
	return slices.ContainsFunc(metas, func(tag []byte) bool {
		list := metaContent.FindSubmatch(tag)
		return list != nil && robots.ParseMeta(string(list[1]), now).NoFollow
	})
}

// metasWithin is within how many bytes of a page its metas are.
const metasWithin = 64 << 10
