// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// ScopeKind says which URLs a job covers around its seeds.
type ScopeKind uint8

const (
	ScopeDirectory ScopeKind = iota // the seed's host, at or below the seed's directory
	ScopeHost                       // the seed's host
	// all hosts of the seed's registrable domain, by the public suffix list with its private section
	ScopeDomain
	ScopePrefixes // the URLs that start with one of Scope.Prefixes
)

var scopeNames = [...]string{"directory", "host", "domain", "prefixes"}

func (k ScopeKind) String() string {
	if int(k) < len(scopeNames) {
		return scopeNames[k]
	}
	return "unknown"
}

// ParseScopeKind returns the kind of that name.
func ParseScopeKind(name string) (ScopeKind, error) {
	if i := slices.Index(scopeNames[:], name); i >= 0 {
		return ScopeKind(i), nil
	}
	return 0, fmt.Errorf("scope kind %s: want %s", quote(name), strings.Join(scopeNames[:], ", "))
}

// Scope is the rule of what a job covers. The zero value covers the seeds' directories.
//
// Hosts are compared with their ports, but http and https are one: a seed http://h/ covers https://h/ too, a
// seed http://h:8080/ covers no other port. ScopeDomain covers all ports of a domain; a host that has no
// registrable domain (an IP address, "localhost", a public suffix itself) is compared as ScopeHost does.
type Scope struct {
	Kind ScopeKind
	// for ScopePrefixes: absolute URLs; compared byte by byte, so "http://h/doc" covers /docs too
	Prefixes []string
	// see Glob: a path pattern admits more on the kind's hosts, an absolute one wherever it says
	Include []string
	Exclude []string // see Glob: beats all else, seeds too
}

// A Rule is a compiled Scope. It is immutable and safe for concurrent use.
type Rule struct {
	kind             ScopeKind
	seeds            map[URL]bool
	places           []place
	include, exclude []*Glob
	out              func(URL) (reason string, out bool) // beats all else; nil: no URL
}

// A place is one thing that the scope's kind admits: a path prefix on a host or domain.
type place struct {
	host   string // host with port, or registrable domain
	domain bool
	path   string // prefix of the request URI
}

// Compile checks the scope and prepares it for the job's seeds. The error joins everything that is wrong.
func (s Scope) Compile(seeds []URL) (*Rule, error) {
	r := &Rule{kind: s.Kind, seeds: make(map[URL]bool, len(seeds))}
	var errs []error
	if len(seeds) == 0 {
		errs = append(errs, errors.New("scope: no seeds"))
	}
	for _, u := range seeds {
		if u.IsZero() {
			errs = append(errs, errors.New("scope: a seed is no URL"))
			continue
		}
		r.seeds[u.Normal()] = true
		p := place{host: u.Host(), path: "/"}
		switch s.Kind {
		case ScopeDirectory:
			p.path = u.Normal().Dir()
		case ScopeDomain:
			if d, ok := registrableDomain(u.Hostname()); ok {
				p.host, p.domain = d, true
			}
		case ScopePrefixes:
			continue
		}
		r.add(p)
	}
	switch {
	case int(s.Kind) >= len(scopeNames):
		errs = append(errs, fmt.Errorf("scope: kind %d is unknown", s.Kind))
	case s.Kind != ScopePrefixes && len(s.Prefixes) > 0:
		errs = append(errs, fmt.Errorf("scope: prefixes do not go with kind %q", s.Kind))
	case s.Kind == ScopePrefixes && len(s.Prefixes) == 0:
		errs = append(errs, fmt.Errorf("scope: kind %q needs prefixes", s.Kind))
	}
	for _, raw := range s.Prefixes {
		u, frag, err := Parse(raw)
		if err == nil && frag != "" {
			err = errors.New("a prefix has no fragment")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("scope prefix %s: %w", quote(raw), err))
			continue
		}
		r.add(place{host: u.Host(), path: u.Normal().RequestURI()})
	}
	var err error
	r.include, err = CompileGlobs("scope include", s.Include)
	errs = append(errs, err)
	r.exclude, err = CompileGlobs("scope exclude", s.Exclude)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return r, nil
}

// Without returns the rule for which the URLs that out names are out of scope, despite all other rules. out
// must be safe for concurrent use.
func (r *Rule) Without(out func(u URL) (reason string, out bool)) *Rule {
	less := *r
	less.out = out
	return &less
}

// Excludes reports whether a pattern of Scope.Exclude, or the function of Without, excludes u.
func (r *Rule) Excludes(u URL) bool {
	if r.out != nil {
		if _, out := r.out(u); out {
			return true
		}
	}
	return AnyMatches(r.exclude, u)
}

// Includes reports whether u matches a pattern of Scope.Include, on any host.
func (r *Rule) Includes(u URL) bool { return AnyMatches(r.include, u) }

func (r *Rule) add(p place) {
	if !slices.Contains(r.places, p) {
		r.places = append(r.places, p)
	}
}

// Admits reports whether u is in scope, and the rule that says so as a short sentence for people.
func (r *Rule) Admits(u URL) (ok bool, reason string) {
	ok, why := r.decide(u)
	return ok, why.String()
}

// Covers is Admits without the sentence: it allocates nothing.
func (r *Rule) Covers(u URL) bool {
	ok, _ := r.decide(u)
	return ok
}

// verdict is what a decision rests on; String makes the sentence, which only explain needs.
type verdict struct {
	format string
	arg    string
}

func (v verdict) String() string {
	if v.arg == "" {
		return v.format
	}
	return fmt.Sprintf(v.format, v.arg)
}

func (r *Rule) decide(u URL) (bool, verdict) {
	if u.IsZero() {
		return false, verdict{"not a URL", ""}
	}
	if r.out != nil {
		if reason, out := r.out(u); out {
			return false, verdict{"%s", reason}
		}
	}
	for _, g := range r.exclude {
		if g.Match(u) {
			return false, verdict{"excluded by %q", g.pattern}
		}
	}
	n := u.Normal()
	host, uri := u.Host(), n.RequestURI()
	hostname := u.Hostname()
	onHost := false
	var path string // of the last place on the host
	for _, p := range r.places {
		if !p.holds(host, hostname) {
			continue
		}
		onHost, path = true, p.path
		if !strings.HasPrefix(uri, p.path) {
			continue
		}
		switch {
		case p.domain:
			return true, verdict{"domain is %s", p.host}
		case p.path == "/":
			return true, verdict{"host is %s", p.host}
		default:
			return true, verdict{"path is under %s", p.path}
		}
	}
	if r.seeds[n] {
		return true, verdict{"it is a seed", ""}
	}
	for _, g := range r.include {
		if (onHost || g.Absolute()) && g.Match(u) {
			return true, verdict{"included by %q", g.pattern}
		}
	}
	switch {
	case onHost:
		return false, verdict{"path is not under %s", path}
	case r.kind == ScopeDomain:
		return false, verdict{"host %s is of another domain", host}
	}
	return false, verdict{"host %s is not the job's", host}
}

func (p place) holds(host, hostname string) bool {
	if !p.domain {
		return host == p.host
	}
	return hostname == p.host ||
		(strings.HasSuffix(hostname, p.host) && hostname[len(hostname)-len(p.host)-1] == '.')
}

// registrableDomain returns the public suffix and the label before it.
func registrableDomain(hostname string) (string, bool) {
	if isIP(hostname) {
		return "", false
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(hostname)
	return d, err == nil
}

// RegistrableDomain returns the domain under which u's host was registered ("example.co.uk"), or the host
// itself when it has none: an IP address, a single label, a public suffix.
func (u URL) RegistrableDomain() string { return RegistrableDomain(u.Hostname()) }

// RegistrableDomain returns the domain under which a host was registered, or the host itself when it has
// none.
func RegistrableDomain(hostname string) string {
	if d, ok := registrableDomain(hostname); ok {
		return d
	}
	return hostname
}

// Reaches reports whether u, or something below the directory u, may be in scope; false is certain. Exclude
// patterns have a say only about u itself when they name all that is below it ("/manual/**").
func (r *Rule) Reaches(u URL) bool {
	if u.IsZero() {
		return false
	}
	for _, g := range r.exclude {
		if strings.HasSuffix(g.pattern, "/**") && g.Match(u) {
			return false
		}
	}
	host, hostname, uri := u.Host(), u.Hostname(), u.Normal().RequestURI()
	onHost := false
	for _, p := range r.places {
		if !p.holds(host, hostname) {
			continue
		}
		onHost = true
		if strings.HasPrefix(uri, p.path) || strings.HasPrefix(p.path, uri) {
			return true
		}
	}
	for s := range r.seeds {
		if s.Host() == host && strings.HasPrefix(s.RequestURI(), uri) {
			return true
		}
	}
	return slices.ContainsFunc(r.include, func(g *Glob) bool { return onHost || g.Absolute() })
}
