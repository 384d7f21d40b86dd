// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"time"

	"mirrord/internal/volatile"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// MayBeVolatile reports whether a new body of a document is compared with the stored one: the dates of
// listings and sitemaps are what they say.
func MayBeVolatile(old *store.Resource, body []byte) bool {
	if old.Listing || relocate.Format(old.Format) == relocate.Sitemap {
		return false
	}
	return old.Body == store.PackBody && old.Size <= volatile.MaxBody && len(body) <= volatile.MaxBody
}

// Compare compares a document with the stored one. only is true when it differs in nothing but what may
// change by itself; kept, when that always changes: then the stored body stays, and old says why. Otherwise
// now has what was learned for the next time. What stands at known positions does not count, unless namesNew
// says that it leads to a page that is new.
func Compare(
	now, old *store.Resource, body, stored []byte, known volatile.Known,
	namesNew func(doc site.URL, refs [][]byte) bool,
) (only, kept bool) {
	later := time.Duration(now.Fetched-old.Fetched) * time.Second
	was, is, same := known.Same(stored, body, later)
	switch {
	case len(is.Hits)+len(was.Hits) == 0 || namesNew(now.URL, is.Named):
	case same:
		old.Reason = "differs only where each answer differs: " + volatile.Examples(is.Where())
		return true, true
	default:
		stored, body = was.Body, is.Body
	}
	d, ok := volatile.Compare(stored, body, later)
	switch {
	case !ok:
		return false, false
	case len(d.Templates) == 0:
		old.Reason = "says the same in another way: " + volatile.Examples(d.Examples)
		return true, true
	case old.Volatile.Covers(d):
		old.Volatile = old.Volatile.Kept()
		old.Reason = "differs only in what always changes: " + volatile.Examples(d.Examples)
		return true, true
	}
	now.Volatile = old.Volatile.Changed(d)
	now.Reason = "differs only in what may change by itself: " + volatile.Examples(d.Examples)
	return true, false
}
