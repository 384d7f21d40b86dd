// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A page whose name was pointed at this machine reads nothing and does nothing.
func TestRebinding(t *testing.T) {
	b := newBrowser(t, func(o *Options) { o.Hosts = []string{"mirrors.example"} })
	b.daemon.jobs = testJobs(1)
	b.login(Operate)
	for host, want := range map[string]int{
		"evil.test:9181":       http.StatusMisdirectedRequest,
		"127.0.0.1.evil.test":  http.StatusMisdirectedRequest,
		"":                     http.StatusMisdirectedRequest,
		"mirrors.example":      http.StatusOK,
		"MIRRORS.example.:443": http.StatusOK,
		"[::1]:9181":           http.StatusOK,
	} {
		b.change = func(r *http.Request) {
			cookie := b.cookie
			r.Header.Del("Cookie")
			r.Host = host
			r.AddCookie(&http.Cookie{Name: cookieName(r), Value: cookie.Value})
		}
		b.want(want, "", "/", nil)
	}
}

// Forms of other sites, and of other ports and hosts of this one, do nothing; nor can they frame a page.
func TestCrossSite(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	b.login(Operate)
	for _, head := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"},
		{"Sec-Fetch-Site": "same-site"}, // a mirrored page that serve shows on another port
		{"Sec-Fetch-Site": "", "Origin": "http://evil.test"},
		{"Sec-Fetch-Site": "", "Origin": "http://127.0.0.1:8080"},
		{"Sec-Fetch-Site": "", "Origin": "null"},
	} {
		b.change = func(r *http.Request) {
			for k, v := range head {
				r.Header.Set(k, v)
				if v == "" {
					r.Header.Del(k)
				}
			}
		}
		b.want(http.StatusForbidden, "another site", "/jobs/job0000/run", url.Values{})
	}
	if len(b.daemon.did) > 0 {
		t.Errorf("done: %v", b.daemon.did)
	}
	for _, path := range []string{"/", "/jobs/job0000", "/nosuch", "/static/console.css", "/login?key=x"} {
		h := b.do(path, nil).Header()
		csp := h.Get("Content-Security-Policy")
		if !strings.Contains(csp, "frame-ancestors 'none'") || !strings.Contains(csp, "default-src 'none'") ||
			strings.Contains(csp, "unsafe") || h.Get("X-Frame-Options") != "DENY" ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// A form that is too large is refused, and no address leads elsewhere.
func TestOversizedAndElsewhere(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	b.login(Operate)
	large := url.Values{"run": {strings.Repeat("x", most+1)}}
	b.want(http.StatusRequestEntityTooLarge, "At most", "/jobs/job0000/run", large)
	b.change = func(r *http.Request) { r.URL.RawQuery = "said=%zz" }
	b.want(http.StatusBadRequest, "cannot be read", "/jobs/job0000/run", url.Values{})
	b.do("/jobs/job0000/accept", url.Values{"run": {strings.Repeat("x", most-100)}})
	if got := b.facts.audit[len(b.facts.audit)-1]; len(got.About) > 600 || len(b.daemon.did) > 0 {
		t.Errorf("the audit log has %d bytes of a form; done: %v", len(got.About), b.daemon.did)
	}
	for _, path := range []string{
		"//evil.test/", "/\\evil.test", "/login?next=//evil.test", "/%2f%2fevil.test",
	} {
		w := b.do(path, nil)
		if to := w.Header().Get("Location"); strings.HasPrefix(to, "//") || strings.Contains(to, "://") {
			t.Errorf("%s redirects to %s", path, to)
		}
	}
}

// Calls of the API pass the check of the host name, and have nothing of a browser's login.
func TestCallsBesideConsole(t *testing.T) {
	calls := 0
	b := newBrowser(t, func(o *Options) {
		o.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { calls++ })
	})
	b.want(http.StatusOK, "", "/v1/status", nil)
	b.change = func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	b.want(http.StatusOK, "", "/v1/hook/docs", url.Values{})
	b.change = func(r *http.Request) { r.Host = "evil.test" }
	b.want(http.StatusMisdirectedRequest, "", "/v1/status", nil)
	b.want(http.StatusNotFound, "", "/v1", nil)
	if calls != 2 || len(b.facts.audit) > 0 {
		t.Errorf("%d calls; audit: %v", calls, b.facts.audit)
	}
}
