// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"

	"mirrord/app/access"
	"mirrord/internal/places"
	"mirrord/site"
)

// Options say how mirrors are served. Only Sites is required.
type Options struct {
	Sites Sites // the served mirrors

	// Base is the host name, without port, below which every mirror has its own: NAME.Base. Default: mirrors by
	// host only at NAME.localhost, which browsers lead to the machine they run on (RFC 6761).
	Base string
	// Hosts are other names of the base host. Literal addresses and localhost are always good; any other Host is
	// refused with 421, so that a name which an attacker points at this machine (DNS rebinding) reads nothing.
	Hosts []string
	// Aliases are other host names of mirrors: host name, without port, to mirror.
	Aliases map[string]string
	// Only limits serving to these mirrors. Default: all.
	Only []string
	// HTTPS says that clients come by https, through a proxy in front; it decides the scheme of the addresses in
	// headers and pages.
	HTTPS bool
	// RedirectMissing redirects to the origin for URLs that are not mirrored. Default: a page with status 404
	// says so, and links to the origin and to the versions that had the URL.
	RedirectMissing bool

	// NoBar shows pages of mirrors without a bar that says what they are a copy of, and of when.
	NoBar bool

	// Forward sends requests that only a program of the origin can answer to the origin. Default: they are
	// redirected, see Forward.
	Forward *Forward

	// Gateway shows pages from the origin, the mirror, or an equivalent place. Default: no gateway.
	Gateway *Gateway

	// Texts looks for pages of mirrors. Default: there is no search box.
	Texts *TextLookup

	// Proxies are those in front that say in X-Forwarded-For who their clients are: each address that is neither
	// one of theirs nor of this machine gets one update at a time. Default: none is believed.
	Proxies access.Proxies

	Log *slog.Logger // default: none
}

// Forward says how requests are forwarded to an origin: GET, HEAD and POST to a URL below the primary origin
// of a mirror that is not mirrored and is a program, or is posted to. Cookies and credentials are passed in
// neither direction.
type Forward struct {
	// Transport returns what makes the exchanges with the origin of a mirror. It must refuse addresses that the
	// mirror may not reach, after DNS. Required.
	Transport func(name string) http.RoundTripper
	// Programs returns the rule for programs at the origin of a mirror. Default, and where it returns
	// nil: site.Programs.
	Programs func(name string) *site.ProgramRule
}

// Server is the http.Handler of the base host and of the host names of all mirrors. It is safe for concurrent
// use.
type Server struct {
	Options
	base    string   // lower case
	hosts   ownHosts // names of the base host
	aliases map[string]string
	only    map[string]bool // nil: all
	forward *forwarder      // nil: redirect
	gateway *gateway        // may be nil
	codings codings
	pages   *template.Template
	updates *places.Seats // of those that are being written
	finds   chan struct{} // of those that are under way
	log     *slog.Logger

	languages languages // of pages for readers
}

// New checks options and returns a server.
func New(o Options) (*Server, error) {
	if o.Sites == nil {
		return nil, errors.New("web: no sites to serve")
	}
	s := &Server{
		Options: o,
		base:    normalHost(o.Base),
		hosts:   newOwnHosts(o.Hosts),
		aliases: map[string]string{},
		updates: places.New(maxUpdates, updateWait),
		finds:   make(chan struct{}, maxFinds),
		log:     o.Log,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.base == "" {
		s.base = localhost
	}
	if net.ParseIP(s.base) != nil || strings.ContainsAny(o.Base, "/@ ") {
		return nil, fmt.Errorf("web: base %q is no host name: mirrors need host names below it", o.Base)
	}
	s.hosts[s.base] = true
	for h, name := range o.Aliases {
		if h = normalHost(h); s.hosts[h] {
			return nil, fmt.Errorf("web: %s cannot be the base host and the mirror %s", h, name)
		}
		s.aliases[h] = name
	}
	if o.Only != nil {
		s.only = map[string]bool{}
		for _, n := range o.Only {
			s.only[n] = true
		}
	}
	var err error
	if s.forward, err = newForwarder(o.Forward); err != nil {
		return nil, err
	}
	if s.gateway, err = newGateway(s, o.Gateway); err != nil {
		return nil, err
	}
	s.codings = make(codings, runtime.GOMAXPROCS(0))
	if s.pages, err = parsePages(); err != nil {
		return nil, err
	}
	if s.languages, err = readLanguages(); err != nil {
		return nil, err
	}
	return s, nil
}
