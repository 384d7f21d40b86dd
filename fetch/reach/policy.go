// SPDX-License-Identifier: Apache-2.0

// Package reach decides which network addresses a mirror may connect to.
//
// A mirror asks for what strangers link to. Without a bound, a page, a redirect or a DNS answer leads it to
// the machine that it runs on, to the network around that, or to the metadata service of a cloud, and the
// answer is published. [Policy.Decide] is the one place that says yes or no:
//
//   - The metadata services of clouds are never reached.
//   - A public address is.
//   - A private one (loopback, private, link-local, unique-local, and all else that is not globally
//     reachable) is reached only for a URL of the job that is private by itself, at the port of that URL, or
//     where polite.allow_private of the job says so.
//   - A name that was ever public is not private later, regardless of the job: the owner of its DNS is
//     not trusted.
//
// The package resolves no names and remembers nothing: who is about to connect tells it the address and the
// past of the name.
package reach

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Endpoint is the host and port of a URL.
type Endpoint struct {
	Host string // a name or an address
	Port uint16
}

// Policy says which private addresses one job may reach. The zero value reaches none.
type Policy struct {
	All   bool       // polite.allow_private = true
	Rules []Rule     // polite.allow_private as a list
	URLs  []Endpoint // the URLs that the job names
	File  string     // the job file, for messages; "" without one
}

// Target is where a connection is about to go.
type Target struct {
	Endpoint
	Addr      netip.Addr // what Host resolved to; invalid when a proxy will resolve it
	WasPublic bool       // Host is a name that was ever public
}

// PrivateName reports whether a host is private by itself: an address that is not public, localhost (RFC 6761
// §6.3), or a name of one label.
func PrivateName(host string) bool {
	name := Name(host)
	if ip, err := netip.ParseAddr(name); err == nil {
		class, _ := Classify(ip)
		return class != Public
	}
	return IsLocalhost(name) || !strings.Contains(name, ".")
}

// IsAddress reports whether a host needs no resolver: an address, or localhost.
func IsAddress(host string) bool {
	_, err := netip.ParseAddr(Name(host))
	return err == nil || IsLocalhost(host)
}

// IsLocalhost reports whether a host is localhost or a name below it, which are the machine itself regardless
// of a resolver (RFC 6761 §6.3).
func IsLocalhost(host string) bool {
	name := Name(host)
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

func isMetadataName(name string) bool { return slices.Contains(metadataNames[:], name) }

// NeverReachable reports whether a host is the metadata service of a cloud by its name or address.
func NeverReachable(host string) bool {
	name := Name(host)
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return isMetadataName(name)
	}
	class, _ := Classify(ip)
	return class == Metadata
}

// Decide returns nil when the target may be connected to, and a [*Refusal] when not.
func (p *Policy) Decide(t Target) error {
	t.Host = Name(t.Host)
	if literal, err := netip.ParseAddr(t.Host); err == nil {
		t.Addr, t.WasPublic = literal, false
	}
	if isMetadataName(t.Host) {
		return p.refuse(t, NeverReached, "cloud metadata")
	}
	class, kind := Private, "private"
	switch {
	case t.Addr.IsValid():
		class, kind = Classify(t.Addr)
	case !PrivateName(t.Host): // a proxy will find out, and is the one to refuse
		class = Public
	}
	switch {
	case class == Public:
		return nil
	case class == Metadata:
		return p.refuse(t, NeverReached, kind)
	case !p.allows(t):
		return p.refuse(t, NotAllowed, kind)
	case t.WasPublic:
		return p.refuse(t, MovedInside, kind)
	}
	return nil
}

// allows reports whether the job lets a target be private.
func (p *Policy) allows(t Target) bool {
	return p.All || p.own(t) || slices.ContainsFunc(p.Rules, func(r Rule) bool {
		return r.allows(t.Host, t.Port, t.Addr)
	})
}

// own reports whether a target is that of a URL of the job which is private by itself.
func (p *Policy) own(t Target) bool {
	if !PrivateName(t.Host) || !p.names(t.Endpoint) {
		return false
	}
	return !IsLocalhost(t.Host) || !t.Addr.IsValid() || plain(t.Addr).IsLoopback()
}

// names reports whether the job has a URL of this host and port.
func (p *Policy) names(e Endpoint) bool {
	return slices.ContainsFunc(p.URLs, func(u Endpoint) bool {
		return u.Port == e.Port && sameHost(u.Host, e.Host)
	})
}

// namesHost reports whether the job has a URL of this host.
func (p *Policy) namesHost(host string) bool {
	return slices.ContainsFunc(p.URLs, func(u Endpoint) bool { return sameHost(u.Host, host) })
}

// sameHost compares names, and addresses however they are written.
func sameHost(a, b string) bool {
	a, b = Name(a), Name(b)
	if a == b {
		return true
	}
	x, errx := netip.ParseAddr(a)
	y, erry := netip.ParseAddr(b)
	return errx == nil && erry == nil && x.Unmap() == y.Unmap()
}

// RefusalReason is the reason of a refusal.
type RefusalReason uint8

// The reasons.
const (
	NotAllowed   RefusalReason = iota // private, and the job does not say that it may be
	MovedInside                       // private now, public once
	NeverReached                      // the metadata service of a cloud
)

// Refusal says why a target is not connected to and, where it is a host that the job names itself, what to
// do.
type Refusal struct {
	Target
	Why  RefusalReason
	Kind string // of the address: "loopback", "link-local" …
	Fix  string // "" when there is nothing that one should do
}

func (p *Policy) refuse(t Target, why RefusalReason, kind string) *Refusal {
	r := &Refusal{Target: t, Why: why, Kind: kind}
	switch {
	case why == MovedInside:
		r.Fix = "if it has moved inside for good, run " + AllowHint(t.Host)
	case why == NotAllowed && p.namesHost(t.Host): // what only a page links to is not for opening
		if r.Fix = p.Line(t.Endpoint); !p.names(t.Endpoint) {
			r.Fix = "if the job needs that port, " + r.Fix
		}
		if t.WasPublic {
			r.Fix += ", and run " + AllowHint(t.Host) + ": it was public before"
		}
	}
	return r
}

// Line returns what to write into the job file so that the job may reach these endpoints too: the whole line,
// and where.
func (p *Policy) Line(more ...Endpoint) string {
	var list []string
	add := func(s string) {
		if s = strconv.Quote(s); !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	for _, r := range p.Rules {
		add(r.String())
	}
	for _, e := range more {
		add(e.String())
	}
	value := "[" + strings.Join(list, ", ") + "]"
	switch {
	case p.File == "":
		return "use --set 'polite.allow_private=" + value + "'"
	case len(p.Rules) > 0:
		return fmt.Sprintf("change allow_private of the table [polite] in %s to %s", p.File, value)
	}
	return fmt.Sprintf("add allow_private = %s to the table [polite] of %s", value, p.File)
}

// String writes host:port, IPv6 in brackets.
func (e Endpoint) String() string {
	host := Name(e.Host)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(e.Port))
}

func (r *Refusal) Error() string {
	at := r.Host
	if r.Addr.IsValid() && r.Addr.String() != r.Host {
		at += " at " + r.Addr.String()
	}
	s := at + " is "
	switch r.Why {
	case NeverReached:
		s += "the metadata service of a cloud, which is never reached"
	case MovedInside:
		s += article(r.Kind) + " address now, but the name was public before"
	default:
		s += article(r.Kind) + " address"
		if r.Fix == "" {
			s += " that the job does not allow"
		}
	}
	if r.Fix != "" {
		s += "; " + r.Fix
	}
	return s
}

func article(kind string) string {
	if strings.ContainsRune("aeiouAEIO", rune(kind[0])) && !strings.HasPrefix(kind, "uni") {
		return "an " + kind
	}
	return "a " + kind
}

// AllowHint is the command that lets a host name that was public be private.
func AllowHint(name string) string { return "mirrord forget --address " + name }
