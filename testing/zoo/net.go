// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"mirrord/testing/badserver"
)

// takes is how long a connection, and how long an answer takes.
const takes = 20 * time.Millisecond

// Net serves a site in memory. It is a fetch.Network, and safe for concurrent use.
type Net struct {
	site  *Site
	pipes *badserver.Pipes // to the server

	mu    sync.Mutex
	run   int
	start time.Time // of the run
	names map[string]netip.Addr
	hosts map[netip.Addr]string
	nth   map[string]int
	log   []Contact
}

// Contact is a request, or an attempt to reach an origin.
type Contact struct {
	URL    string // of a request; "" of an attempt that failed before
	Origin string
	Status int // 0: no header was sent
	At     time.Duration
}

// Serve starts a net and returns what ends it.
func Serve(s *Site) (*Net, func()) {
	n := &Net{
		site:  s,
		pipes: badserver.NewPipes(),
		names: map[string]netip.Addr{},
		hosts: map[netip.Addr]string{},
	}
	n.Begin(1)
	done := make(chan struct{})
	srv := &http.Server{
		Handler:  n,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(done)
		srv.Serve(n.pipes)
	}()
	return n, func() {
		srv.Close()
		<-done
	}
}

// Begin says that a run begins, and forgets what was asked before.
func (n *Net) Begin(run int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.run, n.start, n.nth, n.log = run, time.Now(), map[string]int{}, nil
}

// Log returns what happened since the run began.
func (n *Net) Log() []Contact {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Contact(nil), n.log...)
}

func (n *Net) note(e Contact) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e.At = time.Since(n.start)
	n.log = append(n.log, e)
}

// visit makes the visit of an origin; u is "" before there is a request.
func (n *Net) visit(origin, u string) Visit {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := Visit{
		URL:    u,
		Origin: origin,
		Run:    n.run,
		Now:    time.Now(),
		In:     time.Since(n.start),
		site:   n.site,
	}
	if u == "" {
		return v
	}
	n.nth[u]++
	n.nth[origin]++
	v.Nth, v.Count = n.nth[u], n.nth[origin]
	return v
}

// fault is the present fault of an origin.
func (n *Net) fault(origin string) Outage {
	if f, ok := n.site.Origins[origin]; ok {
		return f(n.visit(origin, ""))
	}
	for u := range n.site.Pages {
		if strings.HasPrefix(u, origin+"/") {
			return Up
		}
	}
	return Refused
}

// originsOf are the origins of a host that the site has or names.
func (n *Net) originsOf(host string) (out []string) {
	add := func(s string) {
		if u, err := url.Parse(s); err == nil && u.Hostname() == host {
			out = append(out, u.Scheme+"://"+u.Host)
		}
	}
	for u := range n.site.Pages {
		add(u)
	}
	for o := range n.site.Origins {
		add(o)
	}
	return out
}

// Lookup is that of fetch.Network.
func (n *Net) Lookup(_ context.Context, name string) ([]netip.Addr, error) {
	time.Sleep(takes) // in a bubble
	origins := n.originsOf(name)
	known := false
	for _, o := range origins {
		known = known || n.fault(o) != NoName
	}
	if !known {
		for _, o := range append(origins, "http://"+name)[:1] {
			n.note(Contact{Origin: o})
		}
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.names[name]
	if !ok {
		a = netip.AddrFrom4([4]byte{93, 184, 216, byte(10 + len(n.names))})
		n.names[name], n.hosts[a] = a, name
	}
	return []netip.Addr{a}, nil
}

// Connect is that of fetch.Network.
func (n *Net) Connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	host := n.hosts[to.Addr()]
	n.mu.Unlock()
	origin, secure := n.originAt(host, to.Port())
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f := n.fault(origin)
	if f != Up {
		n.note(Contact{Origin: origin})
	}
	switch f {
	case Refused:
		return nil, dialError(to, syscall.ECONNREFUSED)
	case Unreachable, NoName:
		return nil, dialError(to, syscall.EHOSTUNREACH)
	case BlackHole:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, server := badserver.Pipe()
	switch {
	case f == Silent:
		go func() {
			io.Copy(io.Discard, server)
			server.Close()
		}()
		return client, nil
	case f == Hangup:
		server.Close()
		return client, nil
	case secure && f != NotTLS:
		server = tls.Server(server, serverTLS(host, f == BadCert))
	}
	if err := n.pipes.Offer(ctx, server); err != nil {
		return nil, err
	}
	return client, nil
}

// originAt is the origin that listens at a port of a host, and whether it is one of https.
func (n *Net) originAt(host string, port uint16) (origin string, secure bool) {
	p := strconv.Itoa(int(port))
	for _, o := range n.originsOf(host) {
		if u, err := url.Parse(o); err == nil && u.Port() == p {
			return o, u.Scheme == "https"
		}
	}
	switch port {
	case 80:
		return "http://" + host, false
	case 443:
		return "https://" + host, true
	}
	return fmt.Sprintf("http://%s:%d", host, port), false
}

func dialError(to netip.AddrPort, errno syscall.Errno) error {
	return &net.OpError{
		Op:   "dial",
		Net:  "tcp",
		Addr: net.TCPAddrFromAddrPort(to),
		Err:  os.NewSyscallError("connect", errno),
	}
}

// ServeHTTP answers a request as the site does.
func (n *Net) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin := "http://" + r.Host
	if r.TLS != nil {
		origin = "https://" + r.Host
	}
	u := origin + r.URL.RequestURI()
	v := n.visit(origin, u)
	v.Path, v.Query, v.Header = r.URL.Path, r.URL.Query(), r.Header
	var a *Reply
	for _, t := range n.site.Twists {
		if a = t(v); a != nil {
			break
		}
	}
	if a == nil {
		a = v.Page()
	}
	e := Contact{URL: u, Origin: origin, Status: a.Status}
	if e.Status == 0 {
		e.Status = http.StatusOK
	}
	if a.Hang || a.Reset {
		e.Status = 0
	}
	n.note(e)
	a.write(w, r)
}

// write sends an answer. Conditional requests are answered by the ETag or date that it has.
func (a *Reply) write(w http.ResponseWriter, r *http.Request) {
	if !sleep(r.Context(), takes+a.After) {
		return
	}
	if a.Hang {
		<-r.Context().Done()
	}
	if a.Hang || a.Reset {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	for _, f := range a.Header {
		name, value, _ := strings.Cut(f, ": ")
		h.Add(name, value)
	}
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	if status == http.StatusOK && fresh(h, r) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if status != http.StatusNotModified && status != http.StatusNoContent && !a.Endless {
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(status)
	switch {
	case a.Endless:
		for sleep(r.Context(), a.Drip) {
			if _, err := io.WriteString(w, a.Body); err != nil {
				return
			}
			http.NewResponseController(w).Flush()
		}
	case a.Cut:
		io.WriteString(w, a.Body[:len(a.Body)/2])
		panic(http.ErrAbortHandler)
	case a.Drip > 0:
		for i := range len(a.Body) {
			if _, err := io.WriteString(w, a.Body[i:i+1]); err != nil || !sleep(r.Context(), a.Drip) {
				return
			}
			http.NewResponseController(w).Flush()
		}
	default:
		io.WriteString(w, a.Body)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// fresh reports whether the client's copy is good.
func fresh(h http.Header, r *http.Request) bool {
	if t := r.Header.Get("If-None-Match"); t != "" {
		return h.Get("ETag") == t
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	if err != nil {
		return false
	}
	changed, err := http.ParseTime(h.Get("Last-Modified"))
	return err == nil && !changed.After(since)
}
