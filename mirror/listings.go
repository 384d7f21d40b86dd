// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"strings"

	"mirrord/listing"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// index returns the directory listing that a document is, nil when it is none, and notes it in the record.
func index(now *store.Resource, body []byte, format relocate.Format) *listing.Listing {
	if format != relocate.HTML || !strings.HasSuffix(now.URL.Path(), "/") {
		return nil
	}
	l, ok := listing.Parse(body, now.URL)
	now.Listing = ok
	if !ok {
		return nil
	}
	return l
}

// sortsListing reports whether a link of a listing leads to the same listing in another order or form
// (?C=M;O=D): such links are the same directory again.
func sortsListing(u []byte, dir site.URL) bool {
	p, _, query := bytes.Cut(u, []byte{'?'})
	d, _, _ := strings.Cut(dir.String(), "?")
	return query && string(p) == d
}
