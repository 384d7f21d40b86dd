// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"errors"
	"strings"

	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store/record"
)

// Directories reads the records of directories. *facts.Records is one.
type Directories interface {
	// ResourcesUnder calls f for the records below a directory, in the order of the URLs.
	ResourcesUnder(dir site.URL, f func(*record.Resource) error) error
}

// errEnough ends the reading of records.
var errEnough = errors.New("enough was read")

// mostAround bounds the records that are read for a page: a directory may hold very many that are no texts.
const mostAround = 10_000

// Around returns the records of at most n texts of a mirror that lie around a page and tell its template:
// below its directory, then below those above it, up to base. What cannot be read tells nothing, and verify
// reports it.
func Around(d Directories, page site.URL, base string, n int) (out []record.Resource) {
	had := map[site.URL]bool{page: true}
	dir, read := page.String(), 0
	for len(out) < n {
		dir = dir[:strings.LastIndexByte(strings.TrimSuffix(dir, "/"), '/')+1]
		if !strings.HasPrefix(dir, base) {
			break
		}
		_ = d.ResourcesUnder(site.Canonical(dir), func(r *record.Resource) error {
			if read++; len(out) == n || read > mostAround {
				return errEnough
			}
			isText := r.InSet && (r.Body != record.NoBody) && strings.HasPrefix(r.MIME, "text/")
			if isText && !had[r.URL] && (r.Size <= hosts.MaxCompared) {
				had[r.URL] = true
				out = append(out, *r)
			}
			return nil
		})
	}
	return out
}
