// SPDX-License-Identifier: Apache-2.0

package serve

import "net/http"

// ownPages is the registry of what the base host shows besides mirrors: each exported method returns one
// page, in a file of its own.
type ownPages struct{}

// ownPage is one of them. The server has refused other methods than GET and HEAD when it calls serve.
type ownPage struct {
	path string // one that clients ask for by themselves, or below wellKnown: all else belongs to mirrors
	text string // of the template, whose name is path; "" without one

	// serve answers. An HTML page is sent by Server.page, which escapes and isolates it.
	serve func(s *Server, w http.ResponseWriter, r *http.Request)
}

// serveOwn answers when a path is one of our own pages.
func (s *Server) serveOwn(w http.ResponseWriter, r *http.Request, path string) bool {
	if path == "" {
		path = "/"
	}
	serve, ok := s.own[path]
	if ok && s.readOnly(w, r) {
		serve(s, w, r)
	}
	return ok
}
