// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"slices"
	"strings"
	"unicode"

	"github.com/zeebo/xxh3"

	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/site"
)

// sayingsOf are hashes of what a page says, in series of so many words, and shows.
func sayingsOf(u site.URL, body []byte, isHTML bool, links []relocate.Link, series int) (out []uint64) {
	if !isHTML && !text.IsText(body) {
		return []uint64{xxh3.Hash(body)}
	}
	own := text.Tokens(u.RequestURI())
	for line := range strings.Lines(text.ExtractAs(body, isHTML)) {
		words := slices.DeleteFunc(text.Tokens(line), func(w string) bool {
			masked := slices.ContainsFunc(own, func(o string) bool {
				return (o == w) || (len(w) >= hashPrefix && strings.HasPrefix(o, w))
			})
			number := strings.ContainsFunc(w, unicode.IsDigit)
			if number && !masked {
				out = append(out, xxh3.HashString(w))
			}
			return number || masked
		})
		n := series
		if len(words) < n {
			n = 1
		}
		for i := range max(0, len(words)-n+1) {
			out = append(out, xxh3.HashString(strings.Join(words[i:i+n], " ")))
		}
	}
	for i := range links {
		if l := &links[i]; l.URL != nil && l.Kind == relocate.Requisite {
			out = append(out, xxh3.Hash(l.URL))
		}
	}
	return out
}
