// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"

	"mirrord/site"
)

// Silent says why the rules of an origin are not known, "" when they are. Such rules disallow everything for
// now (RFC 9309 2.3.1.4); that is no reason to drop what a mirror has. nil rules are known: they allow
// everything.
func (r *Robots) Silent() string {
	switch {
	case r == nil || r.Stale:
		return ""
	case r.Err != nil:
		return fmt.Sprintf("its robots.txt cannot be had: %v", r.Err)
	case r.Status == 429 || r.Status >= 500:
		return fmt.Sprintf("its robots.txt answers %d", r.Status)
	}
	return ""
}

// Permits reports whether the rules allow a URL of their origin, and otherwise the rule that does not. nil
// rules allow everything.
func (r *Robots) Permits(u site.URL) (ok bool, rule string) {
	if r == nil {
		return true, ""
	}
	ok, by := r.Allowed(u.RequestURI())
	if ok {
		return true, ""
	}
	return false, by.String()
}
