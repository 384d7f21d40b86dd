// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/publicsuffix"

	"mirrord/site"
)

// Request is one URL to ask for.
type Request struct {
	URL     site.URL
	Referer site.URL // the page that links to it, if any; never sent from https to http
	Accept  string   // default: what a browser sends for a page

	ETag         string // make the request conditional: If-None-Match
	LastModified string // If-Modified-Since

	// Part and Offset continue a body of which an earlier exchange fetched the first Offset bytes: Sink.Begin
	// is called with Head.Offset, and the rest follows. If the body has changed, or the server knows no
	// ranges, Head.Offset is 0 and the whole body follows.
	Part   *Part
	Offset int64

	MaxBody int64         // lower limit than the Client's for this body; 0 none
	Cut     bool          // a longer body ends at the limit and is marked Result.Cut, instead of ErrTooLarge
	Gap     time.Duration // least pause before a retry: the host's politeness
	NoRetry bool          // the caller retries, by giving the URL another turn
	NoMend  bool          // the caller repeats what got a broken answer (see Broken), and Do does not
	// Again is called before each retry, with the attempt that failed; false ends the exchange. nil: only
	// Retries bounds them.
	Again func(*Result, error) bool
	Fresh bool // on a new connection, so that the request is sent once
}

// A Sink receives the bodies worth keeping. Begin is called when the head of a 200, 203 or 206 has arrived
// and returns where the decoded bytes go; it is called again, for that request, when a retry starts over:
// what the first writer got is void then. Nothing is final before Do returns without error and with
// Result.Kept. Calls come from the goroutine of Do.
type Sink interface {
	Begin(h *Head) (io.Writer, error)
}

// Client performs exchanges for one job. It is safe for concurrent use and keeps connections alive between
// them.
type Client struct {
	Options
	guard *Guard
	tr    *http.Transport
	fresh *http.Transport // tr without connections that are used again
	jar   *cookiejar.Jar  // nil without cookies

	secret     http.Header // of those to auth origins
	auth       map[string]bool
	conditions conditions
	sent       []string // secrets among them: no part of stored responses
	httpProxy  bool     // plain http requests go to a proxy in absolute form
	userAgent  []string
	acceptAny  []string
	identity   []string
	codingsAny []string
	buffers    sync.Pool // of *[copyBuffer]byte, through which bodies come
}

// idleTime is how long an unused connection is kept.
const idleTime = 90 * time.Second

// New checks the options and returns a Client. It makes no connection.
func New(o Options) (*Client, error) {
	o = o.withDefaults()
	c := &Client{
		Options:    o,
		guard:      newGuard(o),
		auth:       map[string]bool{},
		buffers:    sync.Pool{New: func() any { return new([copyBuffer]byte) }},
		identity:   []string{"identity"},
		codingsAny: []string{acceptEncoding},
		acceptAny:  []string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
	}
	if err := c.setHeaders(); err != nil {
		return nil, err
	}
	tlsConfig, err := o.tlsConfig()
	if err != nil {
		return nil, err
	}
	if o.Cookies || len(o.CookiePreset) > 0 {
		if err := c.setCookies(); err != nil {
			return nil, err
		}
	}
	c.tr = &http.Transport{
		DialContext:            c.dial(c.guard.Dial),
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    o.ConnectTimeout,
		DisableCompression:     true,
		MaxIdleConns:           max(256, o.MaxConnsPerHost),
		MaxIdleConnsPerHost:    max(64, o.MaxConnsPerHost), // one that is closed must be made again
		MaxConnsPerHost:        o.MaxConnsPerHost,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      !o.DisableHTTP2,
		ReadBufferSize:         copyBuffer, // as what bodies are read into, so that they come without a copy
	}
	c.tr.Protocols = new(http.Protocols)
	c.tr.Protocols.SetHTTP1(true)
	c.tr.Protocols.SetHTTP2(!o.DisableHTTP2)
	if o.Proxy != "" {
		p, err := url.Parse(o.Proxy)
		if err != nil || p.Host == "" ||
			!slices.Contains([]string{"http", "https", "socks5", "socks5h"}, p.Scheme) {
			// the text may hold a password: it is not repeated
			return nil, fmt.Errorf("%w: proxy must be http://, https:// or socks5://host:port", ErrConfig)
		}
		c.tr.Proxy = http.ProxyURL(p)
		c.tr.DialContext = c.dialProxy
		c.tr.OnProxyConnectResponse = tunnel
		c.httpProxy = p.Scheme == "http" || p.Scheme == "https"
	} else {
		c.tr.DialTLSContext = c.dialTLS(tlsConfig.Clone(), c.guard.Dial)
	}
	c.sent = c.secrets()
	c.fresh = c.tr.Clone()
	c.fresh.DisableKeepAlives = true
	if o.MaxConnsPerHost > 0 && o.Proxy == "" {
		// A proxy has one address for all hosts, and its connections may be kept for any of them.
		dial := (&openLimit{most: o.MaxConnsPerHost}).within(c.guard.Dial)
		c.tr.DialContext, c.tr.DialTLSContext = c.dial(dial), c.dialTLS(tlsConfig.Clone(), dial)
	}
	return c, nil
}

// Close drops the connections that are idle. Exchanges under way are not touched: end their contexts.
func (c *Client) Close() { c.tr.CloseIdleConnections() }

func (c *Client) setHeaders() error {
	o := c.Options
	if !httpguts.ValidHeaderFieldValue(o.UserAgent) {
		return fmt.Errorf("%w: user agent %q is not valid in a header", ErrConfig, o.UserAgent)
	}
	c.userAgent = []string{o.UserAgent}
	c.secret = http.Header{}
	for k, v := range o.AuthHeader {
		name := http.CanonicalHeaderKey(k)
		switch {
		case !httpguts.ValidHeaderFieldName(k) || !httpguts.ValidHeaderFieldValue(v):
			return fmt.Errorf("%w: header %q is not valid", ErrConfig, k)
		case name == "Host" || name == "Content-Length" || name == "Transfer-Encoding" || name == "Connection" ||
			name == "Accept-Encoding" || name == "Range" || name == "If-Range":
			return fmt.Errorf("%w: header %q is not the user's to set", ErrConfig, k)
		}
		c.secret[name] = []string{v}
	}
	if o.BasicUser != "" || o.BasicPassword != "" {
		pair := base64.StdEncoding.EncodeToString([]byte(o.BasicUser + ":" + o.BasicPassword))
		c.secret["Authorization"] = []string{"Basic " + pair}
	}
	if len(c.secret) > 0 && len(o.AuthOrigins) == 0 {
		return fmt.Errorf("%w: credentials without an origin to send them to", ErrConfig)
	}
	for _, s := range o.AuthOrigins {
		u, _, err := site.Parse(s)
		if err != nil {
			return fmt.Errorf("%w: auth origin: %w", ErrConfig, err)
		}
		c.auth[u.Origin()] = true
	}
	return nil
}

func (c *Client) setCookies() error {
	jar, err := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	if err != nil {
		return fmt.Errorf("%w: cookies: %w", ErrConfig, err)
	}
	c.jar = jar
	for _, k := range c.CookiePreset {
		host := strings.TrimPrefix(k.Domain, ".")
		if host == "" {
			return fmt.Errorf("%w: cookie %q names no domain", ErrConfig, k.Name)
		}
		if err := k.Valid(); err != nil {
			return fmt.Errorf("%w: cookie %q: %w", ErrConfig, k.Name, err)
		}
		one := *k
		if !strings.HasPrefix(k.Domain, ".") {
			one.Domain = "" // this host alone
		}
		p := k.Path
		if p == "" {
			p = "/"
			one.Path = "/"
		}
		jar.SetCookies(&url.URL{Scheme: "https", Host: host, Path: p}, []*http.Cookie{&one})
	}
	return nil
}

func (o *Options) tlsConfig() (*tls.Config, error) {
	t := &tls.Config{
		InsecureSkipVerify: o.InsecureTLS,
		ClientSessionCache: tls.NewLRUClientSessionCache(64),
	}
	if len(o.CAFile) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if t.RootCAs = pool; !pool.AppendCertsFromPEM(o.CAFile) {
			return nil, fmt.Errorf("%w: the CA file holds no certificate in PEM form", ErrConfig)
		}
	}
	return t, nil
}

// Do asks for one URL and follows no redirect. An answer of any status is a Result; an error (an [*Error])
// says that there was no usable answer. The Result is never nil: with an error it describes the last attempt.
//
// Transient errors are retried within Options.Retries, with exponential back-off and full jitter on top of
// Request.Gap; a body that broke off is resumed by If-Range where the server gave a strong validator. A
// broken answer ([Broken]) is requested once more, on a new connection; it counts as requested twice when
// net/http repeated the request by itself. 429 and 503 are retried here only for a Retry-After
// of 0: otherwise the host's whole gap has to grow, which is the caller's business. A 412 to a
// conditional request is no answer about the resource: it is requested again without the condition, once, and
// so are retries after a 500. The first 5xx of an origin to conditional requests are retried so immediately,
// regardless of Request.Again; when that helped twice in a row, this Client sends the origin no more
// conditions. A 304 that contradicts the conditions, or that no condition asked for, is requested again
// without conditions, once, on a new connection; when 304 comes again, Result.NotModified is false.
func (c *Client) Do(ctx context.Context, req Request, sink Sink) (*Result, error) {
	t := transfer{req: req, sink: sink, total: -1}
	if req.Offset > 0 && req.Part.usable() {
		t.at, t.validator, t.total, t.packed = req.Offset, req.Part.Validator, req.Part.Length,
			req.Part.isPacked()
	}
	if req.URL.IsZero() {
		return &Result{}, &Error{URL: req.URL, Class: ErrProtocol, Err: errors.New("no URL")}
	}
	if err := c.guard.Check(req.URL); err != nil {
		return &Result{}, &Error{URL: req.URL, Class: ErrForbiddenAddress, Err: err}
	}
	origin := req.URL.Origin()
	t.plain = t.conditional() && !c.conditions.send(origin)
	tries, restarted, blamed, doubted := 0, false, false, false
	for {
		at, conditional := t.at, t.conditional()
		ranged := t.continues()
		t.portion = false
		res, err := c.attempt(ctx, &t)
		t.sent += res.Sent
		res.Sent = t.sent
		res.Unconditional = t.refused
		res.NotModified = (err == nil) && conditional && !ranged && confirms(&t.req, &res.Head)
		noteProgress(err, t.at > at && t.validator != "")
		good := (err == nil) && !TransientStatus(res.Status)
		if blamed {
			c.conditions.tried(origin, good)
		} else if conditional && good {
			c.conditions.answered(origin)
		}
		mayBlame := conditional && (err == nil) && mayBeOfCondition(res.Status) && !res.HasRetryAfter &&
			!req.NoRetry && (tries < c.Retries)
		blamed = false
		wait, again := time.Duration(0), false
		switch {
		case t.portion && errors.Is(err, ErrTruncated) && (t.at-at >= leastPortion):
			wait, again = req.Gap, true // the rest comes in portions
		case errors.Is(err, errRestart):
			t.restart()
			wait, again = req.Gap, !restarted
			restarted = true
		case err == nil && res.Status == http.StatusPreconditionFailed && t.conditional():
			// RFC 9110 §13.2.2 has 304 for a GET: this server cannot do with conditions
			t.plain, t.refused = true, true
			wait, again = req.Gap, true
		case err == nil && res.Status == http.StatusNotModified && !res.NotModified && !doubted &&
			(conditional || ranged || !req.NoRetry):
			t.restart()
			t.plain, t.req.Fresh, doubted = true, true, true
			wait, again = req.Gap, true
		case mayBlame && c.conditions.blame(origin):
			wait, _ = c.again(res, err, tries)
			wait += req.Gap
			tries++
			t.plain, blamed, again = true, true, true
		case errors.Is(err, ErrCoding) && !t.identity && !req.NoRetry && c.Retries > 0:
			// some servers label what they have not coded, or code it wrongly: plain bytes may still be had
			t.identity, wait, again = true, req.Gap, true
		case Broken(err) && (req.NoMend || t.sent > 1): // requested again by the caller, or was by now
		case !req.NoRetry && tries < c.Retries:
			wait, again = c.again(res, err, tries)
			wait += req.Gap
			tries++
			t.req.Fresh = t.req.Fresh || Broken(err)
			t.plain = t.plain || (res.Status == http.StatusInternalServerError) // of the condition, perhaps
			again = again && (req.Again == nil || req.Again(res, err))
		}
		if !again {
			return res, err
		}
		c.Log.Debug("fetch again", "url", req.URL.String(), "status", res.Status, "err", err, "wait", wait,
			"at", t.at)
		if c.Sleep(ctx, wait) != nil {
			return res, &Error{URL: req.URL, Class: ErrCanceled, Err: context.Cause(ctx)}
		}
	}
}

// leastPortion is how much of the rest of a body, in bytes, a response must have had so that the next is
// requested as often as it takes.
const leastPortion = 1 << 20

// again decides on a retry and how long to wait for it, the host's gap not included.
func (c *Client) again(res *Result, err error, tries int) (time.Duration, bool) {
	// "full jitter": uniform between nothing and an exponentially growing bound, so that clients that failed
	// together do not come back together.
	bound := backoffCap
	if tries < 30 {
		bound = min(bound, c.Backoff<<tries)
	}
	wait := time.Duration(c.Rand() * float64(bound))
	if err != nil {
		return wait, Transient(err) || Broken(err)
	}
	if !TransientStatus(res.Status) {
		return 0, false
	}
	if res.HasRetryAfter {
		return wait, res.RetryAfter == 0
	}
	return wait, res.Status != http.StatusTooManyRequests && res.Status != http.StatusServiceUnavailable
}
