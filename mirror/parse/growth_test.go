// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror/scope"
	"mirrord/site"
	"mirrord/testing/growth"
)

// TestSitemapGrowth holds that a sitemap of twice the URLs is at most 2.3 times the work, whether they differ
// or not.
func TestSitemapGrowth(t *testing.T) {
	for what, each := range map[string]string{
		"different": "<url><loc>http://h.test/%d</loc></url>",
		"the same":  "<url><loc>http://h.test/</loc><!-- %d --></url>",
		"nested":    "<url%d>",
	} {
		read := func(n int) func() {
			var b strings.Builder
			b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for i := range n {
				fmt.Fprintf(&b, each, i)
			}
			text := []byte(b.String() + "</urlset>")
			return func() { ReadSitemap(&scope.URLRules{}, site.URL{}, text) }
		}
		growth.Check(t, what, read(10_000), read(20_000))
	}
}
