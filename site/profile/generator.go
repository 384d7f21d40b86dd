// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"html"
	"regexp"
)

var (
	metaGenerator = regexp.MustCompile(`(?i)<meta\s[^>]*\b(?:name|http-equiv)=["']?generator\b[^>]*>`)
	metaContent   = regexp.MustCompile(`(?i)\bcontent=(?:"([^"]*)"|'([^']*)'|([^\s>]+))`)
)

// generators returns what a page names as its generators.
func generators(page []byte) (out []string) {
	for _, tag := range metaGenerator.FindAll(page, 4) {
		for i, s := range metaContent.FindSubmatch(tag) {
			if i > 0 && len(s) > 0 {
				out = append(out, html.UnescapeString(string(s)))
			}
		}
	}
	return out
}
