// SPDX-License-Identifier: Apache-2.0

// Package badserver is a web server for tests that misbehaves on demand, at the level of bytes on the
// connection. Each behaviour has a path (see Paths); what net/http would never send is written by hand.
//
// It listens on loopback only, and everything it started has ended when the test ends.
package badserver

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// shared holds what all servers do; its bodies are made once for a test binary.
var shared = sync.OnceValue(behaviours)

// A Handler answers one request by writing to c. It reports whether the connection can be kept.
type Handler func(c *Conn, r *http.Request) (keep bool)

// Server is a running server.
type Server struct {
	URL  string // "http://127.0.0.1:port", without a slash at the end
	Addr string

	l    net.Listener
	done chan struct{}
	wg   sync.WaitGroup

	mu       sync.Mutex
	conns    map[net.Conn]bool
	handlers map[string]Handler
	hits     map[string]int
	log      []Hit
}

// Hit is one request that came.
type Hit struct {
	Path   string // with query, as in the request line
	Header http.Header
}

// Start runs a server until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, l.Addr().String())
}

// StartInMemory runs a server that is reached at pipes as bad.example.org, until the test ends. What floods
// its client needs a real connection.
func StartInMemory(t testing.TB, pipes *Pipes) *Server {
	t.Helper()
	return serve(t, pipes, "bad.example.org")
}

func serve(t testing.TB, l net.Listener, addr string) *Server {
	s := &Server{
		URL:      "http://" + addr,
		Addr:     addr,
		l:        l,
		done:     make(chan struct{}),
		conns:    map[net.Conn]bool{},
		handlers: maps.Clone(shared()),
		hits:     map[string]int{},
	}
	s.wg.Add(1)
	go s.accept()
	t.Cleanup(s.close)
	return s
}

// Handle sets what path does.
func (s *Server) Handle(path string, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[path] = h
}

// Alias makes path do what another one does.
func (s *Server) Alias(path, other string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[path] = s.handlers[other]
}

// Paths lists the behaviours.
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.handlers))
}

// Hits returns how often path was requested, with any query.
func (s *Server) Hits(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}

// Log returns all requests in the order in which they came.
func (s *Server) Log() []Hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *Server) accept() {
	defer s.wg.Done()
	for {
		c, err := s.l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Add(1)
		go s.serve(c)
	}
}

func (s *Server) close() {
	close(s.done)
	s.l.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *Server) serve(nc net.Conn) {
	defer s.wg.Done()
	defer func() {
		nc.Close()
		s.mu.Lock()
		delete(s.conns, nc)
		s.mu.Unlock()
	}()
	c := &Conn{Conn: nc, s: s}
	br := bufio.NewReader(nc)
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		s.mu.Lock()
		h := s.handlers[r.URL.Path]
		s.hits[r.URL.Path]++
		c.Nth = s.hits[r.URL.Path]
		s.log = append(s.log, Hit{r.RequestURI, r.Header})
		s.mu.Unlock()
		if h == nil {
			h = notFound
		}
		if !h(c, r) {
			return
		}
	}
}

// Conn is the connection that a Handler misuses.
type Conn struct {
	net.Conn
	Nth int // how often this path has been requested, from 1
	s   *Server
}

// Text writes literal bytes; write errors mean that the client has disconnected and are ignored.
func (c *Conn) Text(format string, args ...any) {
	if len(args) == 0 {
		c.Write([]byte(format))
		return
	}
	fmt.Fprintf(c, format, args...)
}

// Answer writes a complete answer: status and fields ("Name: value", each) and body, with a Content-Length
// unless fields has a framing of its own.
func (c *Conn) Answer(status string, body []byte, fields ...string) {
	c.Text("HTTP/1.1 %s\r\n", status)
	for _, f := range fields {
		c.Text("%s\r\n", f)
	}
	c.Text("Content-Length: %d\r\n\r\n", len(body))
	c.Write(body)
}

// Pause waits for d, or until the server closes: then it reports false.
func (c *Conn) Pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.s.done:
		return false
	}
}

// Hang waits until the client goes or the server closes.
func (c *Conn) Hang() {
	var b [64]byte
	for {
		if _, err := c.Read(b[:]); err != nil {
			return
		}
	}
}

// Reset ends the connection with a RST.
func (c *Conn) Reset() {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}

// Drip writes b one byte at a time with a pause after each, until the client disconnects.
func (c *Conn) Drip(b []byte, every time.Duration) bool {
	for i := range b {
		if _, err := c.Write(b[i : i+1]); err != nil || !c.Pause(every) {
			return false
		}
	}
	return true
}

func notFound(c *Conn, _ *http.Request) bool {
	c.Answer("404 Not Found", []byte("no such page"), "Content-Type: text/plain")
	return true
}
