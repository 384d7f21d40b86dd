// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mirrord/site"
)

// view is one request for something of a mirror.
type view struct {
	*Server
	way
	w    http.ResponseWriter
	r    *http.Request
	site Site
	*Snapshot
}

// at returns the address of something of the mirror, absolute.
func (v *view) at(path string) string {
	return v.scheme(v.r) + "://" + v.r.Host + v.prefix + path
}

// serveSite answers a request for a mirror. A tree that moves on under a request is met with a new snapshot;
// between two publishes of one site there is time for many.
func (s *Server) serveSite(w http.ResponseWriter, r *http.Request, by way) {
	if by.bar != "" {
		r, by.marked = unmarked(r)
	}
	v := &view{
		Server: s,
		way:    by,
		w:      w,
		r:      r,
	}
	v.isolate()
	var err error
	if v.site, err = s.open(v.name); err != nil {
		s.failed(w, r, v.name, err)
		return
	}
	for range 3 {
		if err = v.serve(); !errors.Is(err, ErrMoved) {
			break
		}
		clear(w.Header()) // of what an attempt has set
		v.isolate()
	}
	if err != nil {
		s.failed(w, r, v.name, err)
	}
}

// serve answers, or returns an error and has written nothing.
func (v *view) serve() error {
	path := v.r.URL.EscapedPath()[len(v.prefix):]
	if rest, ok := strings.CutPrefix(path, wellKnown); ok {
		if !v.readOnly(v.w, v.r) {
			return nil
		}
		return v.memento(rest)
	}
	snap, err := v.site.Snapshot(v.r.Context(), 0)
	if err != nil {
		return err
	}
	defer snap.release()
	v.Snapshot = snap
	in := ""
	if s, ok := v.site.(*storeSite); ok {
		snap.Table, in, _ = s.Space(snap.Table)
	}
	u, _, err := site.Parse(snap.Primary + path + query(v.r.URL))
	if err != nil {
		v.notFound(v.w, v.r, v.wordsFor(v.r).Nothing)
		return nil
	}
	if v.r.Method == http.MethodPost {
		return v.elsewhere(u)
	}
	f, err := v.resolve(u)
	if err != nil {
		return err
	}
	if !f.ok && (in != "") {
		if done, err := v.neighbour(path, in); done || err != nil {
			return err
		}
	}
	if f.ok && !snap.Nowhere {
		v.w.Header().Add("Vary", "Accept-Datetime")
		if v.r.Header.Get("Accept-Datetime") != "" { // like the TimeGate
			if done, err := v.gate(f.r.URL, false); done || err != nil {
				return err
			}
		}
		v.linkOriginal(f.r.URL)
		v.linkOffer()
	}
	return v.answer(u, f, live{v})
}

// query returns the query of a request with its '?'.
func query(u *url.URL) string {
	if u.RawQuery == "" && !u.ForceQuery {
		return ""
	}
	return "?" + u.RawQuery
}

// addresses turns a URL into an address of this server: that of the live mirror or of a Memento.
type addresses interface {
	of(u site.URL) string
}

// live gives the addresses of the current version.
type live struct{ v *view }

func (l live) of(u site.URL) string {
	if u.Origin() == l.v.Primary {
		return l.v.prefix + u.RequestURI()
	}
	return "" // other origins are reached by the places of their files
}

// resolve finds what u means to this request.
func (v *view) resolve(u site.URL) (f found, err error) {
	t := v.Table
	f.r, f.ok, err = t.Find(u)
	if err != nil {
		return found{}, err
	}
	path, ok := v.pathOf(u)
	if ok && f.ok && f.r.Path == path { // as most are: no second look
		return f, nil
	}
	var byPath Resource
	if ok {
		if byPath, ok, err = t.At(path); err != nil {
			return found{}, err
		}
	}
	switch {
	case !ok && !f.ok:
		return v.unbusted(u)
	case !ok: // only a URL
		if f.ok && f.r.Path != "" && !v.atHome(f.r, u) {
			f.to = v.place(f.r.Path)
		}
		return f, nil
	case !f.ok: // only a place
		return found{r: byPath, ok: true}, nil
	case f.r.Path == byPath.Path, f.r.Path != "" && f.r.Digest == byPath.Digest && f.r.MIME == byPath.MIME &&
		v.atHome(f.r, u):
		return f, nil
	}
	f.twice = true
	if v.prefix != "" || inside(v.r) { // sandboxed pages send no Referer
		f.r = byPath
		return f, nil
	}
	if f.r.Path != "" {
		f.to = v.place(f.r.Path)
	}
	return f, nil
}

// inside reports whether a request comes from a page of this origin.
func inside(r *http.Request) bool {
	ref, err := url.Parse(r.Referer())
	return err == nil && ref.Host != "" && strings.EqualFold(ref.Host, r.Host)
}

// answer sends what was found for u.
func (v *view) answer(u site.URL, f found, a addresses) error {
	h := v.w.Header()
	if f.twice {
		h.Add("Vary", "Referer")
	}
	switch {
	case !f.ok:
		return v.elsewhere(u)
	case f.r.Path == "":
		return v.redirected(f.r, a)
	case !f.to.IsZero():
		to := a.of(f.to)
		if to == "" {
			return v.elsewhere(u)
		}
		h.Set("Cache-Control", "no-store")
		redirect(v.w, http.StatusFound, to)
		return nil
	}
	if done, err := (barred{v}).answer(f, a); done || err != nil {
		return err
	}
	r, err := forFrame(v, f.r)
	if err != nil {
		return err
	}
	return v.body(r)
}

// redirected answers with the redirect that the origin gave, to our copy of its target or, where there is
// none, to the origin.
func (v *view) redirected(r Resource, a addresses) error {
	status := r.Status
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		status = http.StatusFound
	}
	to := r.RedirectTo.String()
	t, ok, err := v.Table.Find(r.RedirectTo)
	if err != nil {
		return err
	}
	if ok {
		canonical, err := v.canonical(t)
		if err != nil {
			return err
		}
		if here := a.of(canonical); here != "" {
			to = here
		}
	}
	if r.RedirectPart != "" {
		to += "#" + r.RedirectPart
	}
	v.w.Header().Set("Cache-Control", "no-cache") // a permanent redirect of the origin is not one of the mirror
	redirect(v.w, status, to)
	return nil
}

// elsewhere answers for a URL that is not mirrored: the entry point for the root, the origin's program, the
// origin.
func (v *view) elsewhere(u site.URL) error {
	post := v.r.Method == http.MethodPost
	if u.RequestURI() == "/" && !post && v.Entry != "" {
		v.w.Header().Set("Cache-Control", "no-cache")
		redirect(v.w, http.StatusFound, v.prefix+"/"+escapePath(v.Entry))
		return nil
	}
	if u.RequestURI() == robotsPath && v.prefix == "" && !post {
		serveRobots(v.Server, v.w, v.r)
		return nil
	}
	if v.forward != nil && v.forward.takes(v.name, u, post) {
		if v.framed != "" {
			redirect(v.w, http.StatusFound, v.framed+v.r.URL.EscapedPath()[len(v.prefix):]+query(v.r.URL))
			return nil
		}
		v.forward.serve(v, u)
		return nil
	}
	if post {
		v.w.Header().Set("Allow", "GET, HEAD")
		http.Error(v.w, "this is a mirror: it can only be read", http.StatusMethodNotAllowed)
		return nil
	}
	if !v.RedirectMissing || isForeign(u) || v.Nowhere {
		return v.missing(u)
	}
	v.w.Header().Set("Cache-Control", "no-cache")
	redirect(v.w, http.StatusFound, u.String())
	return nil
}

// linkOriginal says where a resource comes from and where its versions are (RFC 7089 §2.2).
func (v *view) linkOriginal(u site.URL) {
	v.w.Header().Add("Link", link(u.String(), `rel="original"`)+", "+
		link(v.at(wellKnown+"timegate/"+u.String()), `rel="timegate"`)+", "+
		link(v.at(wellKnown+"timemap/link/"+u.String()), `rel="timemap"`, `type="application/link-format"`))
}

// link writes one link of a Link header or a link-format document (RFC 8288 §3). A canonical URL has no '>'
// in it.
func link(target string, params ...string) string {
	return "<" + target + ">; " + strings.Join(params, "; ")
}

// contentType returns the Content-Type of a resource as the origin gave it.
func contentType(r Resource) string {
	mime := r.MIME
	if mime == "" {
		mime = "application/octet-stream"
	}
	if r.Charset != "" && isToken(r.Charset) {
		return mime + "; charset=" + r.Charset
	}
	return mime
}

// isToken reports whether s can stand in a header as it is (RFC 9110 §5.6.2).
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
