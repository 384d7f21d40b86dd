// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"time"

	"mirrord/site"
)

// transfer is the state of a request over its attempts.
type transfer struct {
	req  Request
	sink Sink

	w        io.Writer // of the last Begin; nil before
	at       int64     // bytes of the body that the sink has, an earlier run's included
	begun    Head      // what Begin was told
	identity bool      // ask for no content coding
	plain    bool      // ask without conditions
	refused  bool      // because the server refused one
	packed   bool      // the body is a packed file that is labelled as coded, see packingOf
	// the If-Range of a continuation, "" when there can be none; of this attempt only after it broke off
	validator string
	total     int64 // length of the whole body, -1 unknown
	portion   bool  // the last answer was a part of the rest (RFC 9110 §15.3.7)
	sent      int   // requests, those that net/http repeated by itself included
}

// restart forgets what the sink has got.
func (t *transfer) restart() { t.w, t.at, t.validator, t.total, t.packed = nil, 0, "", -1, false }

// conditional reports whether a request for the whole body is conditional.
func (t *transfer) conditional() bool {
	return !t.plain && (t.req.ETag != "" || t.req.LastModified != "")
}

// continues reports whether a request is for the rest of a body.
func (t *transfer) continues() bool { return t.at > 0 && t.validator != "" }

// attempt makes one exchange.
func (c *Client) attempt(ctx context.Context, t *transfer) (*Result, error) {
	res := &Result{Head: Head{Length: -1}}
	w := c.watch(ctx)
	defer w.stop()
	u := t.req.URL
	ranged := t.continues()
	resp, err := c.roundTrip(w, t, ranged)
	res.Sent = w.sent
	res.ToHeader = time.Since(w.start)
	if err != nil {
		return res, classify(ctx, w, u, err, false)
	}
	w.enter(phasePaused)
	defer resp.Body.Close()
	if c.jar != nil && c.Cookies && !slices.Contains(c.NoCookies, u.Hostname()) {
		if rc := resp.Cookies(); len(rc) > 0 {
			c.keepCookies(u, rc)
			res.SetsCookie = true
		}
	}
	err = c.readHead(res, resp, u)
	if !c.NoHeads {
		res.Whole = c.wholeHead(w.seen, resp)
	}
	if err != nil {
		return res, classify(ctx, w, u, err, false)
	}
	in := w.read(resp.Body, c.Bandwidth)
	err = c.readBody(t, res, resp, in, ranged)
	res.Wire = in.n
	if err != nil {
		if errors.Is(err, errRestart) {
			return res, &Error{URL: u, Class: errRestart, Err: err}
		}
		return res, c.bodyError(ctx, w, u, err)
	}
	return res, nil
}

func (c *Client) roundTrip(w *watch, t *transfer, ranged bool) (*http.Response, error) {
	trace := httptrace.WithClientTrace(w, &httptrace.ClientTrace{GotConn: w.gotConn})
	r := c.compose(t, ranged).WithContext(trace)
	if t.req.Fresh {
		return c.fresh.RoundTrip(r)
	}
	return c.tr.RoundTrip(r)
}

// bodyError classifies what ended a body: sentinels of this package that a reader or decoder wrapped, else
// what the network said.
func (c *Client) bodyError(ctx context.Context, w *watch, u site.URL, err error) error {
	for _, class := range [...]error{ErrSink, ErrTooLarge, ErrBomb, ErrCoding, ErrTruncated, ErrProtocol} {
		if errors.Is(err, class) {
			if ctx.Err() != nil && class != ErrSink {
				break
			}
			return &Error{URL: u, Class: class, Err: err}
		}
	}
	return classify(ctx, w, u, err, true)
}

// compose makes the request of an attempt.
func (c *Client) compose(t *transfer, ranged bool) *http.Request {
	u, req := t.req.URL, &t.req
	h := http.Header{"User-Agent": c.userAgent, "Accept": c.acceptAny, "Accept-Encoding": c.codingsAny}
	if req.Accept != "" {
		h["Accept"] = []string{req.Accept}
	}
	if t.identity {
		h["Accept-Encoding"] = c.identity
	}
	if !req.Referer.IsZero() && (req.Referer.Scheme() == "http" || u.Scheme() == "https") { // RFC 9110 §10.1.3
		h["Referer"] = []string{req.Referer.String()}
	}
	switch {
	case ranged:
		h["Accept-Encoding"] = c.identity // positions in a coded body mean nothing to the sink
		h["Range"] = []string{fmt.Sprintf("bytes=%d-", t.at)}
		h["If-Range"] = []string{t.validator}
	case !t.plain:
		if req.ETag != "" {
			h["If-None-Match"] = []string{req.ETag}
		}
		if req.LastModified != "" {
			h["If-Modified-Since"] = []string{req.LastModified}
		}
	}
	if len(c.secret) > 0 && c.auth[u.Origin()] {
		maps.Copy(h, c.secret)
	}
	hr := &http.Request{
		Method:     http.MethodGet,
		URL:        c.requestURL(u),
		Host:       u.Host(),
		Header:     h,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
	}
	if c.jar != nil && !slices.Contains(c.NoCookies, u.Hostname()) {
		for _, k := range c.jar.Cookies(cookieURL(u)) {
			hr.AddCookie(k)
		}
	}
	return hr
}

// requestURL makes net/http send path and query exactly as they stand in u: its own escaping would change
// what WHATWG URLs may hold, "|" or a stray "%".
func (c *Client) requestURL(u site.URL) *url.URL {
	r := &url.URL{Scheme: u.Scheme(), Host: u.Host(), Opaque: u.RequestURI()}
	if strings.HasPrefix(r.Opaque, "//") || (c.httpProxy && r.Scheme == "http") {
		r.Opaque = "//" + r.Host + r.Opaque // becomes the absolute form, RFC 9112 §3.2.2
	}
	return r
}

func cookieURL(u site.URL) *url.URL {
	return &url.URL{Scheme: u.Scheme(), Host: u.Host(), Path: u.Path()}
}

func (c *Client) readHead(res *Result, resp *http.Response, u site.URL) error {
	h := resp.Header
	res.Head = newHead(resp.StatusCode, h)
	if res.Status < 200 {
		return &Error{URL: u, Class: ErrProtocol, Err: fmt.Errorf("final status %d", res.Status)}
	}
	if n := fields(h); n > c.MaxHeaderFields {
		return &Error{URL: u, Class: ErrHeaderFlood, Err: fmt.Errorf("%d fields", n)}
	}
	if ra := first(h, "Retry-After"); ra != "" {
		res.RetryAfter, res.HasRetryAfter = parseRetryAfter(ra, first(h, "Date"), c.Now())
	}
	if loc := first(h, "Location"); loc != "" && res.Status >= 300 && res.Status < 400 {
		if res.Location, res.Fragment, res.LocationErr = u.ResolveLocation(loc); res.LocationErr != nil {
			res.Location = site.URL{}
		}
	}
	return nil
}

func first(h http.Header, canonicalKey string) string {
	if v := h[canonicalKey]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func fields(h http.Header) (n int) {
	for _, v := range h {
		n += len(v)
	}
	return n
}
