// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"mirrord/fetch"
	"mirrord/relocate"
	"mirrord/site"
)

// ShapeOf returns the shape of a page that is not kept; ok is false for other bodies. maxLinks is
// limits.max_links.
func ShapeOf(u site.URL, res *fetch.Result, body []byte, maxLinks int) (shape uint32, ok bool) {
	format := relocate.Detect(res.MIME, u, body[:min(len(body), 1024)])
	if format != relocate.HTML {
		return 0, false
	}
	var doc relocate.Doc
	err := doc.Scan(body, relocate.Input{
		URL:           u,
		HeaderCharset: res.Charset,
		Format:        format,
		MaxLinks:      RelocatedLinks * maxLinks,
	})
	if err != nil {
		return 0, false
	}
	return Shape(&doc, body), true
}
