// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"net/http"
	"strings"

	"mirrord/site"
)

// maxTarget bounds a request target in bytes.
const maxTarget = 16 << 10

// ServeHTTP answers requests for the base host and for mirrors by host.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if proxied := r.Method == http.MethodConnect || r.URL.Host != ""; proxied && s.gateway != nil {
		s.gateway.serveProxied(w, r)
		return
	}
	if !s.acceptable(w, r) {
		return
	}
	host := normalHost(r.Host)
	if name, base, ok := s.siteOfHost(host); ok {
		s.serveSite(w, r, way{name: name, bar: s.barOrigin(r, base)})
		return
	}
	if !s.isBase(host) {
		s.misdirected(w, r)
		return
	}
	s.serveBase(w, r)
}

// Site returns the handler of one mirror as an origin of its own, for a listener of its own.
func (s *Server) Site(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.acceptable(w, r) {
			return
		}
		host := normalHost(r.Host)
		if n, _, ok := s.siteOfHost(host); !s.isBase(host) && (!ok || n != name) {
			s.misdirected(w, r)
			return
		}
		s.serveSite(w, r, way{name: name})
	})
}

// acceptable answers what no mirror has an answer for.
func (s *Server) acceptable(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if len(r.RequestURI) > maxTarget {
		http.Error(w, "the address is too long", http.StatusRequestURITooLong)
		return false
	}
	post := r.Method == http.MethodPost && s.forward != nil
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !post {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this is a mirror: it can only be read", http.StatusMethodNotAllowed)
		return false
	}
	// A service worker of a mirrored page would answer for the mirror long after it has changed.
	if r.Header.Get("Service-Worker") != "" {
		http.Error(w, "service workers are not served", http.StatusForbidden)
		return false
	}
	return true
}

func (s *Server) misdirected(w http.ResponseWriter, r *http.Request) {
	s.log.Debug("refused", "host", r.Host)
	http.Error(w, "this server does not answer for that host name", http.StatusMisdirectedRequest)
}

// siteOfHost returns the mirror that a host name stands for, and the base host of which its readers know: ""
// when they may have no other name.
func (s *Server) siteOfHost(host string) (name, base string, ok bool) {
	if name, ok = s.aliases[host]; ok {
		if s.base != localhost {
			base = s.base
		}
		return name, base, true
	}
	for _, base := range [...]string{s.base, localhost} {
		if name, ok = strings.CutSuffix(host, "."+base); ok && name != "" {
			return name, base, !s.hosts[host]
		}
	}
	return "", "", false
}

// isBase reports whether a host is that of the list of mirrors.
func (s *Server) isBase(host string) bool {
	return s.hosts.has(host)
}

// serveBase answers on the base host: the list of mirrors, and the mirrors by path.
func (s *Server) serveBase(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if path == "/" && hasOtherName(s, r) {
		w.Header().Set("Cache-Control", "no-store")
		redirect(w, http.StatusFound, s.barOrigin(r, localhost)+path)
		return
	}
	if s.serveOwn(w, r, path) {
		return
	}
	if s.gateway != nil && s.gateway.servePath(w, r, path) {
		return
	}
	if strings.HasPrefix(path, wellKnown) {
		if s.readOnly(w, r) {
			s.serveAnyMemento(w, r)
		}
		return
	}
	if strings.HasPrefix(path, barPath) {
		if s.readOnly(w, r) {
			s.serveBar(w, r, path)
		}
		return
	}
	if strings.HasPrefix(path, "/@@") { // from a page that is served by path
		v := &view{Server: s, w: w, r: r}
		if done, err := v.neighbour(path, ""); done || err != nil {
			if err != nil {
				s.failed(w, r, "", err)
			}
			return
		}
	}
	name, rest, slash := strings.Cut(path[1:], "/")
	if _, err := s.open(name); err != nil {
		s.failed(w, r, "", err)
		return
	}
	if !slash {
		redirect(w, http.StatusMovedPermanently, "/"+name+"/"+rest)
		return
	}
	s.serveSite(w, r, way{name: name, prefix: "/" + name})
}

// readOnly refuses a POST where only a program could take it.
func (s *Server) readOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodPost {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this can only be read", http.StatusMethodNotAllowed)
		return false
	}
	return true
}

// open returns a mirror that is served.
func (s *Server) open(name string) (Site, error) {
	if site.CheckJobName(name) != nil || (s.only != nil && !s.only[name]) {
		return nil, ErrNoSite
	}
	return s.Sites.Site(name)
}

// scheme returns the scheme that clients use.
func (s *Server) scheme(r *http.Request) string {
	if s.HTTPS || r.TLS != nil {
		return "https"
	}
	return "http"
}

// failed answers with what an error means to a reader; what it says goes to the log.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, name string, err error) {
	switch {
	case errors.Is(err, ErrNoSite):
		s.notFound(w, r, s.wordsFor(r).NoMirror)
	case errors.Is(err, ErrNoVersion):
		s.notFound(w, r, s.wordsFor(r).NoVersion)
	case r.Context().Err() != nil: // the client has disconnected
	default:
		s.log.Error("request failed", "job", name, "path", r.URL.EscapedPath(), "err", err)
		h := w.Header()
		h.Set("Retry-After", "5")
		h.Set("Cache-Control", "no-store")
		http.Error(w, "the mirror cannot be read at the moment", http.StatusServiceUnavailable)
	}
}

// redirect sends a Location as it stands: http.Redirect would clean the path.
func redirect(w http.ResponseWriter, status int, location string) {
	w.Header().Set("Location", location)
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
}
