// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"sync"

	"mirrord/fetch"
	"mirrord/mirror/result"
	"mirrord/site"
)

// Origins are the robots rules of origins, as far as this run knows them. Safe for concurrent use.
type Origins struct {
	obey bool // the job obeys robots rules

	mu    sync.Mutex
	rules map[string]*fetch.Robots
	full  map[string]bool // origins whose robots.txt names more sitemaps than are read
}

// NewOrigins returns an empty set. obey says whether the job obeys robots rules: if not, the rules of all
// origins are known and allow everything.
func NewOrigins(obey bool) *Origins {
	return &Origins{obey: obey, rules: map[string]*fetch.Robots{}, full: map[string]bool{}}
}

// Rules returns the rules of a URL's origin. They are nil, which allows everything, while they are not known.
func (o *Origins) Rules(u site.URL) (rules *fetch.Robots, known bool) {
	if !o.obey {
		return nil, true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	rules, known = o.rules[u.Origin()]
	return rules, known
}

// Learn keeps the rules of a URL's origin. first is false when some were known before.
func (o *Origins) Learn(u site.URL, rules *fetch.Robots) (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.rules[u.Origin()]
	o.rules[u.Origin()] = rules
	return !known
}

// NoteFull notes that the robots.txt of a URL's origin names more sitemaps than a run reads.
func (o *Origins) NoteFull(u site.URL) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.full[u.Origin()] = true
}

// Cuts returns the origins whose robots.txt was read, each with the limits that cut it.
func (o *Origins) Cuts() map[string]result.Cut {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make(map[string]result.Cut, len(o.rules))
	for origin, r := range o.rules {
		out[origin] = 0
		if (r != nil) && (r.File != nil) && r.File.Cut() {
			out[origin] |= result.CutRobots
		}
		if o.full[origin] {
			out[origin] |= result.CutSitemaps
		}
	}
	return out
}

// Forbids reports whether rules that are known do not allow a URL. What the mirror has of it then leaves, and
// must have its turn.
func (o *Origins) Forbids(u site.URL) bool {
	rules, known := o.Rules(u)
	if !known || rules.Silent() != "" {
		return false
	}
	ok, _ := rules.Permits(u)
	return !ok
}
