package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"mirrord/site"
)

const (
	resumeFrom = 64 << 10 // a body that broke off earlier is not worth a range request
	drainMost  = 64 << 10 // of a body that nobody wants, so that its connection can be used again
	ratioFrom  = 1 << 20  // bytes of output before MaxRatio is judged
)

// transfer is the state of a request over its attempts.
type transfer struct {
	req  Request
	sink Sink

	w         io.Writer // of the last Begin; nil before
	at        int64     // bytes of the body that the sink has, an earlier run's included
	begun     Head      // what Begin was told
	identity  bool      // ask for no content coding
	gzipFile  bool      // the body is a gzip file that is labelled as coded, see isGzipFile
	validator string    // the If-Range of a continuation, "" when there can be none; of this attempt only after it broke off
	total     int64     // length of the whole body, -1 unknown
	resumed   int
	attempts  []Attempt
}

// restart forgets what the sink has got.
func (t *transfer) restart() { t.w, t.at, t.validator, t.total, t.gzipFile = nil, 0, "", -1, false }

// attempt makes one exchange.
func (c *Client) attempt(ctx context.Context, t *transfer) (*Result, error) {
	res := &Result{Head: Head{Length: -1}}
	w := newWatch(ctx, &c.o, &c.traces)
	defer w.stop()
	u := t.req.URL
	ranged := t.at > 0 && t.validator != ""
	resp, err := w.roundTrip(c.tr, c.newRequest(t, ranged), &c.traces)
	res.ToHeader = time.Since(w.start)
	res.Remote = w.remote
	if err != nil {
		return res, classify(ctx, w, u, err, false)
	}
	w.enter(phasePaused)
	defer resp.Body.Close()
	if c.jar != nil && c.o.Cookies {
		if rc := resp.Cookies(); len(rc) > 0 {
			c.jar.SetCookies(cookieURL(u), rc)
		}
	}
	if err := c.readHead(res, resp, u); err != nil {
		return res, classify(ctx, w, u, err, false)
	}
	in := &wire{body: resp.Body, watch: w, limit: c.o.Bandwidth}
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

// bodyError classifies what ended a body: sentinels of this package that a reader or decoder wrapped, else what the network said.
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

func (c *Client) newRequest(t *transfer, ranged bool) *http.Request {
	u, req := t.req.URL, &t.req
	h := make(http.Header, len(c.header)+6)
	maps.Copy(h, c.header)
	if req.Accept != "" {
		h["Accept"] = []string{req.Accept}
	} else if h["Accept"] == nil {
		h["Accept"] = c.acceptAny
	}
	h["Accept-Encoding"] = c.codingsAny
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
	default:
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
	hr := &http.Request{Method: http.MethodGet, URL: c.requestURL(u), Host: u.Host(), Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if c.jar != nil {
		for _, k := range c.jar.Cookies(cookieURL(u)) {
			hr.AddCookie(k)
		}
	}
	return hr
}

// requestURL makes net/http send path and query exactly as they stand in u: its own escaping would change what WHATWG URLs may
// hold, "|" or a stray "%".
func (c *Client) requestURL(u site.URL) *url.URL {
	r := &url.URL{Scheme: u.Scheme(), Host: u.Host(), Opaque: u.RequestURI()}
	if strings.HasPrefix(r.Opaque, "//") || c.httpProxy && r.Scheme == "http" {
		r.Opaque = "//" + r.Host + r.Opaque // becomes the absolute form, RFC 9112 §3.2.2
	}
	return r
}

func cookieURL(u site.URL) *url.URL {
	return &url.URL{Scheme: u.Scheme(), Host: u.Host(), Path: u.Path()}
}

func (c *Client) readHead(res *Result, resp *http.Response, u site.URL) error {
	h := resp.Header
	res.Status, res.HTTPMajor = resp.StatusCode, resp.ProtoMajor
	res.Header = h
	if res.Status < 200 {
		return &Error{URL: u, Class: ErrProtocol, Err: fmt.Errorf("final status %d", res.Status)}
	}
	if n := fields(h); n > c.o.MaxHeaderFields {
		return &Error{URL: u, Class: ErrHeaderFlood, Err: fmt.Errorf("%d fields", n)}
	}
	res.ETag = first(h, "Etag")
	res.LastModified = first(h, "Last-Modified")
	res.MIME, res.Charset = parseContentType(first(h, "Content-Type"))
	res.NotModified = res.Status == http.StatusNotModified
	if ra := first(h, "Retry-After"); ra != "" {
		res.RetryAfter, res.HasRetryAfter = parseRetryAfter(ra, first(h, "Date"), c.o.Now())
	}
	if loc := first(h, "Location"); loc != "" && res.Status >= 300 && res.Status < 400 {
		if res.Location, res.Fragment, res.LocationErr = u.Resolve(loc); res.LocationErr != nil {
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

// readBody brings the body to the sink, or away.
func (c *Client) readBody(t *transfer, res *Result, resp *http.Response, in *wire, ranged bool) error {
	switch res.Status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo:
		return c.keep(t, res, resp, in)
	case http.StatusPartialContent:
		if !ranged {
			return fmt.Errorf("%w: 206 to a request for the whole", ErrProtocol)
		}
		return c.resume(t, res, resp, in)
	case http.StatusRequestedRangeNotSatisfiable:
		if ranged {
			return errRestart
		}
	}
	c.drain(in, resp.ContentLength)
	return nil
}

// drain reads the body of an error or a redirect, which is of no use, so that its connection can be used again; what happens to it
// does not matter, and it may not take long.
func (c *Client) drain(in *wire, declared int64) {
	if declared > drainMost {
		return
	}
	buf := c.dec.copyBuffer()
	defer c.dec.copies.Put(buf)
	in.watch.enter(phaseDrain)
	for i := 0; in.n < drainMost; i++ {
		if i == 1 {
			in.watch.timer.Reset(drainTime)
		}
		n, err := in.body.Read(*buf)
		if in.n += int64(n); err != nil {
			return
		}
	}
}

// keep brings a whole body to the sink.
func (c *Client) keep(t *transfer, res *Result, resp *http.Response, in *wire) error {
	t.restart()
	list, err := codings(res.Header["Content-Encoding"])
	if err != nil {
		return err
	}
	var src io.Reader = in
	var frees []func()
	defer func() {
		for i := len(frees) - 1; i >= 0; i-- {
			frees[i]()
		}
	}()
	if n := len(list); n > 0 && list[n-1] == "gzip" && isGzipFile(res.MIME, t.req.URL.Path()) {
		b := c.dec.buffered(in)
		frees = append(frees, func() { b.Reset(noReader{}); c.dec.bufs.Put(b) })
		src = b
		if head, _ := b.Peek(4 << 10); !gzipTwice(head) {
			list = list[:n-1]
			res.MIME = "application/gzip"
			t.gzipFile = true
		}
	}
	res.Coding = strings.Join(list, ", ")
	for i := len(list) - 1; i >= 0; i-- {
		r, free, err := c.dec.open(list[i], src)
		if err != nil {
			return codingError(err, in.err)
		}
		src, frees = r, append(frees, free)
	}
	limit := c.bodyLimit(t)
	if len(list) == 0 {
		res.Length, t.total = resp.ContentLength, resp.ContentLength
		if t.total > limit && !t.req.Cut {
			return fmt.Errorf("%w: it declares %d bytes, %d are allowed", ErrTooLarge, t.total, limit)
		}
	}
	res.Unframed = resp.ContentLength < 0 && resp.ProtoMajor == 1 && len(resp.TransferEncoding) == 0
	return c.begin(t, res, src, in, limit, len(list) > 0)
}

// resume appends a 206 to what the sink has.
func (c *Client) resume(t *transfer, res *Result, resp *http.Response, in *wire) error {
	from, last, total, err := parseContentRange(first(res.Header, "Content-Range"))
	if err != nil || from != t.at || t.total >= 0 && total >= 0 && total != t.total || total >= 0 && last != total-1 ||
		resp.ContentLength >= 0 && resp.ContentLength != last-from+1 {
		return fmt.Errorf("%w: content-range %q, wanted from %d", errRestart, first(res.Header, "Content-Range"), t.at)
	}
	if list, err := codings(res.Header["Content-Encoding"]); err != nil || len(list) > 0 && !(t.gzipFile && len(list) == 1) {
		return fmt.Errorf("%w: coded", errRestart)
	}
	// If-Range with a tag that differs would have been answered with 200, unless the server ignores it.
	if tag := res.ETag; tag != "" && t.validator[0] == '"' && tag != t.validator {
		return fmt.Errorf("%w: %s instead of %s", errRestart, tag, t.validator)
	}
	limit := c.bodyLimit(t)
	if total > limit && !t.req.Cut {
		return fmt.Errorf("%w: it declares %d bytes, %d are allowed", ErrTooLarge, total, limit)
	}
	t.total = total
	if t.total < 0 {
		t.total = last + 1
	}
	res.Length = t.total
	t.resumed++
	res.Resumed = t.resumed
	if t.w == nil { // continues an earlier run
		res.Offset = t.at
		return c.begin(t, res, in, in, limit, false)
	}
	res.Head = t.begun
	return c.copyBody(t, res, in, in, limit, false)
}

func (c *Client) bodyLimit(t *transfer) int64 {
	limit := c.o.MaxBody
	if t.req.MaxBody > 0 {
		limit = min(limit, t.req.MaxBody)
	}
	if limit < 0 {
		limit = 1<<63 - 1
	}
	return limit
}

func (c *Client) begin(t *transfer, res *Result, src io.Reader, in *wire, limit int64, coded bool) error {
	t.w = io.Discard
	if t.sink != nil {
		w, err := t.sink.Begin(&res.Head)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSink, err)
		}
		if w != nil {
			t.w = w
		}
	}
	t.begun = res.Head
	return c.copyBody(t, res, src, in, limit, coded)
}

// copyBody moves bytes from src, the decoded view of in, to the sink until both have come to a proper end.
func (c *Client) copyBody(t *transfer, res *Result, src io.Reader, in *wire, limit int64, coded bool) error {
	buf := c.dec.copyBuffer()
	defer c.dec.copies.Put(buf)
	start := t.at
	for {
		n, err := src.Read(*buf)
		if n > 0 {
			if room := limit - t.at; int64(n) > room {
				if !t.req.Cut {
					return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
				}
				n, res.Cut, err = int(max(room, 0)), true, io.EOF
			}
			if _, werr := t.w.Write((*buf)[:n]); werr != nil {
				return fmt.Errorf("%w: %w", ErrSink, werr)
			}
			t.at += int64(n)
			if out := t.at - start; coded && out > ratioFrom && float64(out) > c.o.MaxRatio*float64(in.n) {
				return fmt.Errorf("%w: %d bytes became %d", ErrBomb, in.n, out)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			res.Body = t.at
			t.validator = ""
			if coded {
				return codingError(err, in.err)
			}
			if t.at >= resumeFrom && first(res.Header, "Accept-Ranges") != "none" {
				t.validator = strongValidator(res.Header)
			}
			return err
		}
	}
	res.Body = t.at
	if res.Cut {
		res.Kept = true
		return nil
	}
	if coded {
		if err := drainCoded(in, *buf); err != nil {
			return err
		}
	}
	if in.err != io.EOF && !coded {
		return fmt.Errorf("%w: the reader ended before the network", ErrTruncated)
	}
	if t.total >= 0 && t.at != t.total {
		return fmt.Errorf("%w: %d of %d bytes", ErrTruncated, t.at, t.total)
	}
	res.Kept = true
	return nil
}

// drainCoded reads what follows the end of the coding: the framing has an end of its own that must come, too.
func drainCoded(in *wire, buf []byte) error {
	for spare := 0; in.err == nil; {
		n, _ := in.Read(buf)
		if spare += n; spare > drainMost {
			return fmt.Errorf("%w: data after the end of the content coding", ErrCoding)
		}
	}
	if in.err != io.EOF {
		return in.err
	}
	return nil
}

// wire reads a body as it comes from the network, tells the watch about it and keeps the bandwidth.
type wire struct {
	body  io.Reader
	watch *watch
	limit *rate.Limiter
	n     int64
	err   error // sticky
}

func (r *wire) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.limit != nil && r.limit.Burst() > 0 && len(p) > r.limit.Burst() {
		p = p[:r.limit.Burst()]
	}
	r.watch.enter(phaseRead)
	n, err := r.body.Read(p)
	r.watch.leave(n)
	r.n += int64(n)
	if n > 0 && r.limit != nil {
		if lerr := r.limit.WaitN(r.watch, n); lerr != nil && err == nil {
			err = lerr
		}
	}
	r.err = err
	return n, err
}
