// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
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
func TestConnsRepeats(t *testing.T) {
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

// What a server does with an idle connection, closing it or sending unrequested bytes, costs no request.
func TestConnsEndWhileIdle(t *testing.T) {
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
			conns := &openConns{Network: System()}
			c := newClient(t, Options{Reach: reach.Policy{All: true}, Retries: -1, Network: conns})
			for i := range 2 {
				var m memory
				res, err := c.Do(context.Background(), Request{URL: mustURL(t, "http://"+addr+"/")}, &m)
				if err != nil || m.String() != "ok" || res.Sent != 1 {
					t.Fatalf("%d: %v, body %q, sent %d", i, err, m.String(), res.Sent)
				}
				for i == 0 && conns.now.Load() > 0 { // the end, or what follows, is on its way
					time.Sleep(time.Millisecond)
				}
			}
			if n := opened.Load(); n != 2 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// Requests have their fields sorted, and path and query as they stand in the URL.
func TestConnsSend(t *testing.T) {
	heads := make(chan string, 1)
	addr, _ := talk(t, func(head string, _ int) (string, bool) {
		heads <- head
		return "HTTP/1.1 304 Not Modified\r\n\r\n", false
	})
	c := newClient(t, Options{
		Reach:       reach.Policy{All: true},
		UserAgent:   "test/1 (+http://example.org/)",
		AuthOrigins: []string{"http://" + addr},
		AuthHeader: map[string]string{
			"Authorization":   "Basic eA==",
			"X-One":           " padded ",
			"accept-language": "hu",
		},
		Cookies:      true,
		CookiePreset: []*http.Cookie{{Name: "a", Value: "b", Domain: "127.0.0.1"}},
	})
	targets := map[string]string{
		"/":               "/",
		"//two/slashes":   "http://" + addr + "//two/slashes",
		"/a|b%zz?q=1|2&x": "/a|b%zz?q=1|2&x",
		"/dir/;p=1":       "/dir/;p=1",
	}
	for path, target := range targets {
		for _, last := range []string{"", "Connection: close\r\n"} {
			want := "GET " + target + " HTTP/1.1\r\n" +
				"Host: " + addr + "\r\n" +
				"User-Agent: test/1 (+http://example.org/)\r\n" +
				"Accept: " + c.acceptAny[0] + "\r\n" +
				"Accept-Encoding: " + acceptEncoding + "\r\n" +
				"Accept-Language: hu\r\n" +
				"Authorization: Basic eA==\r\n" +
				"Cookie: a=b\r\n" +
				"If-Modified-Since: Mon, 02 Jan 2006 15:04:05 GMT\r\n" +
				"If-None-Match: \"e\"\r\n" +
				"Referer: http://" + addr + "/from\r\n" +
				"X-One: padded\r\n" + last + "\r\n"
			res, err := c.Do(context.Background(), Request{
				URL:          mustURL(t, "http://"+addr+path),
				Referer:      mustURL(t, "http://"+addr+"/from"),
				ETag:         `"e"`,
				LastModified: "Mon, 02 Jan 2006 15:04:05 GMT",
				Fresh:        last != "",
			}, nil)
			if err != nil || !res.NotModified {
				t.Fatal(err)
			}
			if got := <-heads; got != want {
				t.Errorf("%q, want %q", got, want)
			}
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
func TestConnsLimit(t *testing.T) {
	var asked atomic.Int64
	addr, _ := talk(t, func(_ string, _ int) (string, bool) {
		time.Sleep(time.Millisecond) // the others wait for a connection meanwhile
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
	for end := time.Now().Add(10 * time.Second); conns.now.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections are left open", conns.now.Load())
		}
	}
}

// Unused connections are closed.
func TestConnsIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := badserver.NewPipes()
		s := badserver.StartInMemory(t, pipes)
		conns := &openConns{Network: pipes}
		c := newClient(t, Options{Reach: reach.Policy{All: true}, Network: conns})
		if _, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/ok")}, nil); err != nil {
			t.Fatal(err)
		}
		if n := conns.now.Load(); n != 1 {
			t.Fatalf("%d connections", n)
		}
		time.Sleep(2 * idleTime)
		if n := conns.now.Load(); n != 0 {
			t.Errorf("%d connections are left open", n)
		}
	})
}

// A limit, and the caller, end an exchange on a used connection too, and close it.
func TestConnsEndsOnUsedConnection(t *testing.T) {
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
