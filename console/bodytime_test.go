// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mirrord/app/access"
)

// deadlines notes the deadlines for the body of a request.
type deadlines struct {
	*httptest.ResponseRecorder
	all []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.all = append(d.all, t)
	return nil
}

// A client without a login has ten seconds for a body, in any form and at any path.
func TestBodyTime(t *testing.T) {
	b := newBrowser(t, nil)
	send := func(path string) time.Duration {
		d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "http://"+testHost+path, strings.NewReader("a=b"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+testHost)
		if b.cookie != nil {
			r.AddCookie(b.cookie)
		}
		began := time.Now()
		b.srv.ServeHTTP(d, r)
		most := time.Duration(0)
		for _, at := range d.all {
			if !at.IsZero() {
				most = max(most, at.Sub(began))
			}
		}
		return most.Truncate(5 * time.Second)
	}
	for _, path := range []string{"/login", "/new", "/nowhere", "/v1/jobs"} {
		if got := send(path); got != access.BeforeLogin {
			t.Errorf("%s: %v before a login", path, got)
		}
	}
	b.login(Operate)
	if got := send("/new"); got != access.AfterLogin {
		t.Errorf("%v after a login", got)
	}
}
