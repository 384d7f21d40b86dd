// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"strings"

	"mirrord/relocate"
	"mirrord/site"
)

// The headers that pass the gateway, besides the type and those that the gateway sets. The second list
// passes only where the page has its own origin, as the owner's rules for it.
var (
	gatewayUp   = [...]string{"Accept", "Accept-Language"}
	gatewayUpTo = [...]string{"If-None-Match", "If-Modified-Since", "Range", "If-Range"} // of a proxy
	gatewayDown = [...]string{"Content-Language", "Content-Disposition", "Last-Modified", "Retry-After"}
	gatewayOwn  = [...]string{"Etag", "Content-Encoding", "Content-Range", "Accept-Ranges", "Vary",
		"Content-Security-Policy", "X-Frame-Options", "Referrer-Policy", "Permissions-Policy",
		"Access-Control-Allow-Origin", "Cross-Origin-Resource-Policy"}
)

// maxRewritten is the largest document whose links are changed, in bytes; a larger one is sent as it is.
const maxRewritten = 8 << 20

// fetch has the page from a place of the web.
func (p *passage) fetch(from string, u site.URL) (done bool, why string) {
	ctx, cancel := context.WithTimeout(p.r.Context(), gatewayTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, p.r.Method, u.String(), nil)
	if err != nil {
		return false, "the URL cannot be requested"
	}
	pass := gatewayUp[:]
	if !p.rewrite {
		pass = append(pass[:len(pass):len(pass)], gatewayUpTo[:]...)
	}
	copyFields(req.Header, p.r.Header, pass)
	req.Header.Set("User-Agent", "mirrord")
	req.Header["Via"] = append(p.r.Header.Values("Via"), "1.1 "+gatewayVia)
	res, err := p.Transport(p.mirror.Name).RoundTrip(req)
	if err != nil {
		p.log.Warn("gateway: no answer", "url", u.String(), "err", err)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return false, "no answer in time"
		}
		return false, "cannot be reached"
	}
	defer res.Body.Close()
	switch s := res.StatusCode; {
	case s < 200 || s > 599:
		return false, "an answer that makes no sense"
	case s == http.StatusNotFound || s == http.StatusGone:
		p.missing = p.missing || u == p.u
		return false, fmt.Sprintf("status %d", s)
	case s == http.StatusTooManyRequests, s >= 500:
		return false, fmt.Sprintf("status %d", s)
	case res.ContentLength > forwardAnswer:
		return false, "the answer is too large"
	}
	return p.pass(from, u, res)
}

// pass sends an answer of the web.
func (p *passage) pass(from string, u site.URL, res *http.Response) (done bool, why string) {
	kind, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		kind, params = "", nil
	}
	var body []byte // of a document whose links are changed
	whole := false
	if p.rewrite && res.StatusCode == http.StatusOK && p.r.Method == http.MethodGet && isRewritten(kind, u) {
		if body, err = io.ReadAll(io.LimitReader(res.Body, maxRewritten+1)); err != nil {
			return false, "the answer broke off"
		}
		whole = len(body) <= maxRewritten
	}
	h := p.begin(from)
	copyFields(h, res.Header, gatewayDown[:])
	h.Set("Content-Type", "application/octet-stream")
	if t := res.Header.Get("Content-Type"); t != "" {
		h.Set("Content-Type", t)
	}
	if !p.rewrite {
		copyFields(h, res.Header, gatewayOwn[:])
	}
	if loc := res.Header.Get("Location"); loc != "" {
		to, frag, err := u.ResolveLocation(loc)
		if err != nil {
			return false, "a redirect to no web address"
		}
		if from != string(GatewayOrigin) { // the place of the equivalent means that of the origin
			to = p.original(to)
		}
		h.Set("Location", p.address(to, frag))
	}
	if whole {
		in := relocate.Input{URL: u, MIME: kind, HeaderCharset: params["charset"]}
		sendText(p.w, p.r, res.StatusCode, h.Get("Content-Type"), p.rewritten(body, in, from, p.original))
		return true, ""
	}
	asItIs := !p.rewrite || !isRewritten(kind, u)
	if res.ContentLength >= 0 && asItIs && res.StatusCode != http.StatusNotModified {
		h.Set("Content-Length", itoa(res.ContentLength))
	}
	p.w.WriteHeader(res.StatusCode)
	p.copy(io.MultiReader(bytes.NewReader(body), res.Body))
	return true, ""
}

// copy sends a body, or ends the connection: half an answer must not pass for a whole one.
func (p *passage) copy(body io.Reader) {
	if p.r.Method == http.MethodHead {
		return
	}
	n, err := io.Copy(p.w, io.LimitReader(body, forwardAnswer+1))
	if err != nil || n > forwardAnswer {
		p.log.Warn("gateway: broken off", "url", p.u.String(), "err", err)
		panic(http.ErrAbortHandler)
	}
}

// begin sets the headers that each page of the gateway has, and says where it is from.
func (p *passage) begin(from string) http.Header {
	h := p.w.Header()
	clear(h)
	h.Set("X-Content-Type-Options", "nosniff")
	if p.rewrite {
		isolate(h, true)
	}
	h.Set("Cache-Control", "no-store") // the next one may be from elsewhere
	h.Set("Mirrord-Source", from)
	if len(p.tried) > 0 {
		h.Set("Mirrord-Tried", strings.Join(p.tried, "; "))
	}
	h.Set("Via", "1.1 "+gatewayVia)
	p.log.Info("gateway", "url", p.u.String(), "source", from, "job", p.mirror.Name)
	return h
}

// isRewritten reports whether links of a document are changed.
func isRewritten(mime string, u site.URL) bool {
	f := relocate.Detect(mime, u, nil)
	return f != relocate.Unknown && f != relocate.Script
}

// original returns the URL at the origin for one of a place that is equivalent to it.
func (p *passage) original(u site.URL) site.URL {
	for _, x := range p.mirror.Same {
		if rest, ok := strings.CutPrefix(u.String(), x.At); ok {
			if to, _, err := site.Parse(x.Of + rest); err == nil {
				return to
			}
		}
	}
	return u
}

// address is where a URL leads on a page: back to the gateway, or to where it is when no mirror covers it.
func (p *passage) address(u site.URL, fragment string) string {
	s := u.String()
	if _, ok, err := p.siteOf(u); p.rewrite && ok && err == nil {
		s = gatewayPath + s
	}
	if fragment != "" {
		s += "#" + fragment
	}
	return s
}

// rewritten returns a document whose links lead on through the gateway. original returns the URL that a link
// means.
func (p *passage) rewritten(
	body []byte, in relocate.Input, from string, original func(site.URL) site.URL,
) []byte {
	var doc relocate.Doc
	doc.Scan(body, in)
	out := doc.Splice(nil, body, func(i int) ([]byte, bool, bool) {
		if doc.Links[i].URL == nil {
			return nil, false, false
		}
		to := p.address(original(site.Canonical(string(doc.Links[i].URL))), "")
		return []byte(to), strings.HasPrefix(to, gatewayPath), true
	})
	if doc.Format == relocate.HTML {
		out = append(out, p.bar(from)...)
	}
	return out
}

// bar says at the end of a page where it is from. It has no script, and no style that the page could not
// have.
func (p *passage) bar(from string) string {
	what := "From the origin"
	switch kind, rest, _ := strings.Cut(from, " "); kind {
	case string(GatewayMirror):
		what = "From the mirror " + rest
	case string(GatewayEquivalent):
		what = "From the equivalent page " + rest
	}
	what += ": " + p.u.String()
	if len(p.tried) > 0 {
		what += " (" + strings.Join(p.tried, "; ") + ")"
	}
	return "\n<div style=\"position:fixed;left:0;right:0;bottom:0;z-index:2147483647;padding:.3em 1em;" +
		"background:#ffd;color:#222;border-top:1px solid #aa8;font:13px sans-serif\">" +
		html.EscapeString(what) + "</div>\n"
}

// fromMirror has the page from the mirror.
func (p *passage) fromMirror() (done bool, why string) {
	st, err := p.open(p.mirror.Name)
	if err != nil {
		return false, "not served here"
	}
	snap, err := st.Snapshot(p.r.Context(), 0)
	if err != nil {
		return false, "cannot be read"
	}
	defer snap.release()
	found, ok, err := snap.Table.Find(p.u)
	if err != nil || !ok {
		return false, "does not have it"
	}
	v := &view{
		Server:   p.Server,
		w:        p.w,
		r:        p.r,
		way:      way{name: p.mirror.Name, prefix: "/" + p.mirror.Name},
		site:     st,
		Snapshot: snap,
	}
	if found.Path == "" {
		p.begin("mirror " + p.mirror.Name)
		redirect(p.w, http.StatusFound, p.address(found.RedirectTo, found.RedirectPart))
		return true, ""
	}
	if !p.rewrite && !snap.atHome(found, p.u) { // its links are right at its place only
		return false, "has it at another place"
	}
	if !p.rewrite || !isRewritten(found.MIME, found.URL) || found.Size > maxRewritten {
		p.begin("mirror " + p.mirror.Name)
		if err := v.body(found); err != nil {
			clear(p.w.Header())
			return false, "cannot be read"
		}
		return true, ""
	}
	body, err := readAll(snap.Table, found)
	if err != nil {
		return false, "cannot be read"
	}
	p.begin("mirror " + p.mirror.Name)
	in := relocate.Input{URL: snap.place(found.Path), MIME: found.MIME, HeaderCharset: found.Charset}
	page := p.rewritten(body, in, "mirror "+p.mirror.Name, func(u site.URL) site.URL {
		path, ok := snap.pathOf(u)
		if !ok {
			return u
		}
		if r, ok, err := snap.Table.At(path); err == nil && ok {
			return r.URL
		}
		return u
	})
	sendText(p.w, p.r, http.StatusOK, contentType(found), page)
	return true, ""
}

func readAll(t Table, r Resource) (_ []byte, err error) {
	f, err := t.Open(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}
