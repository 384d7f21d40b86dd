// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net"
	"net/http"
	"strings"
)

// wellKnown is where all is that is ours and not mirrored (RFC 8615).
const wellKnown = "/.well-known/mirrord/"

// localhost is the base host without further settings.
const localhost = "localhost"

// ownHosts are the host names by which clients reach a server. A request for any other name comes from a page
// whose name was pointed at this machine (DNS rebinding), and reads nothing.
type ownHosts map[string]bool

func newOwnHosts(names []string) ownHosts {
	o := ownHosts{localhost: true}
	for _, h := range names {
		o[normalHost(h)] = true
	}
	return o
}

// has reports whether a host, as normalHost returns it, is one of ours: a name that was configured, or an
// address, which cannot be rebound.
func (o ownHosts) has(host string) bool { return o[host] || net.ParseIP(host) != nil }

// OwnHosts returns a handler that passes requests for these names, for localhost and for literal addresses,
// and answers 421 to all others; key is the one of daemon.toml that adds a name.
func OwnHosts(names []string, key string, h http.Handler) http.Handler {
	own := newOwnHosts(names)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !own.has(normalHost(r.Host)) {
			http.Error(w, "this server does not answer for that host name; "+key+" in daemon.toml adds one",
				http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// normalHost returns a host name in lower case, without port, trailing dot and brackets.
func normalHost(h string) string {
	if strings.IndexByte(h, ':') >= 0 { // an error costs more than the look
		if host, _, err := net.SplitHostPort(h); err == nil {
			h = host
		}
	}
	h = strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")
	return strings.ToLower(strings.TrimSuffix(h, "."))
}

// withPort adds to a host the port to which a request came.
func withPort(host string, r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return net.JoinHostPort(host, port)
	}
	return host
}
