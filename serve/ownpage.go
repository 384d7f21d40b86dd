// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"net/http"
)

// ownPages are what the base host shows besides mirrors, by paths: those that clients ask for by themselves,
// and others below wellKnown, since all else belongs to mirrors. The server has refused other methods than
// GET and HEAD.
func ownPages() map[string]func(*Server, http.ResponseWriter, *http.Request) {
	return map[string]func(*Server, http.ResponseWriter, *http.Request){
		"/":        (*Server).serveIndex,
		sitesPath:  (*Server).serveList,
		findPath:   (*Server).serveFind,
		robotsPath: serveRobots,
		iconPath:   serveText("image/svg+xml", icon),

		barScriptPath: serveScript(barScript),
	}
}

// serveOwn answers when a path is one of our own pages.
func (s *Server) serveOwn(w http.ResponseWriter, r *http.Request, path string) bool {
	if path == "" {
		path = "/"
	}
	serve, ok := ownPages()[path]
	if ok && s.readOnly(w, r) {
		serve(s, w, r)
	}
	return ok
}

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

// serveRobots keeps crawlers off old versions. A robots.txt that a mirror has is served instead.
func serveRobots(s *Server, w http.ResponseWriter, r *http.Request) {
	serveText("text/plain; charset=utf-8", robotsText)(s, w, r)
}

// serveText returns what sends a text of ours.
func serveText(mime, text string) func(*Server, http.ResponseWriter, *http.Request) {
	return func(_ *Server, w http.ResponseWriter, _ *http.Request) {
		isolatePage(w.Header())
		w.Header().Set("Content-Type", mime)
		io.WriteString(w, text) // an error means that the client has disconnected
	}
}

// serveScript returns what sends a script of ours.
func serveScript(text string) func(*Server, http.ResponseWriter, *http.Request) {
	return func(_ *Server, w http.ResponseWriter, r *http.Request) {
		isolatePage(w.Header())
		w.Header().Set("Cache-Control", "no-cache")
		sendText(w, r, http.StatusOK, "text/javascript; charset=utf-8", []byte(text))
	}
}
