// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

// talk serves connections with answer, which gets the head of each request and the number of its connection,
// and says what to send and whether to close then. It returns the address and the number of connections.
func talk(t *testing.T, answer func(head string, conn int) (string, bool)) (string, *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var opened atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n := int(opened.Add(1))
			go func() {
				defer conn.Close()
				br := bufio.NewReader(conn)
				for {
					var head strings.Builder
					for {
						line, err := br.ReadString('\n')
						if err != nil {
							return
						}
						if head.WriteString(line); line == "\r\n" {
							break
						}
					}
					text, last := answer(head.String(), n)
					if _, err := conn.Write([]byte(text)); err != nil || last {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), &opened
}

const short = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// A connection that ends before a byte of its second answer is no failure: the request is repeated, once, on
// a new one.
func TestDirectRepeats(t *testing.T) {
	var asked atomic.Int64
	addr, opened := talk(t, func(_ string, _ int) (string, bool) {
		if asked.Add(1) == 2 {
			return "", true
		}
		return short, false
	})
	c := newClient(t, Options{Reach: reach.Policy{All: true}, Retries: -1})
	for i := range 2 {
		var m memory
		res, err := c.Do(context.Background(), Request{URL: mustURL(t, "http://"+addr+"/")}, &m)
		if err != nil || m.String() != "ok" || res.Sent != i+1 {
			t.Fatalf("%d: %v, body %q, sent %d", i, err, m.String(), res.Sent)
		}
	}
	if n := opened.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
	// on a new connection it is a failure
	addr, _ = talk(t, func(string, int) (string, bool) { return "", true })
	res, err := c.Do(context.Background(), Request{URL: mustURL(t, "http://"+addr+"/")}, nil)
	if !errors.Is(err, ErrReset) || res.Sent != 1 {
		t.Errorf("%v, sent %d", err, res.Sent)
	}
}

// What a server does with an idle connection, closing it or sending what nobody asked for, costs no request.
func TestDirectLooksFirst(t *testing.T) {
	for name, end := range map[string]string{
		"closed": short,
		"junk":   short + "junk",
		"answer": short + strings.Replace(short, "ok", "no", 1),
	} {
		t.Run(name, func(t *testing.T) {
			addr, opened := talk(t, func(_ string, conn int) (string, bool) {
				if conn == 1 {
					return end, name == "closed"
				}
				return short, false
			})
			c := newClient(t, Options{Reach: reach.Policy{All: true}, Retries: -1})
			for i := range 2 {
				var m memory
				res, err := c.Do(context.Background(), Request{URL: mustURL(t, "http://"+addr+"/")}, &m)
				if err != nil || m.String() != "ok" || res.Sent != 1 {
					t.Fatalf("%d: %v, body %q, sent %d", i, err, m.String(), res.Sent)
				}
				for i == 0 && hasGood(c) { // the end, or what follows, is on its way
					time.Sleep(time.Millisecond)
				}
			}
			if n := opened.Load(); n != 2 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// hasGood reports whether a request may be sent on a connection that is idle.
func hasGood(c *Client) bool {
	c.plain.mu.Lock()
	defer c.plain.mu.Unlock()
	for _, h := range c.plain.hosts {
		for _, conn := range h.idle {
			if conn.isGood() {
				return true
			}
		}
	}
	return false
}

// Requests are those of net/http, byte for byte.
func TestDirectAsksLikeNetHTTP(t *testing.T) {
	heads := make(chan string, 1)
	addr, _ := talk(t, func(head string, _ int) (string, bool) {
		heads <- head
		return "HTTP/1.1 304 Not Modified\r\n\r\n", false
	})
	c := newClient(t, Options{
		Reach:        reach.Policy{All: true},
		UserAgent:    "test/1 (+http://example.org/)",
		Header:       map[string]string{"X-One": " padded ", "accept-language": "hu"},
		AuthOrigins:  []string{"http://" + addr},
		AuthHeader:   map[string]string{"Authorization": "Basic eA=="},
		Cookies:      true,
		CookiePreset: []*http.Cookie{{Name: "a", Value: "b", Domain: "127.0.0.1"}},
	})
	for _, fresh := range []bool{false, true} {
		for _, path := range []string{"/", "//two/slashes", "/a|b%zz?q=1|2&x", "/dir/;p=1"} {
			req := Request{
				URL:          mustURL(t, "http://"+addr+path),
				Referer:      mustURL(t, "http://"+addr+"/from"),
				ETag:         `"e"`,
				LastModified: "Mon, 02 Jan 2006 15:04:05 GMT",
				Fresh:        fresh,
			}
			var got [2]string
			for i, tr := range []*direct{c.plain, nil} {
				c.plain = tr
				if res, err := c.Do(context.Background(), req, nil); err != nil || !res.NotModified {
					t.Fatal(err)
				}
				got[i] = <-heads
				if i == 0 {
					defer tr.close()
				}
			}
			if got[0] != got[1] {
				t.Errorf("%s:\n%s\nof net/http:\n%s", path, got[0], got[1])
			}
			c.plain = &direct{dial: c.dial, mostIdle: 4, mostHead: 1 << 10}
		}
	}
}

// openConns counts the connections that are open at a time.
type openConns struct {
	Network
	now, most atomic.Int64
}

func (o *openConns) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	conn, err := o.Network.Connect(ctx, to)
	if err != nil {
		return nil, err
	}
	n := o.now.Add(1)
	for m := o.most.Load(); n > m && !o.most.CompareAndSwap(m, n); m = o.most.Load() {
	}
	return &openConn{Conn: conn, closed: sync.OnceFunc(func() { o.now.Add(-1) })}, nil
}

type openConn struct {
	net.Conn
	closed func()
}

func (c *openConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// Requests that wait for a connection, and are given up, or whose connections fail, leave the limit as it is.
func TestDirectLimit(t *testing.T) {
	var asked atomic.Int64
	addr, _ := talk(t, func(_ string, _ int) (string, bool) {
		time.Sleep(time.Millisecond)
		switch asked.Add(1) % 4 {
		case 0:
			return "", true
		case 1:
			return strings.Replace(short, "ok", "o", 1), true
		}
		return short, false
	})
	const limit = 3
	conns := &openConns{Network: System()}
	c := newClient(t, Options{
		Reach:           reach.Policy{All: true},
		Retries:         -1,
		MaxConnsPerHost: limit,
		Network:         conns,
	})
	var wg sync.WaitGroup
	for w := range 12 {
		wg.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithCancel(context.Background())
				if (w+i)%3 == 0 {
					time.AfterFunc(time.Duration(i)*200*time.Microsecond, cancel)
				}
				c.Do(ctx, Request{URL: mustURL(t, "http://"+addr+"/")}, nil)
				cancel()
			}
		})
	}
	wg.Wait()
	if n := conns.most.Load(); n != limit {
		t.Errorf("%d connections at a time, want %d", n, limit)
	}
	c.Close()
	if n := conns.now.Load(); n > 0 {
		t.Errorf("%d connections are left open", n)
	}
	c.plain.mu.Lock()
	defer c.plain.mu.Unlock()
	if len(c.plain.hosts) != 0 || c.plain.idle != 0 {
		t.Errorf("%d hosts are left, %d connections idle", len(c.plain.hosts), c.plain.idle)
	}
}

// Connections that nobody uses are closed.
func TestDirectSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := badserver.NewPipes()
		s := badserver.StartInMemory(t, pipes)
		c := newClient(t, Options{Reach: reach.Policy{All: true}, Network: pipes})
		if _, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/ok")}, nil); err != nil {
			t.Fatal(err)
		}
		idle := func() int {
			c.plain.mu.Lock()
			defer c.plain.mu.Unlock()
			return c.plain.idle
		}
		if idle() != 1 {
			t.Fatalf("%d idle", idle())
		}
		time.Sleep(2 * idleTime)
		if idle() != 0 {
			t.Errorf("%d idle", idle())
		}
	})
}

// A limit, and the caller, end an exchange on a used connection too, for which nobody has waited: it has no
// context of its own. The connection is closed.
func TestDirectEndsOnUsedConnection(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	var asked chan struct{}
	addr, opened := talk(t, func(head string, _ int) (string, bool) {
		switch {
		case strings.HasPrefix(head, "GET /header"):
			<-over
		case strings.HasPrefix(head, "GET /caller"):
			close(asked)
			<-over
		case strings.HasPrefix(head, "GET /body"):
			return "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", false
		}
		return short, false
	})
	for name, want := range map[string]error{"header": ErrTimeout, "body": ErrTimeout, "caller": ErrCanceled} {
		o := Options{Retries: -1, HeaderTimeout: 100 * time.Millisecond, IdleTimeout: 100 * time.Millisecond}
		if o.Reach.All = true; name == "caller" {
			o.HeaderTimeout, o.IdleTimeout = time.Hour, time.Hour
		}
		c := newClient(t, o)
		get := func(ctx context.Context, path string) error {
			_, err := c.Do(ctx, Request{URL: mustURL(t, "http://"+addr+path)}, discard{})
			return err
		}
		before := opened.Load()
		if err := get(t.Context(), "/first"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if asked = make(chan struct{}); name == "caller" {
			go func() { <-asked; cancel() }()
		}
		if err := get(ctx, "/"+name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		cancel()
		if err := get(t.Context(), "/last"); err != nil || opened.Load()-before != 2 {
			t.Errorf("%s: %v on %d connections", name, err, opened.Load()-before)
		}
	}
}

// An exchange on a connection that is closed, before it or while it waits, ends with an error.
func TestDirectClosed(t *testing.T) {
	asked, end := make(chan bool, 2), make(chan bool)
	defer close(end)
	addr, _ := talk(t, func(string, int) (string, bool) {
		asked <- true
		<-end
		return "", true
	})
	for _, before := range []bool{true, false} {
		c := connTo(t, addr)
		if before {
			c.abort()
		} else {
			go func() {
				<-asked
				c.abort()
			}()
		}
		if _, err := c.exchange(requestTo(t, addr)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed before: %v; %v", before, err)
		}
	}
}

// An answer that has come before anybody waits for it ends the wait.
func TestDirectAnswerIsThere(t *testing.T) {
	addr, _ := talk(t, func(string, int) (string, bool) { return short, false })
	c := connTo(t, addr)
	c.host = &directHost{}
	await := c.await
	c.await = func(fd uintptr) bool {
		waits := await(fd)
		for c.peek(fd); c.silent; c.peek(fd) {
			runtime.Gosched()
		}
		return waits
	}
	for range 100 {
		wantShort(t, c, addr)
	}
}

// lookingConn is a connection that notes when it is read while nothing is there.
type lookingConn struct {
	*net.TCPConn
	c    *directConn
	idle int // such reads
}

func (l *lookingConn) Read(p []byte) (int, error) {
	if err := l.c.raw.Read(l.c.peek); err == nil && l.c.silent {
		l.idle++
	}
	return l.TCPConn.Read(p)
}

// Nothing is read before an answer is there.
func TestDirectReadsWhatIsThere(t *testing.T) {
	addr, _ := talk(t, func(string, int) (string, bool) {
		time.Sleep(time.Millisecond) // the one who asks has the time to read too early
		return short, false
	})
	c := connTo(t, addr)
	l := &lookingConn{TCPConn: c.Conn.(*net.TCPConn), c: c}
	c.Conn = l
	for range 20 {
		wantShort(t, c, addr)
	}
	if l.idle > 0 {
		t.Errorf("%d reads found nothing", l.idle)
	}
}

// connTo opens a connection, which ends with the test.
func connTo(t *testing.T, addr string) *directConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := new(directConn)
	c.begin(conn, 1<<20)
	t.Cleanup(c.abort)
	return c
}

func requestTo(t *testing.T, addr string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantShort makes an exchange that is answered with short.
func wantShort(t *testing.T, c *directConn, addr string) {
	t.Helper()
	resp, err := c.exchange(requestTo(t, addr))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "ok" {
		t.Fatalf("%q, %v", b, err)
	}
}
