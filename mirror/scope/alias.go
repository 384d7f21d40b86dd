// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"bytes"

	"mirrord/job"
	"mirrord/site"
)

// aliases are other names of one host: a URL on one of them is a URL on that host. The zero value has none.
type aliases struct {
	hosts map[string]bool // with port, as in site.URL.Host
	main  site.URL        // the first entry point
}

func newAliases(j *job.Job, main site.URL) (a aliases) {
	if len(j.Scope.Aliases) == 0 {
		return a
	}
	a = aliases{hosts: map[string]bool{}, main: main}
	for _, h := range j.AliasHosts() {
		a.hosts[h] = true
	}
	return a
}

// has reports whether a URL lies on an alias.
func (a *aliases) has(u site.URL) bool {
	return len(a.hosts) > 0 && !u.IsZero() && a.hosts[u.Host()]
}

// Main returns the URL that stands for u: u itself, unless its host is an alias.
func (r *URLRules) Main(u site.URL) site.URL {
	if !r.aliases.has(u) {
		return u
	}
	return site.Canonical(r.aliases.main.Origin() + u.RequestURI())
}

// MainOf is Main for the bytes of a canonical URL.
func (r *URLRules) MainOf(u []byte) []byte {
	if len(r.aliases.hosts) == 0 {
		return u
	}
	_, rest, ok := bytes.Cut(u, []byte("://"))
	end := bytes.IndexByte(rest, '/')
	if !ok || end < 0 || !r.aliases.hosts[string(rest[:end])] {
		return u
	}
	return append([]byte(r.aliases.main.Origin()), rest[end:]...)
}
