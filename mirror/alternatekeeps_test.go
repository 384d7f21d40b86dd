// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"maps"
	"net/http"
	"time"

	"mirrord/testing/mirrortest"
)

// replacing lets newer pages of the replica take the place of the mirror's.
const replacing = "alternates_replace = true\n"

// newer dates a page of the replica later than any run.
func newer(p mirrortest.Page) mirrortest.Page {
	h := map[string]string{"Last-Modified": time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}
	maps.Copy(h, p.Header)
	p.Header = h
	return p
}
