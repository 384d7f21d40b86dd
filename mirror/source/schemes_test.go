// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"strings"
	"testing"

	"mirrord/fetch"
	"mirrord/site"
)

// onlyHTTPS is a fetcher of one scheme.
type onlyHTTPS struct{ Fetcher }

func (onlyHTTPS) Schemes() []string { return []string{"https"} }

// A URL whose scheme has no fetcher is not requested; the error says which, and what to do.
func TestUnknownScheme(t *testing.T) {
	f := bySchemes(onlyHTTPS{})
	u := site.Canonical("http://h.example/page")
	res, err := f.Do(t.Context(), fetch.Request{URL: u}, nil)
	if !errors.Is(err, ErrScheme) || fetch.Transient(err) || res == nil {
		t.Fatalf("%v, %v", res, err)
	}
	for _, part := range []string{u.String(), `"http"`, "https", "exclude"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
}
