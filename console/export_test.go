// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"testing"
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

// Downloads that no client reads leave the places to others, and a user has one at a time.
func TestUnreadExports(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.daemon.jobs = testJobs(1)
	b.daemon.jobs[0].Name = "site"
	const path = "/jobs/site/export?format=phm"
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan any)
	for range 2 * mostExports {
		b.loginAs(rand.Text(), Operate)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://"+testHost+path, nil)
		r.RemoteAddr = "127.0.0.1:50000"
		r.AddCookie(b.cookie)
		w := &unread{httptest.NewRecorder(), make(chan struct{}, 1), ctx}
		go func() {
			defer func() { ended <- recover() }()
			b.srv.ServeHTTP(w, r)
		}()
		<-w.asked
	}
	b.change = func(r *http.Request) { // does not wait
		now, end := context.WithCancel(t.Context())
		end()
		*r = *r.WithContext(now)
	}
	b.want(http.StatusServiceUnavailable, "one at a time", path, nil)
	b.login(Operate)
	b.want(http.StatusOK, "", path, nil)
	leave()
	for range 2 * mostExports {
		if x := <-ended; x != http.ErrAbortHandler {
			t.Errorf("%v", x)
		}
	}
}
