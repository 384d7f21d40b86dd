// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each kind of finding comes under one count of the summary; what comes under two is counted in both.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		as                                                                                           tally
		fetched, unchanged, redirected, gone, disallowed, trapped, failed, refused, listings, expiry int64
	}{
		{as: 0},
		{as: asFetched, fetched: 1},
		{as: asUnchanged | asFetched, unchanged: 1, fetched: 1},
		{as: asRedirected, redirected: 1},
		{as: asNotRedirect | asFailed, redirected: -1, failed: 1},
		{as: asGone, gone: 1},
		{as: asDisallowed, disallowed: 1},
		{as: asTrapped, trapped: 1},
		{as: asRefused, refused: 1},
		{as: asSpared << byListing, listings: 1},
		{as: asSpared << byExpiry, expiry: 1},
	} {
		var s stats
		s.count(c.as)
		for name, x := range map[string][2]int64{
			"fetched":    {s.fetched.Load(), c.fetched},
			"unchanged":  {s.unchanged.Load(), c.unchanged},
			"redirected": {s.redirected.Load(), c.redirected},
			"gone":       {s.gone.Load(), c.gone},
			"disallowed": {s.disallowed.Load(), c.disallowed},
			"trapped":    {s.trapped.Load(), c.trapped},
			"failed":     {s.failed.Load(), c.failed},
			"refused":    {s.refused.Load(), c.refused},
			"listings":   {s.spared[byListing].Load(), c.listings},
			"expiry":     {s.spared[byExpiry].Load(), c.expiry},
		} {
			if x[0] != x[1] {
				t.Errorf("%b: %s %d, want %d", c.as, name, x[0], x[1])
			}
		}
	}
}

// What became of a URL in retrieval is written at one place.
func TestOneWriter(t *testing.T) {
	writes := regexp.MustCompile(`table\.Record\(|commits <-|stats\.(fetched|unchanged|redirected|gone|disallowed|failed|refused)\.Add|notes\.decided\(`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := writes.Find(src); (found != nil) != (name == "apply.go") {
			t.Errorf("%s: %q", name, found)
		}
	}
}
