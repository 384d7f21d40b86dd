// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"compress/gzip"
	"html"
	"io"
	"slices"
	"strings"

	"mirrord/fetch"
	"mirrord/internal/volatile"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store"
)

// isMade reports whether an answer may have been made for its request by a program, and is no file.
func isMade(h *fetch.Head) bool {
	caches := h.Header.Get("Cache-Control")
	private := strings.Contains(caches, "private") || strings.Contains(caches, "no-")
	hashed := h.ETag == "" || strings.HasPrefix(h.ETag, "W/")
	return private || h.Header.Get("Set-Cookie") != "" || (hashed && h.LastModified == "")
}

// isPage reports whether a body of a type may be a page or a feed.
func isPage(mime string) bool {
	switch mime {
	case "text/html", "application/xhtml+xml", "application/rss+xml", "application/atom+xml":
		return true
	}
	return false
}

// samePacked reports whether a packed body that a program made has what the stored one has: the time at which
// it was packed is another one in each answer.
func samePacked(bodies store.Bodies, old *store.Resource, h *fetch.Head, body []byte) bool {
	if old.Body != store.BlobBody || !bytes.HasPrefix(body, []byte("\x1f\x8b")) || !isMade(h) ||
		old.Size > volatile.MaxBody || len(body) > volatile.MaxBody {
		return false
	}
	f, err := bodies.Open(old.Digest, 0, volatile.MaxBody)
	if err != nil {
		return false // verify reports it
	}
	defer f.Close()
	was, isPacked := unpacked(f)
	now, packedToo := unpacked(bytes.NewReader(body))
	return isPacked && packedToo && bytes.Equal(was, now)
}

// unpacked returns what a gzip file has; ok is false when that is too large.
func unpacked(packed io.Reader) (body []byte, ok bool) {
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, false
	}
	body, err = io.ReadAll(io.LimitReader(z, mostUnpacked+1))
	return body, err == nil && len(body) <= mostUnpacked
}

// mostUnpacked is how many bytes of a packed file are compared.
const mostUnpacked = 8 << 20

// namesNew returns what reports whether some reference in a document leads to a URL of the job that was never
// seen.
func namesNew(rules *scope.URLRules, table *urls.Table) func(doc site.URL, refs [][]byte) bool {
	return func(doc site.URL, refs [][]byte) bool {
		return slices.ContainsFunc(refs, func(ref []byte) bool {
			u, _, err := doc.Resolve(html.UnescapeString(string(ref)))
			if err != nil || !rules.Scope.Covers(u) {
				return false
			}
			_, known := table.Find([]byte(rules.Main(u).String()))
			return !known
		})
	}
}
