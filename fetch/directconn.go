// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"
)

// directConn is a connection that direct makes exchanges on, one after the other.
type directConn struct {
	net.Conn
	host     *directHost // that has a place for it; nil for none
	addr     string
	fresh    bool // for one request alone
	used     bool // had an answer before
	answered bool // a byte of the answer came
	since    time.Time

	remote netip.Addr
	most   int64 // bytes of the heads of an answer
	left   int64 // bytes that may still be read
	br     *bufio.Reader
	out    []byte     // the request; used again
	names  []string   // of its fields; used again
	sent   chan error // has one value when the request was sent, or could not be
	abort  func()

	raw    syscall.RawConn // nil when there is none
	peek   func(uintptr) bool
	silent bool               // found by peek
	await  func(uintptr) bool // see ask
	asked  bool
}

// directBuffer is that of readers: as large as what bodies are read into, so that they come without a copy.
const directBuffer = copyBuffer

func (c *directConn) begin(conn net.Conn, most int64) {
	c.Conn, c.most = conn, most
	if a, ok := conn.RemoteAddr().(interface{ AddrPort() netip.AddrPort }); ok {
		c.remote = a.AddrPort().Addr().Unmap()
	}
	c.br, c.sent = bufio.NewReaderSize(c, directBuffer), make(chan error, 1)
	c.abort = func() { conn.Close() }
	if h, ok := conn.(*headConn); ok {
		conn = h.Conn
	}
	if s, ok := conn.(syscall.Conn); ok {
		c.raw, _ = s.SyscallConn()
	}
	c.peek = func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		c.silent = errors.Is(err, syscall.EAGAIN)
		return true
	}
	c.await = func(uintptr) bool { // false: wait for what comes after Read began, as any answer does
		if c.asked {
			return true
		}
		c.request()
		return false
	}
}

// isGood reports whether a request can be sent on an idle connection: nothing came since its last answer, not
// even its end. What came would be taken for the next answer.
func (c *directConn) isGood() bool {
	if c.br.Buffered() > 0 || time.Since(c.since) > idleTime {
		return false
	}
	return c.raw == nil || (c.raw.Read(c.peek) == nil && c.silent)
}

// Read reads from the network no more than the head may have.
func (c *directConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("read limit of %d bytes exhausted", c.most)
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.Conn.Read(p)
	c.left -= int64(n)
	return n, err
}

// exchange sends a request and reads the head of its answer.
func (c *directConn) exchange(r *http.Request) (*http.Response, error) {
	if err := c.compose(r); err != nil {
		c.answered = true // it will be no better on another connection
		return nil, err
	}
	c.left = c.most
	err := c.ask()
	if !c.asked {
		return nil, err
	}
	if err == nil {
		_, err = c.br.Peek(1)
	}
	if lost := <-c.sent; lost != nil {
		return nil, lost
	}
	if err != nil {
		return nil, err
	}
	c.answered = true
	for {
		resp, err := http.ReadResponse(c.br, r)
		if err != nil {
			if c.left <= 0 {
				err = fmt.Errorf("headers exceeded %d bytes", c.most)
			}
			return nil, err
		}
		// an interim answer, before the one proper (RFC 9110 §15.2)
		if 100 <= resp.StatusCode && resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		c.left = math.MaxInt64
		return resp, nil
	}
}

// ask has the request sent, and waits until something comes: who reads first makes a call of the system that
// only finds that nothing is there yet. A connection that is closed already is not asked.
func (c *directConn) ask() (err error) {
	if c.asked = false; c.raw == nil {
		c.request()
		return nil
	}
	return c.raw.Read(c.await)
}

// request sends the request, or leaves that to who sends others.
func (c *directConn) request() {
	if c.asked = true; c.host != nil {
		c.host.out.send(c)
	} else {
		c.send()
	}
}

// send sends the request. When that fails nobody waits for an answer.
func (c *directConn) send() {
	_, err := c.Write(c.out)
	if err != nil {
		c.Close()
	}
	c.sent <- err
}

// compose writes the request into c.out, with its fields in net/http's order.
func (c *directConn) compose(r *http.Request) error {
	uri := r.URL.RequestURI()
	for i := range len(uri) {
		if uri[i] <= ' ' || uri[i] == 0x7f {
			return errors.New("control character in the URL of a request")
		}
	}
	b := append(c.out[:0], "GET "...)
	b = append(append(b, uri...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, r.Host...), "\r\n"...)
	const first = "User-Agent"
	names := append(c.names[:0], first)
	for name := range r.Header {
		if name != first {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	for _, name := range names {
		for _, v := range r.Header[name] {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("invalid value of the request's field %s", name)
			}
			b = append(append(b, name...), ": "...)
			b = append(append(b, textproto.TrimString(v)...), "\r\n"...)
		}
	}
	if c.fresh {
		b = append(b, "Connection: close\r\n"...)
	}
	c.out, c.names = append(b, "\r\n"...), names
	return nil
}

// directBody is the body of an answer. At its end the connection can have the next request.
type directBody struct {
	d     *direct
	c     *directConn // nil after the end
	inner io.Reader
	watch *watch // guards the connection
	keep  bool   // the connection may be used again
	err   error
}

// Read reads from the body.
func (b *directBody) Read(p []byte) (int, error) {
	if b.c == nil {
		return 0, b.err
	}
	n, err := b.inner.Read(p)
	if err != nil {
		b.err = err
		b.end(err == io.EOF)
	}
	return n, err
}

// Close closes the connection unless the body was read to its end.
func (b *directBody) Close() error {
	if b.c != nil {
		b.err = http.ErrBodyReadAfterClose
		b.end(false)
	}
	return nil
}

func (b *directBody) end(whole bool) {
	c := b.c
	b.c = nil
	if b.err == nil {
		b.err = io.EOF
	}
	if b.watch.release() && whole && b.keep && c.br.Buffered() == 0 {
		b.d.put(c)
	} else {
		b.d.drop(c)
	}
}
