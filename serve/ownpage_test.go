// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"mirrord/internal/parts"
)

// Toy is a page of this file alone. That it is served shows that a page needs no other edit.
func (ownPages) Toy() ownPage {
	return ownPage{path: wellKnown + "toy", text: `{{template "head" "Toy"}}<body><p>{{.}}</p></body></html>`, serve: func(s *Server, w http.ResponseWriter, r *http.Request) {
		s.page(w, r, http.StatusOK, wellKnown+"toy", "<told>")
	}}
}

func TestOwnPages(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range parts.Of[ownPage](ownPages{}) {
		asked := []string{"/", robotsPath}
		if seen[p.path] || (!slices.Contains(asked, p.path) && !strings.HasPrefix(p.path, wellKnown)) {
			t.Errorf("%s: twice, or an address of mirrors", p.path)
		}
		seen[p.path] = true
	}
	s := testServer(t, nil)
	for _, tc := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", wellKnown + "toy", 200, "<p>&lt;told&gt;</p>"},
		{"POST", wellKnown + "toy", 405, ""},
		{"GET", "/", 200, "<h1>Mirrors</h1>"},
		{"GET", wellKnown + "sites", 200, "["},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(tc.method, "http://mirrors.test"+tc.path, nil))
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s %s: status %d, %.200q; want %d, %q", tc.method, tc.path, w.Code, w.Body, tc.status, tc.want)
		}
	}
}
