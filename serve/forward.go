// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"mirrord/site"
)

// Bounds of forwarded requests.
const (
	forwardsMost   = 8       // under way at once; one more gets 503
	forwardRequest = 1 << 20 // bytes of a body
	forwardAnswer  = 32 << 20
	forwardTime    = 30 * time.Second // of one exchange
)

// forwarder sends requests for programs to the origin of a mirror.
type forwarder struct {
	Forward
	rule  *site.ProgramRule // where the job has none
	slots chan struct{}     // one for each exchange under way
}

func newForwarder(o *Forward) (*forwarder, error) {
	if o == nil {
		return nil, nil
	}
	f := &forwarder{Forward: *o, slots: make(chan struct{}, forwardsMost)}
	if f.Transport == nil {
		return nil, errors.New("web: requests cannot be forwarded without a transport")
	}
	var err error
	if f.rule, err = (site.Programs{}).Compile(); err != nil {
		return nil, err
	}
	return f, nil
}

// takes reports whether a request for u, which is not mirrored, is sent on.
func (f *forwarder) takes(name string, u site.URL, post bool) bool {
	rule := f.rule
	if f.Programs != nil {
		if own := f.Programs(name); own != nil {
			rule = own
		}
	}
	is, _ := rule.Is(u)
	return is || post
}

// The headers that pass. All others name the reader, the connection, or a state that a mirror has no part in.
var (
	passUp = [...]string{"Accept", "Accept-Language", "Content-Type", "If-None-Match", "If-Modified-Since",
		"Range", "If-Range"}
	passDown = [...]string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition",
		"Content-Range", "Accept-Ranges", "Etag", "Last-Modified", "Expires",
		"Cache-Control", "Retry-After", "Vary"}
)

// copyFields copies the fields of some names, which are in their canonical form.
func copyFields(to, from http.Header, names []string) {
	for _, name := range names {
		if values := from[name]; len(values) > 0 {
			to[name] = values
		}
	}
}

// serve makes one exchange with the origin. Any failure before the first byte of the response is 502, 503
// or 504.
func (f *forwarder) serve(v *view, u site.URL) {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	default:
		v.w.Header().Set("Retry-After", "10")
		http.Error(v.w, "too many requests are being forwarded", http.StatusServiceUnavailable)
		return
	}
	if v.r.ContentLength > forwardRequest {
		http.Error(v.w, "the request is too large to be forwarded", http.StatusRequestEntityTooLarge)
		return
	}
	ctx, cancel := context.WithTimeout(v.r.Context(), forwardTime)
	defer cancel()
	var body io.Reader
	if v.r.Method == http.MethodPost {
		body = http.MaxBytesReader(v.w, v.r.Body, forwardRequest)
	}
	req, err := http.NewRequestWithContext(ctx, v.r.Method, u.String(), body)
	if err != nil {
		http.Error(v.w, "this cannot be forwarded", http.StatusBadRequest)
		return
	}
	if body != nil {
		req.ContentLength = v.r.ContentLength
	}
	copyFields(req.Header, v.r.Header, passUp[:])
	req.Header.Set("User-Agent", "mirrord")
	req.Header.Set("Via", "1.1 mirrord") // RFC 9110 §7.6.3
	res, err := f.Transport(v.name).RoundTrip(req)
	if err != nil {
		f.failed(v, u, ctx, err)
		return
	}
	defer res.Body.Close()
	f.pass(v, u, res)
}

func (f *forwarder) failed(v *view, u site.URL, ctx context.Context, err error) {
	v.log.Warn("not forwarded", "job", v.name, "url", u.String(), "err", err)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(v.w, "the request is too large to be forwarded", http.StatusRequestEntityTooLarge)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		http.Error(v.w, "the origin did not answer in time", http.StatusGatewayTimeout)
	default:
		http.Error(v.w, "the origin cannot be reached", http.StatusBadGateway)
	}
}

// pass sends the origin's answer, its redirects within the primary origin as addresses of the mirror.
func (f *forwarder) pass(v *view, u site.URL, res *http.Response) {
	// 101 to a request without Upgrade, or no status at all
	if res.StatusCode < 200 || res.StatusCode > 999 {
		http.Error(v.w, "the origin's answer makes no sense", http.StatusBadGateway)
		return
	}
	if res.ContentLength > forwardAnswer {
		http.Error(v.w, "the origin's answer is too large", http.StatusBadGateway)
		return
	}
	h := v.w.Header()
	copyFields(h, res.Header, passDown[:])
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/octet-stream")
	}
	if loc := res.Header.Get("Location"); loc != "" {
		to, frag, err := u.ResolveLocation(loc)
		if err != nil {
			http.Error(v.w, "the origin redirects to no web address", http.StatusBadGateway)
			return
		}
		here := (live{v}).of(to)
		if here == "" {
			here = to.String()
		}
		if frag != "" {
			here += "#" + frag
		}
		h.Set("Location", here)
	}
	if res.ContentLength >= 0 {
		h.Set("Content-Length", itoa(res.ContentLength))
	}
	v.w.WriteHeader(res.StatusCode)
	n, err := io.Copy(v.w, io.LimitReader(res.Body, forwardAnswer))
	if err == nil && n == forwardAnswer && res.ContentLength != n {
		if k, _ := res.Body.Read(make([]byte, 1)); k > 0 {
			err = errors.New("answer too large")
		}
	}
	if err != nil {
		v.log.Warn("forwarding broken off", "job", v.name, "url", u.String(), "err", err)
		panic(http.ErrAbortHandler) // the reader must not take half an answer for a whole one
	}
}
