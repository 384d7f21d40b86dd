// SPDX-License-Identifier: Apache-2.0

package serve

import "net/http"

// Headers that keep mirrored pages apart; docs/serve.md says why each is there. There is no admin page on
// these hosts, and none must ever be put there.
const (
	// Without allow-same-origin a page has an opaque origin: it shares storage, cookies and documents with
	// nothing, itself included. A page that it opens in a new window escapes the flags, but has its own headers.
	sandboxPolicy = "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox " +
		"allow-downloads allow-modals"
	// A mirror by host is embedded by itself alone.
	hostPolicy = "frame-ancestors 'self'"
	// Our own pages have no scripts, load nothing but their picture, and their only form is the search.
	pagePolicy = "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; " +
		"frame-ancestors 'none'; form-action 'self'"
)

// isolate sets the headers of everything that comes from a mirror.
func isolate(h http.Header, sandbox bool) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin") // origins need not learn the names of mirrors
	h.Set("Origin-Agent-Cluster", "?1")     // no document.domain
	if sandbox {
		// Cross-Origin-Resource-Policy would shut the page out from its own pictures: its origin is opaque.
		h.Set("Content-Security-Policy", sandboxPolicy)
		return
	}
	h.Set("Content-Security-Policy", hostPolicy)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// isolatePage sets the headers of our own pages.
func isolatePage(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Origin-Agent-Cluster", "?1")
	h.Set("Content-Security-Policy", pagePolicy)
}
