// SPDX-License-Identifier: Apache-2.0

package places

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// client is a connection to a server.
type client struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func dial(t *testing.T, at net.Addr) *client {
	t.Helper()
	c, err := net.Dial(at.Network(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{c, t, bufio.NewReader(c)}
}

// ask makes a request and reports whether an answer comes.
func (c *client) ask() bool {
	c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	res, err := http.ReadResponse(c.r, nil)
	return err == nil && res.StatusCode == http.StatusOK
}

func serve(t *testing.T, l net.Listener, state func(net.Conn, http.ConnState)) {
	s := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("x")) }),
		ConnState: state,
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
}

// A listener has so many connections and no more: idle ones make room, and half-sent requests of one client
// leave most of it to others.
func TestBound(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var key atomic.Value
	key.Store("")
	b := Bound(l, 8, func(string) string { return key.Load().(string) })
	serve(t, b, b.State)
	for range 30 {
		if c := dial(t, l.Addr()); !c.ask() {
			t.Fatal("no answer beside idle connections")
		}
	}
	b.mu.Lock()
	n := len(b.open)
	b.mu.Unlock()
	if n > 8 {
		t.Errorf("%d connections are open", n)
	}
	key.Store("one client")
	for range 20 {
		fmt.Fprint(dial(t, l.Addr()), "GET / HT")
	}
	time.Sleep(50 * time.Millisecond) // the server has read the halves
	key.Store("another")
	if !dial(t, l.Addr()).ask() {
		t.Error("no answer beside half-sent requests of one client")
	}
	b.mu.Lock()
	n = b.of["one client"]
	b.mu.Unlock()
	if n > 2 {
		t.Errorf("%d connections of one client are open", n)
	}
}

// A process without descriptors answers at the listener for which some are kept back.
func TestReserve(t *testing.T) {
	l, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	few := old
	few.Cur = 128
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)
	serve(t, Reserve(l, 16), nil)
	c := dial(t, l.Addr())
	if !c.ask() {
		t.Fatal("no answer")
	}
	c.Close()
	// sockets first: a client needs one that is not taken from those kept back
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	var taken []*os.File
	defer func() {
		for _, f := range taken {
			f.Close()
		}
	}()
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		taken = append(taken, f)
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: l.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	syscall.Write(fd, []byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n"))
	syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Sec: 10})
	buf := make([]byte, 100)
	if n, err := syscall.Read(fd, buf); err != nil || n < 12 || string(buf[9:12]) != "200" {
		t.Errorf("without descriptors: %q, %v", buf[:max(n, 0)], err)
	}
	syscall.Close(fd)
}
