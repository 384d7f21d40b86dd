// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"time"

	"mirrord/internal/volatile"
	"mirrord/relocate"
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
// change by itself, beside what stands at places where each answer differs; kept, when that always changes:
// then the stored body stays, and old says why. Otherwise now has what was learned for the next time.
func Compare(now, old *store.Resource, body, stored []byte, places []volatile.Spot) (only, kept bool) {
	later := time.Duration(now.Fetched-old.Fetched) * time.Second
	d, ok := volatile.Compare(stored, body, later)
	var tags []string
	if !ok {
		if stored, body, tags = volatile.Beside(stored, body, places); len(tags) == 0 {
			return false, false
		}
		if d, ok = volatile.Compare(stored, body, later); !ok && !bytes.Equal(stored, body) {
			return false, false
		}
		d.Examples = append(d.Examples, tags...)
	}
	if old.Volatile.Covers(d) {
		old.Volatile = old.Volatile.Kept()
		old.Reason = "differs only in what always changes: " + volatile.Examples(d.Examples)
		switch {
		case len(tags) > 0:
			old.Reason = "differs only where each answer differs: " + volatile.Examples(d.Examples)
		case len(d.Templates) == 0:
			old.Reason = "says the same in another way: " + volatile.Examples(d.Examples)
		}
		return true, true
	}
	now.Volatile = old.Volatile.Changed(d)
	now.Reason = "differs only in what may change by itself: " + volatile.Examples(d.Examples)
	return true, false
}
