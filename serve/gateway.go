// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/site"
)

// The gateway shows a page wherever it can be had: from its origin, from the mirror, or from a place that a
// test found to be equivalent. It serves only what the registry knows, so it is no forward proxy: all other
// URLs, and CONNECT, are refused. Readers use it in two ways:
//
//	/web/https://host/path       links of pages lead back to the gateway, pages are sandboxed, and a bar says
//	                             where the page is from
//	GET http://host/path         as a proxy of a PAC file, for mirrored sites of plain HTTP: bytes as they are
//
// It keeps no answer. Cookies and credentials pass in neither direction.

// GatewaySource is a place from which the gateway has pages.
type GatewaySource string

// The sources, in the order of GatewayOrder.
const (
	GatewayOrigin     GatewaySource = "origin"
	GatewayMirror     GatewaySource = "mirror"
	GatewayEquivalent GatewaySource = "equivalent"
)

// GatewayOrder is the default rule.
func GatewayOrder() []GatewaySource {
	return []GatewaySource{GatewayOrigin, GatewayMirror, GatewayEquivalent}
}

// Gateway says what the gateway serves, and how. Its functions are called from many goroutines at once.
type Gateway struct {
	// Order are the sources that are tried, one after the other. Default: GatewayOrder.
	Order []GatewaySource
	// Sites lists the mirrors. Required.
	Sites func() ([]GatewaySite, error)
	// Transport returns what makes requests for a mirror. It must refuse addresses that the mirror may not
	// reach, after DNS, and follow no redirect. Required.
	Transport func(name string) http.RoundTripper
}

// GatewaySite is a mirror as the gateway needs it.
type GatewaySite struct {
	Name     string
	Prefixes []string // of its URLs
	Same     []GatewayPlace
}

// GatewayPlace says that what lies under Of lies under At, too.
type GatewayPlace struct {
	Of, At string
	Only   []string // if any, of these paths alone it is true, such as "/a/b.html"
}

// of returns where the place has a URL, if it does.
func (x GatewayPlace) of(u site.URL) (site.URL, bool) {
	rest, ok := strings.CutPrefix(u.String(), x.Of)
	if !ok || (len(x.Only) > 0 && !slices.Contains(x.Only, "/"+rest)) {
		return site.URL{}, false
	}
	to, _, err := site.Parse(x.At + rest)
	return to, err == nil && strings.HasPrefix(to.String(), x.At)
}

// gateway serves a Gateway.
type gateway struct {
	*Server
	Gateway
	slots chan struct{} // one for each exchange under way

	mu    sync.Mutex
	sites []GatewaySite
	read  time.Time // when they were read
}

// Addresses of the gateway on the base host.
const (
	gatewayPath = "/web/"
	pacPath     = wellKnown + "proxy.pac"
	// gatewayVia names a gateway in Via headers: a request that has passed one is refused (RFC 9110 §7.6.3).
	gatewayVia = "mirrord-gateway"
	// gatewaySites is for how long the list of mirrors holds.
	gatewaySites = 5 * time.Second
	gatewayWrite = 5 * time.Minute  // for one answer
	gatewayTime  = 20 * time.Second // for one exchange
	gatewayMost  = 32               // requests under way at once; one more gets 503
)

func newGateway(s *Server, o *Gateway) (*gateway, error) {
	if o == nil {
		return nil, nil
	}
	g := &gateway{Server: s, Gateway: *o, slots: make(chan struct{}, gatewayMost)}
	if o.Sites == nil || o.Transport == nil {
		return nil, errors.New("web: a gateway needs sites and a transport")
	}
	if len(g.Order) == 0 {
		g.Order = GatewayOrder()
	}
	for i, from := range g.Order {
		if !slices.Contains(GatewayOrder(), from) || slices.Contains(g.Order[:i], from) {
			const form = "web: gateway: %q is not origin, mirror or equivalent, or is named twice"
			return nil, fmt.Errorf(form, from)
		}
	}
	return g, nil
}

// serveProxied answers a request to a proxy: only for mirrored sites of plain HTTP.
func (g *gateway) serveProxied(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method == http.MethodConnect || r.URL.Scheme != "http" || r.URL.User != nil {
		g.refuse(w, r, http.StatusForbidden, "this is no forward proxy: it serves mirrored sites of plain HTTP")
		return
	}
	u, _, err := site.Parse(r.URL.String())
	if err != nil {
		g.refuse(w, r, http.StatusBadRequest, "this is no http URL")
		return
	}
	g.serve(w, r, u, false)
}

// servePath answers a request below gatewayPath, if it is one.
func (g *gateway) servePath(w http.ResponseWriter, r *http.Request, path string) bool {
	if path == pacPath {
		if g.readOnly(w, r) {
			g.servePAC(w, r)
		}
		return true
	}
	rest, ok := strings.CutPrefix(path, gatewayPath)
	if !ok || (!strings.HasPrefix(rest, "http:/") && !strings.HasPrefix(rest, "https:/")) {
		return false
	}
	u, err := originalURL(rest + query(r.URL))
	if err != nil {
		g.refuse(w, r, http.StatusBadRequest, "the address ends in no http or https URL")
		return true
	}
	g.serve(w, r, u, true)
	return true
}

// refuse answers a request that the gateway does not serve.
func (g *gateway) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	g.log.Warn("gateway: refused", "method", r.Method, "url", r.RequestURI, "from", r.RemoteAddr, "err", why)
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, why, status)
}

// passes refuses requests that must not lead to another one.
func (g *gateway) passes(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		g.refuse(w, r, http.StatusMethodNotAllowed, "the gateway can only be read")
	case r.ContentLength != 0, len(r.TransferEncoding) > 0, r.Header.Get("Upgrade") != "":
		w.Header().Set("Connection", "close")
		g.refuse(w, r, http.StatusBadRequest, "a request to the gateway has no body and no Upgrade")
	case strings.Contains(strings.Join(r.Header.Values("Via"), ","), gatewayVia):
		g.refuse(w, r, http.StatusLoopDetected, "the request has passed a gateway already")
	case r.Header.Get("Service-Worker") != "":
		g.refuse(w, r, http.StatusForbidden, "service workers are not served")
	default:
		return true
	}
	return false
}

// siteOf returns the mirror to whose longest prefix a URL belongs.
func (g *gateway) siteOf(u site.URL) (found GatewaySite, ok bool, err error) {
	sites, err := g.list()
	longest := -1
	for _, x := range sites {
		for _, p := range x.Prefixes {
			if strings.HasPrefix(u.String(), p) && len(p) > longest {
				found, ok, longest = x, true, len(p)
			}
		}
	}
	return found, ok, err
}

// list returns the mirrors, at most gatewaySites old.
func (g *gateway) list() ([]GatewaySite, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); g.read.IsZero() || now.Sub(g.read) > gatewaySites {
		all, err := g.Sites()
		if err != nil {
			return nil, err
		}
		g.sites, g.read = g.sites[:0:0], now
		for _, x := range all {
			if g.only == nil || g.only[x.Name] {
				g.sites = append(g.sites, x)
			}
		}
	}
	return g.sites, nil
}

// passage is one request for a URL that the gateway serves.
type passage struct {
	*gateway
	w       http.ResponseWriter
	r       *http.Request
	u       site.URL
	mirror  GatewaySite
	rewrite bool     // links lead back to the gateway, and a bar says what it is
	tried   []string // what did not give it, and why
	missing bool     // the origin says that there is no such page
}

// serve answers a request for a URL. rewrite says that pages are shown below gatewayPath.
func (g *gateway) serve(w http.ResponseWriter, r *http.Request, u site.URL, rewrite bool) {
	if !g.passes(w, r) {
		return
	}
	x, ok, err := g.siteOf(u)
	switch {
	case err != nil:
		g.failed(w, r, "", err)
		return
	case !ok:
		g.refuse(w, r, http.StatusForbidden, "this is no forward proxy: no mirror here covers "+u.String())
		return
	}
	p := &passage{
		gateway: g,
		w:       w,
		r:       r,
		u:       u,
		mirror:  x,
		rewrite: rewrite,
	}
	versions := !rewrite && strings.HasPrefix(u.Path(), wellKnown)
	if versions || r.Header.Get("Accept-Datetime") != "" {
		p.versions()
		return
	}
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many requests are under way", http.StatusServiceUnavailable)
		return
	}
	// A client that reads slowly must not hold its place for ever.
	c := http.NewResponseController(w)
	if c.SetWriteDeadline(time.Now().Add(gatewayWrite)) == nil {
		defer c.SetWriteDeadline(time.Time{})
	}
	p.answer()
}

// versions answers a request for a time (RFC 7089): it is the mirror that has versions.
func (p *passage) versions() {
	if p.rewrite {
		p.w.Header().Add("Vary", "Accept-Datetime")
		p.w.Header().Set("Cache-Control", "no-cache")
		redirect(p.w, http.StatusFound, "/"+p.mirror.Name+wellKnown+"timegate/"+p.u.String())
		return
	}
	r := p.r.Clone(p.r.Context())
	r.URL.Scheme, r.URL.Host = "", ""
	p.serveSite(p.w, r, way{name: p.mirror.Name})
}

// answer tries the sources in their order.
func (p *passage) answer() {
	for _, from := range p.Order {
		for _, try := range p.tries(from) {
			done, why := try()
			if done {
				return
			}
			if why != "" {
				p.tried = append(p.tried, string(from)+": "+why)
			}
		}
	}
	p.log.Info("gateway: not had", "url", p.u.String(), "err", strings.Join(p.tried, "; "))
	status := http.StatusBadGateway
	if p.missing {
		status = http.StatusNotFound
	}
	h := p.w.Header()
	clear(h)
	isolatePage(h)
	h.Set("Cache-Control", "no-store")
	h.Set("Mirrord-Source", "none")
	http.Error(p.w, "no source gave "+p.u.String()+"\n"+strings.Join(p.tried, "\n"), status)
}

// tries returns the ways to have the page from one kind of source. Each reports whether it has answered, else
// why not.
func (p *passage) tries(from GatewaySource) (out []func() (bool, string)) {
	switch from {
	case GatewayOrigin:
		out = append(out, func() (bool, string) { return p.fetch("origin", p.u) })
	case GatewayMirror:
		out = append(out, p.fromMirror)
	case GatewayEquivalent:
		for _, x := range p.mirror.Same {
			if u, ok := x.of(p.u); ok {
				out = append(out, func() (bool, string) { return p.fetch("equivalent "+u.String(), u) })
			}
		}
	}
	return out
}
