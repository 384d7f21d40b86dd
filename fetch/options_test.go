// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch/reach"
	"mirrord/site"
	"mirrord/testing/badserver"

	"golang.org/x/time/rate"
)

// echo answers with the header it got.
func echo(t testing.TB) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes"})
		r.Header.Write(w)
	}))
	t.Cleanup(s.Close)
	return s
}

func get(t testing.TB, c *Client, req Request) string {
	t.Helper()
	var m memory
	if _, err := c.Do(context.Background(), req, &m); err != nil {
		t.Fatal(err)
	}
	return m.String()
}

func TestHeaders(t *testing.T) {
	mine, other := echo(t), echo(t)
	c := newClient(t, Options{
		Reach:         reach.Policy{All: true},
		UserAgent:     "mirrord/1 (+https://example.org/)",
		AuthHeader:    map[string]string{"x-token": "secret"},
		BasicUser:     "u",
		BasicPassword: "p",
		AuthOrigins:   []string{mine.URL},
	})
	got := get(t, c, Request{URL: mustURL(t, mine.URL), Referer: mustURL(t, "http://from/")})
	for _, want := range []string{
		"User-Agent: mirrord/1 (+https://example.org/)", "X-Token: secret",
		"Authorization: Basic dTpw",
		"Referer: http://from/", "Accept: text/html", "Accept-Encoding: gzip, zstd, br, deflate",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	got = get(t, c, Request{URL: mustURL(t, other.URL), Referer: mustURL(t, "https://from/"), Accept: "image/*"})
	if strings.Contains(got, "secret") || strings.Contains(got, "Authorization") {
		t.Errorf("another origin learns the secret: %q", got)
	}
	if strings.Contains(got, "Referer") {
		t.Errorf("an https page is named to an http server: %q", got)
	}
	if !strings.Contains(got, "Accept: image/*") {
		t.Errorf("%q", got)
	}
	if got := get(t, newClient(t, Options{Reach: reach.Policy{All: true}}),
		Request{URL: mustURL(t, mine.URL)}); !strings.Contains(got, "User-Agent: mirrord") {
		t.Errorf("%q", got)
	}
}

func TestCookies(t *testing.T) {
	s := echo(t)
	u := mustURL(t, s.URL)
	preset := []*http.Cookie{{Name: "session", Value: "42", Domain: "127.0.0.1"}}
	tests := []struct {
		name          string
		o             Options
		first, second string
	}{
		{"none", Options{}, "", ""},
		{"kept", Options{Cookies: true}, "", "seen=yes"},
		{"preset", Options{CookiePreset: preset}, "session=42", "session=42"},
		{"both", Options{CookiePreset: preset, Cookies: true}, "session=42", "session=42; seen=yes"},
		{"not for this host", Options{
			CookiePreset: preset,
			Cookies:      true,
			NoCookies:    []string{"127.0.0.1"},
		}, "", ""},
	}
	for _, tt := range tests {
		tt.o.Reach.All = true
		c := newClient(t, tt.o)
		for _, want := range []string{tt.first, tt.second} {
			got := get(t, c, Request{URL: u})
			if (want != "" && !strings.Contains(got, "Cookie: "+want+"\r\n")) ||
				(want == "" && strings.Contains(got, "Cookie:")) {
				t.Errorf("%s: want %q in %q", tt.name, want, got)
			}
		}
	}
}

func TestBadOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"proxy without host":           {Proxy: "http://"},
		"proxy with an unknown scheme": {Proxy: "ftp://user:hunter2@proxy/"},
		"proxy that is no URL":         {Proxy: "http://user:hunter2@a b:c/"},
		"header name":                  {AuthHeader: map[string]string{"a b": "c"}},
		"header value":                 {AuthHeader: map[string]string{"a": "c\r\nd: e"}},
		"user agent":                   {UserAgent: "a\nb"},
		"framing":                      {AuthHeader: map[string]string{"Content-Length": "1"}},
		"secret for no host":           {BasicUser: "u", BasicPassword: "hunter2"},
		"auth origin":                  {BasicUser: "u", AuthOrigins: []string{"example.org"}},
		"cookie without domain":        {CookiePreset: []*http.Cookie{{Name: "a", Value: "b"}}},
		"cookie name": {CookiePreset: []*http.Cookie{{
			Name:   "a b",
			Value:  "hunter2",
			Domain: "c",
		}}},
		"CA file": {CAFile: []byte("no certificate")},
	} {
		_, err := New(o)
		if !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error tells the secret: %v", name, err)
		}
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = discardLog()
	s.StartTLS()
	defer s.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	u := mustURL(t, s.URL)
	tests := []struct {
		name string
		o    Options
		url  site.URL
		want string
		err  error
	}{
		{"unknown authority", Options{}, u, "", ErrTLS},
		{"CA file", Options{CAFile: ca}, u, "HTTP/2.0", nil},
		{"HTTP/2 off", Options{CAFile: ca, DisableHTTP2: true}, u, "HTTP/1.1", nil},
		{"not verified", Options{InsecureTLS: true}, u, "HTTP/2.0", nil},
		{"wrong host", Options{CAFile: ca}, mustURL(t, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)),
			"", ErrTLS},
		{"http to an https port", Options{}, mustURL(t, strings.Replace(s.URL, "https", "http", 1)),
			"Client sent an HTTP request", nil},
	}
	for _, tt := range tests {
		tt.o.Reach.All, tt.o.Retries = true, -1
		var m memory
		res, err := newClient(t, tt.o).Do(context.Background(), Request{URL: tt.url}, &m)
		if !errors.Is(err, tt.err) || Transient(err) {
			t.Errorf("%s: %v", tt.name, err)
		} else if err == nil && res.Status == 200 && m.String() != tt.want {
			t.Errorf("%s: %q", tt.name, m.String())
		}
	}
	plain := echo(t)
	_, err := newClient(t, Options{
		Reach:   reach.Policy{All: true},
		Retries: -1,
	}).Do(context.Background(), Request{URL: mustURL(t, strings.Replace(plain.URL, "http", "https", 1))}, nil)
	if !errors.Is(err, ErrTLS) {
		t.Errorf("https to an http port: %v", err)
	}
}

func TestProxy(t *testing.T) {
	target := echo(t)
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		if r.Method == http.MethodConnect {
			up, err := net.Dial("tcp", r.Host)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			w.WriteHeader(200)
			down, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			go func() { io.Copy(up, down); up.Close() }()
			io.Copy(down, up)
			down.Close()
			return
		}
		back, err := url.Parse(target.URL) // every request is answered here
		if err != nil {
			return
		}
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(back) }}).ServeHTTP(w, r)
	}))
	defer proxy.Close()
	c := newClient(t, Options{Proxy: strings.Replace(proxy.URL, "http://", "http://me:pass@", 1), Retries: -1})
	got := get(t, c, Request{URL: mustURL(t, "http://www.example.org/a|b?c=%zz")})
	if !strings.Contains(got, "User-Agent") || len(asked) != 1 ||
		asked[0] != "GET http://www.example.org/a|b?c=%zz Basic bWU6cGFzcw==" {
		t.Errorf("the proxy was asked %q", asked)
	}
	for _, bad := range []string{
		"http://127.0.0.1/", "http://localhost/", "http://a.localhost:81/", "http://[::1]:80/",
		"http://169.254.169.254/", "http://10.1.2.3:99/",
	} {
		if _, err := c.Do(context.Background(), Request{URL: mustURL(t, bad)}, nil); !errors.Is(err,
			ErrForbiddenAddress) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if len(asked) != 1 {
		t.Errorf("the proxy was asked %q", asked)
	}

	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "tunnelled")
	}))
	defer s.Close()
	c = newClient(t, Options{Proxy: proxy.URL, InsecureTLS: true, Reach: named(s.URL)})
	if got := get(t, c, Request{URL: mustURL(t, s.URL)}); got != "tunnelled" {
		t.Errorf("%q", got)
	}
	c.Close()

	proxy.Close()
	_, err := newClient(t, Options{
		Proxy:   proxy.URL,
		Retries: -1,
	}).Do(context.Background(), Request{URL: mustURL(t, "http://www.example.org/")}, nil)
	if !errors.Is(err, ErrRefused) {
		t.Errorf("no proxy there: %v", err)
	}
}

// A proxy that makes no tunnel says by its status what to do.
func TestProxyThatRefuses(t *testing.T) {
	for _, status := range []int{403, 407, 503} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		_, err := newClient(t, Options{Proxy: proxy.URL, Retries: -1}).Do(t.Context(),
			Request{URL: mustURL(t, "https://www.example.org/")}, nil)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), fmt.Sprintf("status %d", status)) {
			t.Errorf("%d: %v", status, err)
		}
		proxy.Close()
	}
}

func TestSOCKS(t *testing.T) {
	target := echo(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan string, 1)
	go func() { // RFC 1928: no authentication, CONNECT to a name
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		b := make([]byte, 512)
		io.ReadFull(c, b[:2])
		io.ReadFull(c, b[:b[1]])
		c.Write([]byte{5, 0})
		io.ReadFull(c, b[:5])
		n := int(b[4])
		io.ReadFull(c, b[:n+2])
		asked <- string(b[:n])
		up, err := net.Dial("tcp", strings.TrimPrefix(target.URL, "http://"))
		if err != nil {
			return
		}
		defer up.Close()
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go io.Copy(up, c)
		io.Copy(c, up)
	}()
	c := newClient(t, Options{Proxy: "socks5h://" + l.Addr().String(), Retries: -1})
	if got := get(t, c, Request{URL: mustURL(t, "http://www.example.org/")}); !strings.Contains(got,
		"User-Agent") {
		t.Errorf("%q", got)
	}
	if got := <-asked; got != "www.example.org" {
		t.Errorf("the proxy was asked for %q", got)
	}
	c.Close()
}

func TestBandwidth(t *testing.T) {
	body := strings.Repeat("x", 50000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, body)
	}))
	defer s.Close()
	l := rate.NewLimiter(200000, 10000)
	c := newClient(t, Options{Reach: reach.Policy{All: true}, Bandwidth: l})
	start := time.Now()
	res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// 40 000 bytes beyond the burst at 200 000 a second
	if d := time.Since(start) - res.ToHeader; d.Milliseconds() < 190 {
		t.Errorf("50 000 bytes in %v", d)
	}
}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// A host that accepts and then says nothing, at each stage before the request.
func TestConnectTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // only the backlog accepts
	for name, o := range map[string]Options{
		"tls handshake":  {},
		"proxy connect":  {Proxy: "http://" + l.Addr().String()},
		"socks greeting": {Proxy: "socks5://" + l.Addr().String()},
	} {
		o.MaxConnsPerHost = 2 // as in a run: waiting for a free connection has no limit, all else has
		o.Reach.All, o.Retries, o.ConnectTimeout = true, -1, 100*time.Millisecond
		start := time.Now()
		_, err := newClient(t, o).Do(context.Background(),
			Request{URL: mustURL(t, "https://"+l.Addr().String()+"/")}, nil)
		if !errors.Is(err, ErrTimeout) || time.Since(start) > 5*time.Minute {
			t.Errorf("%s: %v after %v", name, err, time.Since(start))
		}
	}
}

// With one connection allowed the second request waits for it, longer than a connection may take.
func TestMaxConnsPerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := badserver.NewPipes()
		s := badserver.StartInMemory(t, pipes)
		started, release := make(chan bool), make(chan bool)
		s.Handle("/held", func(c *badserver.Conn, _ *http.Request) bool {
			started <- true
			<-release
			c.Answer("200 OK", []byte("late"))
			return true
		})
		c := newClient(t, Options{
			Reach:           reach.Policy{All: true},
			Retries:         -1,
			MaxConnsPerHost: 1,
			ConnectTimeout:  500 * time.Millisecond,
			Network:         pipes,
		})
		done := make(chan error)
		for _, path := range []string{"/held", "/ok"} {
			go func() {
				_, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+path)}, nil)
				done <- err
			}()
			if path == "/held" {
				select {
				case <-started:
				case err := <-done:
					t.Fatal(err)
				}
			}
		}
		time.Sleep(2100 * time.Millisecond) // the limit is two ConnectTimeouts and a second
		if s.Hits("/ok") != 0 {
			t.Error("a second connection")
		}
		release <- true
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}
