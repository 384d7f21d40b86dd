// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mirrord/fetch/reach"
)

// A site that sets other cookies with each page gets a header that servers take, with the first ones in it.
func TestCookiesWithoutEnd(t *testing.T) {
	for name, value := range map[string]string{"many": "1", "long": strings.Repeat("x", 300)} {
		n, longest, most := 0, 0, 0
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			header := r.Header.Get("Cookie")
			longest, most = max(longest, len(header)), max(most, len(r.Cookies()))
			if n++; n > 1 && !strings.Contains(header, fmt.Sprint("session=", n-1)) {
				t.Errorf("%s: request %d has %q", name, n, header)
			}
			http.SetCookie(rw, &http.Cookie{Name: "session", Value: fmt.Sprint(n)})
			http.SetCookie(rw, &http.Cookie{Name: "huge", Value: strings.Repeat("y", longestCookie)})
			http.SetCookie(rw, &http.Cookie{Name: fmt.Sprint("page", n), Value: value, Path: "/"})
			if n == 250 { // what ends makes room
				for i := range n {
					http.SetCookie(rw, &http.Cookie{Name: fmt.Sprint("page", i), Path: "/", MaxAge: -1})
				}
			}
		}))
		c := newClient(t, Options{Cookies: true, Reach: reach.Policy{All: true}})
		for range 300 {
			get(t, c, Request{URL: mustURL(t, s.URL)})
		}
		if longest > mostCookieBytes || most > mostCookies || most < 20 {
			t.Errorf("%s: a header of %d bytes, one of %d cookies", name, longest, most)
		}
		if k := c.jar.Cookies(cookieURL(mustURL(t, s.URL))); k[len(k)-1].Name < "page250" {
			t.Errorf("%s: the last cookie is %s", name, k[len(k)-1].Name)
		}
		s.Close()
	}
}
