// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestOwnPages(t *testing.T) {
	for path := range ownPages() {
		asked := []string{"/", robotsPath}
		if !slices.Contains(asked, path) && !strings.HasPrefix(path, wellKnown) {
			t.Errorf("%s: an address of mirrors", path)
		}
	}
	s := testServer(t, nil)
	for _, tc := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", iconPath, 200, "<svg"},
		{"POST", iconPath, 405, ""},
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
