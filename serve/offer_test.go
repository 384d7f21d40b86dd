// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"mirrord/app/access"
)

// unread is a reader of an answer who takes nothing.
type unread struct {
	*httptest.ResponseRecorder
	asked chan struct{}
	until context.Context
}

func (u *unread) Write([]byte) (int, error) {
	u.asked <- struct{}{}
	<-u.until.Done()
	return 0, context.Cause(u.until)
}

// Updates that are not read leave their slots to others. An address has one at a time, unless many may come
// from there; behind a proxy it is the one that the proxy names.
func TestUnreadUpdates(t *testing.T) {
	m := mirrorSite(t)
	var err error
	proxies, _ := access.ParseProxies("192.0.2.1")
	if m.server, err = New(Options{Sites: m.sites, Base: "mirrors.test", Proxies: proxies}); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	request := func(remote, client string) *http.Request {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet,
			"http://test.mirrors.test/.well-known/mirrord/mirror/1/since/0", nil)
		r.RemoteAddr = remote
		if client != "" {
			r.Header.Set("X-Forwarded-For", "198.51.100.1, "+client)
		}
		return r
	}
	holders := []*http.Request{
		request("203.0.113.1:1000", ""), request("127.0.0.1:1000", ""), request("127.0.0.1:1001", ""),
		request("192.0.2.1:1000", "203.0.113.2"), request("[2001:db8::1]:1000", ""),
	}
	ended := make(chan any)
	for _, r := range holders {
		w := &unread{httptest.NewRecorder(), make(chan struct{}, 1), ctx}
		go func() {
			defer func() { ended <- recover() }()
			m.server.ServeHTTP(w, r)
		}()
		<-w.asked
	}
	for _, tc := range []struct {
		remote, client string
		status         int
	}{
		{"203.0.113.1:2000", "", 503},
		{"203.0.113.1:2000", "203.0.113.7", 503}, // who is no proxy is not believed
		{"192.0.2.1:2000", "203.0.113.2", 503},
		{"192.0.2.1:2000", "203.0.113.3", 200},
		{"192.0.2.1:2000", "127.0.0.1", 200},
		{"192.0.2.1:2000", "", 200},
		{"[2001:db8::2]:1000", "", 503}, // the same network
		{"[2001:db8:1::1]:1000", "", 200},
		{"203.0.113.4:1000", "", 200},
		{"127.0.0.1:1002", "", 200},
	} {
		r := request(tc.remote, tc.client)
		short, end := context.WithTimeout(t.Context(), updateWait)
		if tc.status == 503 {
			end() // it would wait
		}
		w := httptest.NewRecorder()
		m.server.ServeHTTP(w, r.WithContext(short))
		end()
		if w.Code != tc.status {
			t.Errorf("from %s for %q: %d %s", tc.remote, tc.client, w.Code, w.Body)
		}
	}
	leave()
	for range holders {
		if x := <-ended; x != http.ErrAbortHandler {
			t.Errorf("%v", x)
		}
	}
}
