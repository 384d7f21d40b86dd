// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// gatewayWeb is the web behind a gateway: answers by URL, and what was requested.
type gatewayWeb struct {
	mu    sync.Mutex
	pages map[string]func() *http.Response
	asked []*http.Request
}

func (g *gatewayWeb) RoundTrip(r *http.Request) (*http.Response, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, r)
	if p := g.pages[r.URL.String()]; p != nil {
		return p(), nil
	}
	return nil, errors.New("connection refused")
}

func (g *gatewayWeb) set(url string, status int, body string, headers ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages[url] = func() *http.Response { return answer(status, body, headers...) }
}

// requests returns what was requested since it was last called.
func (g *gatewayWeb) requests() []*http.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer func() { g.asked = nil }()
	return g.asked
}

// startGateway serves the test mirrors with a gateway; the web behind it is down at first.
func startGateway(t *testing.T, order ...GatewaySource) (*httptest.Server, *gatewayWeb) {
	t.Helper()
	behind := &gatewayWeb{pages: map[string]func() *http.Response{}}
	s := testServer(t, func(o *Options) {
		o.Gateway = &Gateway{
			Order:     order,
			Transport: func(string) http.RoundTripper { return behind },
			Sites: func() ([]GatewaySite, error) {
				return []GatewaySite{
					{
						Name:     "one",
						Prefixes: []string{"https://one.test/"},
						Same: []GatewayPlace{
							{Of: "https://one.test/docs/", At: "http://eq.test/pub/"},
							{Of: "https://one.test/part/", At: "http://part.test/", Only: []string{"/same.html"}},
						},
					},
					{Name: "two", Prefixes: []string{"http://two.test:81/"}},
				}, nil
			},
		}
	})
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return srv, behind
}

// raw sends a request as it stands, and reads the answer.
func raw(t *testing.T, srv *httptest.Server, request string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	return res, string(body)
}

// get makes a request on the base host; headers are lines.
func get(t *testing.T, srv *httptest.Server, target, headers string) (*http.Response, string) {
	t.Helper()
	return raw(t, srv, "GET "+target+" HTTP/1.1\nHost: localhost\n"+headers+"Connection: close\n\n")
}

// The page comes from the first source that has it; a header and a bar say which, and links lead on through
// the gateway.
func TestGatewaySources(t *testing.T) {
	srv, behind := startGateway(t)
	const page = `<title>t</title><a href="/docs/">d</a><a href="x.html#f">x</a><img src="//far.test/i.png">` +
		`<a href="http://two.test:81/q">q</a>`
	for _, c := range []struct {
		name, target  string
		status        int
		source, tried string
		body          []string
		down          bool
	}{
		{"origin", "/web/https://one.test/docs/", 200, "origin", "", []string{
			`href="/web/https://one.test/docs/"`, `href="/web/https://one.test/docs/x.html#f"`,
			`src="https://far.test/i.png"`,
			`href="/web/http://two.test:81/q"`, "From the origin: https://one.test/docs/",
		}, false},
		{"one slash", "/web/https:/one.test/docs/", 200, "origin", "", nil, false},
		{"mirror", "/web/https://one.test/docs/", 200, "mirror one", "origin: status 503", []string{
			"docs", "From the mirror one: https://one.test/docs/ (origin: status 503)",
		}, true},
		{"picture of the mirror", "/web/https://one.test/pic.png", 200, "mirror one", "origin: cannot be reached",
			[]string{"pngpng"}, true},
		{"redirect of the mirror", "/web/https://one.test/old", 302, "mirror one", "", nil, true},
		{"equivalent", "/web/https://one.test/docs/more.html", 200, "equivalent http://eq.test/pub/more.html",
			"mirror: does not have it", []string{`href="/web/https://one.test/docs/y.html"`,
				"From the equivalent page http://eq.test/pub/more.html"}, true},
		{"equal path", "/web/https://one.test/part/same.html", 200, "equivalent http://part.test/same.html",
			"mirror: does not have it", nil, true},
		{"path that was not verified", "/web/https://one.test/part/other.html", 502, "none", "", nil, true},
		{"nowhere", "/web/https://one.test/docs/none", 502, "none", "", []string{"equivalent: status 404"}, true},
		{"gone", "/web/https://one.test/gone", 404, "none", "", []string{"origin: status 404"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			behind.set("https://one.test/docs/", 200, page, "Content-Type", "text/html; charset=utf-8",
				"Set-Cookie", "a=b", "Etag", `"x"`)
			behind.set("https://one.test/gone", 404, "gone")
			behind.set("http://eq.test/pub/none", 404, "")
			behind.set("http://part.test/same.html", 200, "the same")
			behind.set("http://part.test/other.html", 200, "never requested")
			behind.set("http://eq.test/pub/more.html", 200, `<a href="y.html">y</a>`, "Content-Type", "text/html")
			if c.down {
				behind.set("https://one.test/docs/", 503, "down")
			}
			behind.requests()
			res, body := get(t, srv, c.target, "Cookie: s=1\nAuthorization: Basic x\nX-Forwarded-For: 192.0.2.1\n")
			h := res.Header
			if res.StatusCode != c.status || h.Get("Mirrord-Source") != c.source ||
				!strings.Contains(h.Get("Mirrord-Tried"), c.tried) {
				t.Errorf("%d, %v\n%s", res.StatusCode, h, body)
			}
			for _, want := range c.body {
				if !strings.Contains(body, want) {
					t.Errorf("no %s in\n%s", want, body)
				}
			}
			if h.Get("Set-Cookie") != "" || h.Get("Cache-Control") == "" {
				t.Error(h)
			}
			// A page by path has no origin: it shares nothing with what else is served here.
			if csp := h.Get("Content-Security-Policy"); c.status == 200 && csp != sandboxPolicy {
				t.Errorf("policy %q", csp)
			}
			for _, up := range behind.requests() {
				for _, name := range []string{"Cookie", "Authorization", "X-Forwarded-For", "Referer"} {
					if up.Header.Get(name) != "" {
						t.Errorf("%s passed on", name)
					}
				}
				if !strings.Contains(up.Header.Get("Via"), gatewayVia) {
					t.Errorf("Via %q", up.Header.Get("Via"))
				}
			}
		})
	}
}

// The operator chooses the order.
func TestGatewayOrder(t *testing.T) {
	srv, behind := startGateway(t, GatewayMirror)
	behind.set("https://one.test/docs/", 200, "the origin's")
	res, _ := get(t, srv, "/web/https://one.test/docs/", "")
	if res.Header.Get("Mirrord-Source") != "mirror one" || len(behind.requests()) > 0 {
		t.Error(res.Header)
	}
	for _, bad := range [][]GatewaySource{{"elsewhere"}, {GatewayMirror, GatewayMirror}} {
		g := &Gateway{
			Order:     bad,
			Sites:     func() ([]GatewaySite, error) { return nil, nil },
			Transport: func(string) http.RoundTripper { return nil },
		}
		if _, err := New(Options{Sites: testSites(), Gateway: g}); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

// As a proxy it serves mirrored sites of plain HTTP, as they are.
func TestGatewayProxied(t *testing.T) {
	srv, behind := startGateway(t)
	const page = `<a href="/x">x</a>`
	behind.set("http://two.test:81/", 200, page, "Content-Type", "text/html", "Content-Security-Policy",
		"default-src 'self'")
	res, body := raw(t, srv, "GET http://two.test:81/ HTTP/1.1\nHost: two.test:81\nConnection: close\n\n")
	if body != page || res.Header.Get("Mirrord-Source") != "origin" ||
		res.Header.Get("Content-Security-Policy") != "default-src 'self'" {
		t.Errorf("%v\n%s", res.Header, body)
	}
	const start = "http://two.test:81/sub/start.html" // the origin is down
	res, body = raw(t, srv, "GET "+start+" HTTP/1.1\nHost: two.test:81\nConnection: close\n\n")
	if body != "two" || res.Header.Get("Mirrord-Source") != "mirror two" {
		t.Errorf("%v\n%s", res.Header, body)
	}
	res, body = get(t, srv, pacPath, "")
	if !strings.Contains(body, `{"http://two.test:81/":true}`) ||
		!strings.Contains(body, `"PROXY localhost; DIRECT"`) {
		t.Errorf("%v\n%s", res.Header, body)
	}
}

// Versions: by path it redirects to the time gate of the mirror, as a proxy it answers itself.
func TestGatewayVersions(t *testing.T) {
	srv, behind := startGateway(t)
	const at = "Accept-Datetime: Sun, 01 Mar 2026 12:00:00 GMT\n"
	res, _ := get(t, srv, "/web/https://one.test/docs/", at)
	where := res.Header.Get("Location")
	if res.StatusCode != 302 || where != "/one"+wellKnown+"timegate/https://one.test/docs/" {
		t.Fatal(res.StatusCode, where)
	}
	res, _ = get(t, srv, where, at)
	if !strings.Contains(res.Header.Get("Location"), "memento/20260301040000/") {
		t.Error(res.StatusCode, res.Header)
	}
	const start = "http://two.test:81/sub/start.html"
	res, _ = raw(t, srv, "GET "+start+" HTTP/1.1\nHost: two.test:81\n"+at+"Connection: close\n\n")
	if where = res.Header.Get("Location"); !strings.HasPrefix(where, "http://two.test:81"+wellKnown+"memento/") {
		t.Fatal(res.StatusCode, res.Header)
	}
	res, body := raw(t, srv, "GET "+where+" HTTP/1.1\nHost: two.test:81\nConnection: close\n\n")
	if body != "two" || len(behind.requests()) > 0 {
		t.Errorf("%d %v\n%s", res.StatusCode, res.Header, body)
	}
}

// What must not lead to a request is refused, and makes none.
func TestGatewayRefuses(t *testing.T) {
	srv, behind := startGateway(t)
	const path, end = "/web/https://one.test/docs/", "Connection: close\n\n"
	const asked = "GET " + path + " HTTP/1.1\nHost: localhost\n"
	const local = " HTTP/1.1\nHost: localhost\n" + end
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"another host":        {"GET /web/https://evil.test/" + local, 403},
		"private address":     {"GET /web/http://169.254.169.254/latest/" + local, 403},
		"itself":              {"GET /web/http://localhost/web/https://one.test/" + local, 403},
		"host with user":      {"GET /web/https://one.test@evil.test/" + local, 403},
		"longer host":         {"GET /web/https://one.test.evil.test/" + local, 403},
		"no URL":              {"GET /web/https://" + local, 400},
		"other scheme":        {"GET /web/file:///etc/passwd" + local, 404},
		"connect":             {"CONNECT one.test:443 HTTP/1.1\nHost: one.test:443\n" + end, 403},
		"proxied other":       {"GET http://evil.test/ HTTP/1.1\nHost: evil.test\n" + end, 403},
		"proxied other port":  {"GET http://two.test/ HTTP/1.1\nHost: two.test\n" + end, 403},
		"proxied https":       {"GET https://one.test/docs/ HTTP/1.1\nHost: one.test\n" + end, 403},
		"proxied ftp":         {"GET ftp://two.test:81/ HTTP/1.1\nHost: two.test:81\n" + end, 403},
		"proxied user":        {"GET http://a:b@two.test:81/ HTTP/1.1\nHost: two.test:81\n" + end, 403},
		"proxied own address": {"GET http://localhost/" + local, 403},
		"host beside":         {"GET http://evil.test/ HTTP/1.1\nHost: two.test:81\n" + end, 403},
		"loop":                {asked + "Via: 1.0 a, 1.1 mirrord-gateway\n" + end, 508},
		"proxied loop": {"GET http://two.test:81/ HTTP/1.1\nHost: two.test:81\nVia: 1.1 x\n" +
			"Via: 1.1 mirrord-gateway (x)\n" + end, 508},
		"post":   {"POST " + path + " HTTP/1.1\nHost: localhost\nContent-Length: 1\n" + end + "x", 405},
		"delete": {"DELETE http://two.test:81/ HTTP/1.1\nHost: two.test:81\n" + end, 405},
		"body":   {asked + "Content-Length: 5\n" + end + "GET /", 400},
		"chunked": {asked + "Transfer-Encoding: chunked\n" + end +
			"5\nGET /\n0\n\n", 400},
		"length and chunked": {asked + "Content-Length: 4\n" +
			"Transfer-Encoding: chunked\n" + end + "0\n\n", 400},
		"two lengths":       {asked + "Content-Length: 0\nContent-Length: 5\n" + end, 400},
		"odd coding":        {asked + "Transfer-Encoding: xchunked\n" + end, 501},
		"upgrade":           {asked + "Upgrade: websocket\n" + end, 400},
		"worker":            {asked + "Service-Worker: script\n" + end, 403},
		"foreign host name": {"GET " + path + " HTTP/1.1\nHost: rebound.test\n" + end, 421},
	} {
		t.Run(name, func(t *testing.T) {
			res, body := raw(t, srv, c.request)
			if res.StatusCode != c.status {
				t.Errorf("%d, want %d: %s", res.StatusCode, c.status, body)
			}
			if up := behind.requests(); len(up) > 0 {
				t.Errorf("%s was requested", up[0].URL)
			}
		})
	}
}

// An answer that breaks off or has no end is not passed as a whole one, and one that makes no sense is not
// passed at all.
func TestGatewayBadAnswers(t *testing.T) {
	srv, behind := startGateway(t, GatewayOrigin, GatewayMirror)
	long := strings.Repeat("x", forwardAnswer+1000)
	behind.set("https://one.test/no-type", 200, long, "Content-Type", "application/zip") // length unknown
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /web/https://one.test/no-type HTTP/1.1\r\nHost: localhost\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err == nil {
		t.Error("an answer beyond the bound was whole")
	}
	for _, status := range []int{101, 999} {
		behind.set("https://one.test/docs/", status, "odd")
		res, _ := get(t, srv, "/web/https://one.test/docs/", "")
		if res.Header.Get("Mirrord-Source") != "mirror one" {
			t.Errorf("%d: %v", status, res.Header)
		}
	}
	behind.set("https://one.test/docs/", 302, "", "Location", "https://one.test/a?b#c")
	res, _ = get(t, srv, "/web/https://one.test/docs/", "")
	if got := res.Header.Get("Location"); got != "/web/https://one.test/a?b#c" {
		t.Error(got)
	}
	behind.set("https://one.test/docs/", 302, "", "Location", "javascript:alert(1)")
	res, _ = get(t, srv, "/web/https://one.test/docs/", "")
	if got := res.Header.Get("Location"); slices.Contains([]string{"javascript:alert(1)"}, got) {
		t.Error(got)
	}
}
