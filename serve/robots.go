// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"net/http"
)

const (
	robotsPath = "/robots.txt"
	iconPath   = wellKnown + "icon.svg" // not /favicon.ico, which a mirror of a mirror by path would take
)

// robotsText forbids old versions, of which there are as many as days, by host and by path (RFC 9309 §2.2.3),
// and nothing that a mirror of the mirror asks for.
const robotsText = "User-agent: *\nDisallow: " + mementos + "\nDisallow: /*" + mementos + "\n"

const mementos = wellKnown + "memento/"

// icon is two pages, one behind the other.
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#9cc3ea" d="M1 1h9v11H1z"/>` +
	`<path fill="#0b5cad" d="M5 4h10v11H5z"/><path stroke="#fff" d="M7 7.5h6M7 9.5h6M7 11.5h4"/></svg>`

// serveRobots keeps crawlers off old versions. A robots.txt that a mirror has is served in its place.
func serveRobots(_ *Server, w http.ResponseWriter, _ *http.Request) {
	isolatePage(w.Header())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, robotsText) // an error means that the client has disconnected
}

// serveIcon sends the picture of our own pages.
func serveIcon(_ *Server, w http.ResponseWriter, _ *http.Request) {
	isolatePage(w.Header())
	w.Header().Set("Content-Type", "image/svg+xml")
	io.WriteString(w, icon) // likewise
}
