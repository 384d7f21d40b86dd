// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"fmt"
	"strings"

	"mirrord/fetch/reach"
	"mirrord/site"
)

// hasOrigin reports whether a URL of a table is one of an origin, or was before the site moved between http
// and https or to or from "www.": mirror paths stay as they are then, and so does the origin that they are
// named after.
func hasOrigin(u, origin string) bool {
	if rest, ok := strings.CutPrefix(u, origin); ok && origin != "" && strings.HasPrefix(rest, "/") {
		return true
	}
	h := bareHost(origin)
	return h != "" && !strings.Contains(h, ":") && h == bareHost(u)
}

func bareHost(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	host, _, _ := strings.Cut(rest, "/")
	return strings.TrimPrefix(host, "www.")
}

// originOf returns the origin of a URL, "" for none.
func originOf(u string) string {
	p, _, err := site.Parse(u)
	if err != nil {
		return ""
	}
	return p.Origin()
}

// checkAddresses holds what phm.json says of the set's origins against what they may be: primary and origins
// are http or https, and primary is the origin of a file of the set (owned). Programs rely on these: they
// request missing files from the primary origin.
func (m *Meta) checkAddresses(owned bool) error {
	bad := func(what, value, reason string) error {
		return fmt.Errorf("%s: %s %q: %w: %s", MetaName, what, abbreviate(value), ErrUnsafe, reason)
	}
	for _, o := range m.Origins {
		if originOf(o) == "" {
			return bad("origins", o, "it is not an http or https URL")
		}
	}
	if m.Primary == "" {
		return nil
	}
	p, _, err := site.Parse(m.Primary + "/")
	switch {
	case err != nil || p.Origin() != m.Primary:
		return bad("primary", m.Primary, "it is not an http or https origin")
	case reach.NeverReachable(p.Hostname()):
		return bad("primary", m.Primary, "it is an address of the machine's cloud, not of a site")
	case !owned:
		return bad("primary", m.Primary, "no file of the set has this origin")
	}
	return nil
}
