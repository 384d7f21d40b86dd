// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Quick answers, on connections of a listener, the first requests as far as they are simple and Server
// remembers which files they mean. It is no HTTP server: at the first request that is anything else, net/http
// has the connection, from the first byte of that request on and for good.
//
// A request is simple when it is a GET whose target is a plain path, that came in one piece, whose fields are
// all known not to matter (harmless), and that has no body. Its answer is the one that net/http sent for the
// same address before: of a key that Server remembered, in the state in which the site is now.
type Quick struct {
	Server *Server
	Own    string        // mirror of a listener of its own; "": the base host and all
	Head   time.Duration // how long net/http waits for a head; from when a connection is given to it
	Idle   time.Duration // how long a connection may be idle
}

// Listener returns a listener whose connections are answered so. Others than those of TCP are left alone.
func (f Quick) Listener(l net.Listener) net.Listener { return quickListener{l, f} }

type quickListener struct {
	net.Listener
	quick Quick
}

// Accept returns the next connection. Nothing is read of it before net/http reads, in a goroutine of its own.
func (l quickListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if t, ok := c.(*net.TCPConn); ok && err == nil {
		return &quickConn{TCPConn: t, quick: l.quick, began: time.Now()}, nil
	}
	return c, err
}

// quickConn is a connection. net/http reads from one goroutine at a time, and sets no deadline meanwhile.
type quickConn struct {
	*net.TCPConn
	quick  Quick
	began  time.Time
	idle   time.Time     // deadline; zero: that of net/http holds
	passed bool          // net/http has it
	late   time.Duration // how much later net/http got it than it believes
}

// Read answers what is simple, and returns what is not.
func (c *quickConn) Read(p []byte) (int, error) {
	if c.passed {
		return c.TCPConn.Read(p)
	}
	for {
		n, err := c.TCPConn.Read(p)
		done, now := 0, time.Now()
		for done < n {
			used, werr := c.answer(p[done:n], now)
			if werr != nil {
				return 0, werr
			}
			if used == 0 {
				break
			}
			done += used
		}
		if done < n || err != nil {
			return copy(p, p[done:n]), c.pass(now, err)
		}
		// To set a deadline costs as much as to look for an answer.
		if until := now.Add(c.quick.Idle); until.Sub(c.idle) > time.Second {
			c.idle = until
			if err := c.TCPConn.SetReadDeadline(until); err != nil {
				return 0, err
			}
		}
	}
}

// pass gives the connection to net/http, with the time that it has for a head.
func (c *quickConn) pass(now time.Time, err error) error {
	c.passed = true
	if err != nil || c.idle.IsZero() {
		return err
	}
	c.late = now.Sub(c.began)
	return c.TCPConn.SetReadDeadline(now.Add(c.quick.Head))
}

// SetReadDeadline is called by net/http. The deadline of the first request, which it sets after the head,
// counts from when it began to read.
func (c *quickConn) SetReadDeadline(t time.Time) error {
	if c.late > 0 {
		if t.After(c.began) { // else it is the one in the past that ends a read
			t = t.Add(c.late)
		}
		c.late = 0
	}
	return c.TCPConn.SetReadDeadline(t)
}

// answer answers the request at the start of b, and returns how many bytes it is; 0: it has done nothing.
func (c *quickConn) answer(b []byte, now time.Time) (used int, err error) {
	r, used := parseSimple(b)
	if used == 0 {
		return 0, nil
	}
	s := c.quick.Server
	a, v, isolated := s.remembered(c.quick.Own, r)
	if a == nil {
		return 0, nil
	}
	defer func() { v.snap.release() }()
	coding, body := "", []byte(nil)
	if a.packs && r.encoding != "" {
		coding = s.codings.choose([]string{r.encoding}, a.r.Size)
	}
	if coding != "" {
		packed, ok := s.codings.peek(codingKey{a.r.Digest, coding})
		if !ok {
			return 0, nil
		}
		if body = packed; packed == nil { // it would not be smaller
			coding = ""
		}
	}
	size := int64(len(body))
	var file io.ReadSeekCloser
	if coding == "" {
		if body, err = v.inMemory(a); body == nil && err == nil {
			file, err = v.file(a.r)
		}
		if err != nil { // net/http tries again, and tells why
			return 0, nil
		}
		if size = a.r.Size; file != nil {
			defer file.Close()
		}
	}
	head := s.heads.Get().(*[]byte)
	defer s.heads.Put(head)
	out, ok := a.head((*head)[:0], isolated, coding, r.tag, now, size)
	*head = out
	if !ok {
		return 0, nil
	}
	if r.tag != "" {
		body, file = nil, nil
	}
	if file != nil {
		if _, err = c.Write(out); err == nil {
			_, err = io.CopyN(c.TCPConn, file, size)
		}
		return used, err
	}
	if len(body) < 8<<10 { // one piece costs less than two
		*head = append(out, body...)
		_, err = c.Write(*head)
		return used, err
	}
	both := net.Buffers{out, body}
	_, err = both.WriteTo(c.TCPConn)
	return used, err
}

// remembered returns the answer to a request, or nil, with what opens its file, and the fields of all answers
// that come from there. It finds what Server.ServeHTTP or Server.Site would, of addresses that they answered.
func (s *Server) remembered(own string, r simple) (*served, *view, fields) {
	host := normalHost(r.host)
	key := answerKey{https: s.o.HTTPS, host: r.host, path: r.target}
	name, ok := s.siteOfHost(host)
	switch {
	case ok && (own == "" || own == name):
		key.name = name
	case ok || !s.isBase(host):
		return nil, nil, nil
	case own != "":
		key.name = own
	default:
		name, _, slash := strings.Cut(r.target[1:], "/")
		if !slash {
			return nil, nil, nil
		}
		key.name, key.prefix, key.path = name, r.target[:1+len(name)], r.target[1+len(name):]
	}
	st, err := s.open(key.name)
	if err != nil {
		return nil, nil, nil
	}
	if now, ok := st.(stateful); ok {
		key.state = now.State()
	}
	v := &view{
		Server: s,
		r:      new(http.Request),
		site:   st,
		state:  key.state,
	}
	if key.prefix != "" {
		return s.answers.get(key), v, s.byPath
	}
	return s.answers.get(key), v, s.byHost
}

// head appends the head of an answer to out: 304 for a tag that the client has, else 200. false: it is one
// for net/http.
func (a *served) head(
	out []byte, isolated fields, coding, tag string, now time.Time, size int64,
) ([]byte, bool) {
	own := a.etag
	if coding != "" {
		own = []string{etag(a.r, coding)}
	}
	parts := [...]fields{isolated, a.fields, {{"Etag", own}, {"Cache-Control", a.check}},
		{{"Content-Type", a.kind}, {"Accept-Ranges", a.ranges}, {"Last-Modified", a.modified}}}
	if tag != "" {
		if tag != own[0] {
			return out, false
		}
		out, parts[3] = append(out, "HTTP/1.1 304 Not Modified\r\n"...), nil
	} else {
		out = append(out, "HTTP/1.1 200 OK\r\n"...)
	}
	for _, part := range parts {
		for _, f := range part {
			for _, v := range f.values {
				if !isText(v) {
					return out, false
				}
				out = append(append(append(append(out, f.name...), ": "...), v...), "\r\n"...)
			}
		}
	}
	if tag == "" {
		if coding != "" {
			out = append(append(append(out, "Content-Encoding: "...), coding...), "\r\n"...)
		}
		out = append(append(append(out, "Content-Length: "...), itoa(size)...), "\r\n"...)
	}
	out = append(now.UTC().AppendFormat(append(out, "Date: "...), http.TimeFormat), "\r\n\r\n"...)
	return out, true
}

// simple is what matters of a simple request.
type simple struct{ target, host, encoding, tag string }

// parseSimple reads the simple request at the start of b, and returns how many bytes it is; 0: it is not
// simple, or not all there.
func parseSimple(b []byte) (r simple, used int) {
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 || !bytes.HasPrefix(b, []byte("GET /")) {
		return simple{}, 0
	}
	line, rest, _ := strings.Cut(string(b[:end+2]), "\r\n")
	target, ok := strings.CutSuffix(line[len("GET "):], " HTTP/1.1")
	if !ok || !isPlainPath(target) {
		return simple{}, 0
	}
	r.target = target
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " ")
		if !ok || !isText(line) {
			return simple{}, 0
		}
		one := &r.host
		switch {
		case strings.EqualFold(name, "Host"):
		case strings.EqualFold(name, "Accept-Encoding"):
			one = &r.encoding
		case strings.EqualFold(name, "If-None-Match"):
			one = &r.tag
		case strings.EqualFold(name, "Connection") && strings.EqualFold(value, "keep-alive"), harmless(name):
			continue
		default:
			return simple{}, 0
		}
		if *one != "" || value == "" {
			return simple{}, 0
		}
		*one = value
	}
	if r.host == "" {
		return simple{}, 0
	}
	return r, end + 4
}

// isPlainPath reports whether a target is a path of which no part is written in two ways.
func isPlainPath(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '~':
		case c == '/' || c == '.':
			if i > 0 && s[i-1] == c {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isText reports whether a value of a field has no bytes but those of printable ASCII.
func isText(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// harmless reports whether a field changes nothing of the answer, nor of how it is sent.
func harmless(name string) bool {
	switch strings.ToLower(name) {
	case "accept", "accept-language", "user-agent", "referer", "cookie", "cache-control", "pragma", "dnt",
		"priority", "upgrade-insecure-requests", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest",
		"sec-fetch-user", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform", "sec-gpc", "via", "forwarded",
		"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip":
		return true
	}
	return false
}
