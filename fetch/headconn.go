// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"mirrord/fetch/heads"
)

// net/http keeps the fields of an answer without their order and spelling. headConn is a connection that
// speaks HTTP/1.1 and keeps the bytes of each answer's head as they pass, so that these can be had too.
// Requests are not pipelined, so that what comes after a request was sent is its answer. But the connection
// may get its next request before the waiting caller has received a response without a body.
type headConn struct {
	net.Conn
	most int // bytes of a head; of a longer one nothing is kept

	mu   sync.Mutex // guards what follows, and all that seen has
	seen *seenHead  // of the answer to the last request; nil before the first
}

// seenHead is what came of the head of one answer.
type seenHead struct {
	conn  *headConn
	wants bool // its end has not come
	raw   []byte
}

// expect makes the connection keep the head of the next answer. It is called before the request is sent.
func (c *headConn) expect() *seenHead {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = &seenHead{conn: c, wants: true}
	return c.seen
}

// Read reads from the network and keeps what belongs to the head that is expected.
func (c *headConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen != nil && c.seen.wants {
		c.seen.keep(p[:n])
	}
	return n, err
}

func (s *seenHead) keep(p []byte) {
	for len(p) > 0 {
		had := len(s.raw)
		some := p[:min(len(p), s.conn.most+1-had)]
		end := 0
		if had == 0 { // in most answers the first read has the whole head, and some of the body
			end = heads.End(some, 0)
		}
		if end > 0 {
			some = some[:end]
		}
		s.raw = append(s.raw, some...)
		if end == 0 {
			end = heads.End(s.raw, had)
		}
		if end == 0 {
			if len(s.raw) > s.conn.most {
				s.wants, s.raw = false, nil
			}
			return
		}
		p, s.raw = p[end-had:], s.raw[:end]
		if !isInterim(s.raw) {
			s.wants = false
			return
		}
		s.raw = s.raw[:0] // the answer proper follows (RFC 9110 §15.2)
	}
}

// isInterim reports whether a head is that of a 1xx answer.
func isInterim(raw []byte) bool {
	_, rest, _ := bytes.Cut(raw, []byte(" "))
	return bytes.HasPrefix(bytes.TrimLeft(rest, " "), []byte("1")) && !bytes.HasPrefix(rest, []byte("101"))
}

// head returns the head that was kept, nil when it could not be. It is called when net/http has read it too.
func (s *seenHead) head() *heads.Head {
	if s == nil {
		return nil
	}
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.wants {
		return nil
	}
	h, err := heads.Parse(s.raw)
	if err != nil {
		return nil
	}
	return h
}

// dial connects to a host for plain HTTP, or to a proxy.
func (c *Client) dial(connect dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := connect(ctx, network, addr)
		if err != nil || c.NoHeads {
			return conn, err
		}
		return &headConn{Conn: conn, most: maxHeaderBytes}, nil
	}
}

// dialProxy is dial for a proxy, which has to let the request through, or to answer, in the time for a
// connection; see watch.gotConn.
func (c *Client) dialProxy(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.dial(c.guard.Dial)(ctx, network, addr)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(c.ConnectTimeout))
	}
	return conn, err
}

// tunnel makes the error of a proxy that does not connect to the host of a URL for HTTPS.
func tunnel(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("the proxy answers CONNECT with status %d", resp.StatusCode)
}

// dialTLS connects to a host for HTTPS. What speaks HTTP/2, whose fields have no spelling, is for net/http to
// know.
func (c *Client) dialTLS(config *tls.Config, connect dialFunc) dialFunc {
	config.NextProtos = []string{"http/1.1"}
	if !c.DisableHTTP2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		plain, err := connect(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		own := config.Clone()
		own.ServerName = host
		conn := tls.Client(plain, own)
		ctx, cancel := context.WithTimeoutCause(ctx, c.ConnectTimeout,
			&limitError{ErrTimeout, "no TLS handshake", c.ConnectTimeout})
		defer cancel()
		if err := conn.HandshakeContext(ctx); err != nil {
			plain.Close() // a handshake that failed has nothing to say goodbye to
			if cause := context.Cause(ctx); cause != nil {
				err = fmt.Errorf("%w: %w", err, cause)
			}
			return nil, err
		}
		if conn.ConnectionState().NegotiatedProtocol == "h2" {
			return conn, nil
		}
		return &headConn{Conn: conn, most: maxHeaderBytes}, nil
	}
}

// wholeHead is the head of an answer, as it came where that was seen. Secrets that were sent are no part of
// it, even if the server repeats them.
func (c *Client) wholeHead(seen *seenHead, resp *http.Response) *heads.Head {
	h := seen.head()
	if h == nil || !h.Matches(resp.Header) {
		h = heads.Normalised(resp.Proto+" "+resp.Status, resp.Header)
	}
	return h.Without(c.sent)
}

// secrets lists the secret strings that the client sends, which must not be stored. Shorter ones would
// occur in other text.
func (c *Client) secrets() (out []string) {
	const least = 6
	add := func(s string) {
		if len(s) >= least {
			out = append(out, s)
		}
	}
	for _, vs := range c.secret {
		for _, v := range vs {
			add(v)
			if _, credentials, ok := bytes.Cut([]byte(v), []byte(" ")); ok { // "Basic …", "Bearer …"
				add(string(credentials))
			}
		}
	}
	add(c.BasicPassword)
	for _, k := range c.CookiePreset {
		add(k.Value)
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) }) // what holds another one first
	return slices.Compact(out)
}
