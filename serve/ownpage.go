// SPDX-License-Identifier: Apache-2.0

package serve

import "net/http"

// ownPages are what the base host shows besides mirrors, by paths: those that clients ask for by themselves,
// and others below wellKnown, since all else belongs to mirrors. The server has refused other methods than
// GET and HEAD.
func ownPages() map[string]func(*Server, http.ResponseWriter, *http.Request) {
	return map[string]func(*Server, http.ResponseWriter, *http.Request){
		"/":        (*Server).serveIndex,
		sitesPath:  (*Server).serveList,
		findPath:   (*Server).serveFind,
		robotsPath: serveRobots,
		iconPath:   serveIcon,
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
