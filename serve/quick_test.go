// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/testing/mirrortest"
)

// listen serves a handler, with Quick before it or without, and counts the requests that net/http has.
func listen(t *testing.T, s *Server, quick bool, idle time.Duration) (address string, asked *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, asked = l.Addr().String(), new(atomic.Int64)
	if quick {
		l = Quick{Server: s, Head: time.Minute, Idle: idle}.Listener(l)
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		s.ServeHTTP(w, r)
	})
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 32 << 10}
	done := make(chan error, 1) // one result
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return address, asked
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// talk sends pieces on one connection, and returns what came until the server closed it: a text for each
// answer, without its date.
func talk(t *testing.T, address, method string, pieces ...string) (all []string) {
	t.Helper()
	c := dial(t, address)
	for i, p := range pieces {
		if p == "" {
			c.CloseWrite()
			break
		}
		if i > 0 {
			time.Sleep(time.Millisecond) // so that most arrive one by one
		}
		c.Write([]byte(p)) // the server may have closed it already
	}
	for r := bufio.NewReader(c); ; {
		res, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return all
		}
		body, err := io.ReadAll(res.Body)
		if res.StatusCode >= 400 {
			err = nil // net/http closes a bad connection, with what is still to read
		}
		if _, derr := http.ParseTime(res.Header.Get("Date")); derr != nil && res.StatusCode < 400 {
			t.Errorf("date %q", res.Header.Get("Date"))
		}
		res.Header.Del("Date")
		all = append(all, fmt.Sprint(res.Status, res.Proto, res.Header, res.ContentLength, res.Close,
			string(body), err))
	}
}

// Whatever is sent on a connection, the answers are those of net/http alone, one for one.
func TestQuickIsLikeNetHTTP(t *testing.T) {
	m := mirrorSite(t)
	m.web.Set(origin+"/n", mirrortest.HTML("n", strings.Repeat("All work and no play. ", 800)))
	m.web.Set(origin+"/docs/page", mirrortest.HTML("Page", strings.Repeat("more than is kept. ", 8000)))
	m.mirror.Run()
	plain, _ := listen(t, m.server, false, 0)
	quick, asked := listen(t, m.server, true, time.Minute)
	const host = "Host: test.mirrors.test\r\n"
	get := func(target string, fields ...string) string {
		return "GET " + target + " HTTP/1.1\r\n" + host + strings.Join(fields, "") + "\r\n"
	}
	for range 3 {
		for _, a := range []string{"http://test.mirrors.test/", "http://mirrors.test/test/"} {
			for _, p := range []string{"", "n", "latin.txt", "docs/page"} {
				ask(t, m.server, "GET", a+p)
			}
		}
		ask(t, m.server, "GET", "http://test.mirrors.test/n", "Accept-Encoding", "gzip")
	}
	tag := ask(t, m.server, "GET", "http://test.mirrors.test/latin.txt").Header.Get("Etag")
	end := get("/latin.txt", "Connection: close\r\n")
	smuggled := get("/n")
	for _, tc := range []struct {
		name   string
		pieces []string
		quick  int // answers that net/http is not needed for
	}{
		{"one", []string{get("/"), end}, 1},
		{"many", []string{get("/"), get("/n"), get("/latin.txt"), get("/docs/page"), end}, 4},
		{"in one piece", []string{get("/") + get("/n") + get("/latin.txt") + end}, 3},
		{"in pieces", []string{get("/"), get("/n")[:9], get("/n")[9:], get("/"), end}, 1},
		{"one and a half", []string{get("/") + get("/n")[:30], get("/n")[30:], end}, 1},
		{"by path", []string{strings.Replace(get("/test/n"), "test.mirrors", "mirrors", 1), end}, 1},
		{"by path, no slash", []string{strings.Replace(get("/test"), "test.mirrors", "mirrors", 1), end}, 0},
		{"the list", []string{strings.Replace(get("/"), "test.mirrors", "mirrors", 1), end}, 0},
		{"another case of the host", []string{strings.Replace(get("/n"), "test.m", "TEST.m", 1), end}, 0},
		{"as browsers do", []string{get("/n", "accept-encoding: gzip, x\r\n", "Cookie: a=b\r\n",
			"Sec-Fetch-Mode: navigate\r\n"), end}, 1},
		{"a coding that is not there", []string{get("/n", "Accept-Encoding: br\r\n"), end}, 0},
		{"kept alive", []string{get("/n", "Connection: Keep-Alive\r\n"), end}, 1},
		{"has it", []string{get("/latin.txt", "If-None-Match: "+tag+"\r\n"), get("/n"), end}, 2},
		{"has another", []string{get("/latin.txt", "If-None-Match: \"x\"\r\n"), end}, 0},
		{"has it or another", []string{get("/latin.txt", "If-None-Match: "+tag+", \"x\"\r\n"), end}, 0},
		{"range", []string{get("/n", "Range: bytes=1-3\r\n"), end}, 0},
		{"modified since", []string{get("/latin.txt",
			"If-Modified-Since: Mon, 03 Feb 2020 04:05:06 GMT\r\n"), end}, 0},
		{"another time", []string{get("/n",
			"Accept-Datetime: Mon, 03 Feb 2020 04:05:06 GMT\r\n"), end}, 0},
		{"service worker", []string{get("/n", "Service-Worker: script\r\n"), end}, 0},
		{"not there", []string{get("/never"), get("/moved"), end}, 0},
		{"query", []string{get("/find?q=1"), get("/n?"), end}, 0},
		{"escaped", []string{get("/%6e"), get("/docs/../n"), get("//n"), get("/./n"), end}, 0},
		{"upgrade", []string{get("/n", "Upgrade: h2c\r\n", "Connection: Upgrade\r\n"), end}, 0},
		{"body", []string{get("/n", fmt.Sprintf("Content-Length: %d\r\n", len(smuggled))) + smuggled, end}, 0},
		{"chunked body", []string{get("/n", "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n", end}, 0},
		{"bad chunks", []string{get("/n", "Transfer-Encoding: chunked\r\n") + smuggled, end}, 0},
		{"length and chunks", []string{get("/n", "Content-Length: 5\r\n",
			"Transfer-Encoding: chunked\r\n") + "0\r\n\r\n", end}, 0},
		{"two lengths", []string{get("/n", "Content-Length: 0\r\n",
			"Content-Length: 9\r\n") + smuggled, end}, 0},
		{"expects", []string{get("/n", "Expect: 100-continue\r\n"), end}, 0},
		{"two hosts", []string{get("/n", host), end}, 0},
		{"no host", []string{"GET /n HTTP/1.1\r\n\r\n", end}, 0},
		{"empty host", []string{"GET /n HTTP/1.1\r\nHost:\r\n\r\n", end}, 0},
		{"foreign host", []string{"GET /n HTTP/1.1\r\nHost: rebound.test\r\n\r\n", end}, 0},
		{"host with another s", []string{"GET /n HTTP/1.1\r\nHo\u017ft: test.mirrors.test\r\n\r\n", end}, 0},
		{"continued line", []string{get("/n", "Accept: a\r\n b\r\n"), end}, 0},
		{"space before the colon", []string{get("/n", "Accept : a\r\n"), end}, 0},
		{"line feeds", []string{strings.ReplaceAll(get("/n"), "\r\n", "\n"), end}, 0},
		{"a line feed in a value", []string{get("/n", "Accept: a\nContent-Length: 3\r\n"), end}, 0},
		{"a return in a value", []string{get("/n", "Accept: a\rContent-Length: 3\r\n"), end}, 0},
		{"zero in a value", []string{get("/n", "Accept: a\x00\r\n"), end}, 0},
		{"no colon", []string{get("/n", "Accept\r\n"), end}, 0},
		{"long head", []string{get("/n", "X-Forwarded-For: "+strings.Repeat("a", 5000)+"\r\n"), end}, 0},
		{"too long head", []string{get("/n", "X-Forwarded-For: "+strings.Repeat("a", 50000)+"\r\n")}, 0},
		{"old", []string{strings.Replace(get("/n"), "1.1", "1.0", 1)}, 0},
		{"version of none", []string{strings.Replace(get("/n"), "1.1", "1.7", 1), end}, 0},
		{"absolute", []string{get("http://test.mirrors.test/n"), end}, 0},
		{"star", []string{get("*"), end}, 0},
		{"empty lines first", []string{"\r\n\r\n" + get("/n"), end}, 0},
		{"method in small letters", []string{strings.Replace(get("/n"), "GET", "get", 1), end}, 0},
		{"post", []string{strings.Replace(get("/n"), "GET", "POST", 1), end}, 0},
		{"garbage", []string{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"}, 0},
		{"half a head", []string{get("/n")[:20], ""}, 0},
		{"one, and half a head", []string{get("/n"), get("/n")[:20], ""}, 1},
		{"nothing", []string{""}, 0},
	} {
		want := talk(t, plain, "GET", tc.pieces...)
		before := asked.Load()
		got := talk(t, quick, "GET", tc.pieces...)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%q\nwant\n%q", tc.name, got, want)
		}
		least := int64(len(want) - tc.quick) // net/http itself answers some
		n := asked.Load() - before
		served := len(want) > 0 && strings.HasPrefix(want[0], "200")
		if n > least || (n == 0 && served && tc.quick == 0) {
			t.Errorf("%s: net/http has %d requests of %d, want %d at most", tc.name, n, len(want), least)
		}
	}
	head := strings.ReplaceAll(get("/n")+end, "GET", "HEAD")
	got, want := talk(t, quick, "HEAD", head), talk(t, plain, "HEAD", head)
	if !slices.Equal(got, want) || len(got) != 2 {
		t.Errorf("HEAD: %q, want %q", got, want)
	}
}

// A connection that stays open sees a publish at once, and is closed when it is idle.
func TestQuickFollowsPublish(t *testing.T) {
	m := mirrorSite(t)
	address, asked := listen(t, m.server, true, 20*time.Second)
	for n := range 3 {
		if n > 0 {
			m.web.Set(origin+"/n", mirrortest.HTML("n", fmt.Sprintf("number %d", n)))
			m.mirror.Run()
		}
		for range 3 {
			ask(t, m.server, "GET", "http://test.mirrors.test/n")
		}
		c := dial(t, address)
		r := bufio.NewReader(c)
		want := fmt.Sprintf("number %d", n)
		for i := range 4 {
			if i == 2 {
				want = fmt.Sprintf("number %d, new", n)
				m.web.Set(origin+"/n", mirrortest.HTML("n", want))
				m.mirror.Run()
			}
			if _, err := io.WriteString(c, "GET /n HTTP/1.1\r\nHost: test.mirrors.test\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := bodyOf(t, res); !strings.Contains(got, want+"<") && !strings.Contains(got, want+"\n") {
				t.Errorf("request %d: %q, want %q", i, got, want)
			}
			if got := asked.Load(); (i < 2) != (got == int64(2*n)) {
				t.Errorf("request %d of connection %d: net/http has had %d", i, n, got)
			}
		}
	}
	address, _ = listen(t, m.server, true, time.Millisecond)
	for range 3 {
		ask(t, m.server, "GET", "http://test.mirrors.test/n")
	}
	if got := talk(t, address, "GET", "GET /n HTTP/1.1\r\nHost: test.mirrors.test\r\n\r\n"); len(got) != 1 {
		t.Errorf("of an idle connection: %q", got)
	}
}

// net/http counts the time for the first request from when it began to read; a connection that it gets an
// hour later has that time still.
func TestQuickDeadlines(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer := dial(t, l.Addr().String())
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	now := time.Now()
	c := &quickConn{
		TCPConn: conn.(*net.TCPConn),
		quick:   Quick{Head: time.Minute},
		began:   now.Add(-time.Hour),
		idle:    now,
	}
	read := func(want error) {
		t.Helper()
		if want == nil {
			if _, err := peer.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if err := c.pass(now, nil); err != nil {
		t.Fatal(err)
	}
	read(nil)
	c.SetReadDeadline(c.began.Add(time.Minute)) // net/http after the head
	read(nil)
	c.SetReadDeadline(time.Unix(1, 0)) // net/http after the answer
	read(os.ErrDeadlineExceeded)
	c.SetReadDeadline(now.Add(time.Minute))
	read(nil)
	c.SetReadDeadline(c.began.Add(time.Minute)) // is what it says, from the second request on
	read(os.ErrDeadlineExceeded)
	c.late = time.Hour
	c.SetReadDeadline(time.Unix(1, 0)) // is never moved
	read(os.ErrDeadlineExceeded)
}
