// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"testing"

	"mirrord/testing/growth"
)

// TestGrowth holds that a listing of twice the files is at most 2.3 times the work.
func TestGrowth(t *testing.T) {
	u := mustURL(t, "http://h.example/pub/")
	for _, form := range []string{"html", "table", "json", "xml"} {
		read := func(n int) func() {
			page := []byte(largePage(form, n))
			return func() { Parse(page, u) }
		}
		growth.Check(t, form, read(10_000), read(20_000))
	}
}
