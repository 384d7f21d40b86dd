// SPDX-License-Identifier: Apache-2.0

package serve

import "net/http"

// serveIndex shows the list of mirrors.
func (s *Server) serveIndex(w http.ResponseWriter, r *http.Request) {
	all, err := s.list(r)
	if err != nil {
		s.failed(w, r, "", err)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	s.sendPage(w, r, http.StatusOK, "index", struct {
		W      *words
		Sites  []listed
		Search *finding
	}{s.wordsFor(r), all, s.searched(r)})
}

// sitesPath has the same as JSON.
const sitesPath = wellKnown + "sites"

func (s *Server) serveList(w http.ResponseWriter, r *http.Request) {
	all, err := s.list(r)
	if err == nil {
		isolatePage(w.Header())
		w.Header().Set("Cache-Control", "no-cache")
		err = writeJSON(w, r, all)
	}
	if err != nil {
		s.failed(w, r, "", err)
	}
}
