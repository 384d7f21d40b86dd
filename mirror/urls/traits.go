// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"maps"
	"slices"
	"sync"

	"mirrord/mirror/result"
)

// Traits are what one run knows of single URLs beside the table: facts that concern few of them and end with
// the run, by number. Safe for concurrent use; the zero value is ready. Its lock may be taken while the table
// waits.
type Traits struct {
	mu       sync.Mutex
	of       map[uint32]trait
	cuts     map[uint32]result.Cut // of documents that a limit cut short
	sitemaps int
}

type trait struct {
	hops  uint16 // redirects before it
	spent Again
	is    Trait
}

// Trait is a set of what a URL is in a run.
type Trait uint8

// The traits.
const (
	NamedSitemap Trait = 1 << iota // robots.txt or an index names it as a sitemap
	IsBroken                       // it has failed for so many runs that it counts as broken
	IsLead                         // an entry point redirects to it, or did when it was last requested
	SetCookie                      // an answer of this run redirected and set a cookie that is kept
	IsRefused                      // it failed in this run so that another request will not mend it
	IsReopened                     // it is requested once more in this run, as if it was new
	IsKept                         // a user keeps it although the site no longer has it
)

// change changes the trait of a number. The caller holds t.mu.
func (t *Traits) change(id uint32, how func(*trait)) {
	if t.of == nil {
		t.of = map[uint32]trait{}
	}
	x := t.of[id]
	how(&x)
	t.of[id] = x
}

// Note notes what a URL is.
func (t *Traits) Note(id uint32, is Trait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if is&^t.of[id].is&NamedSitemap != 0 {
		t.sitemaps++
	}
	t.change(id, func(x *trait) { x.is |= is })
}

// Is reports whether a URL has a trait.
func (t *Traits) Is(id uint32, is Trait) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[id].is&is != 0
}

// Spend notes that a URL gets no other turn in this run for some reasons.
func (t *Traits) Spend(id uint32, why Again) {
	if why == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(id, func(x *trait) { x.spent |= why })
}

// Spent reports whether a URL gets no other turn in this run for a reason.
func (t *Traits) Spent(id uint32, why Again) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[id].spent&why != 0
}

// Hops is how many redirects lead to a URL, the longest way.
func (t *Traits) Hops(id uint32) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int(t.of[id].hops)
}

// Redirect notes that a URL redirects to another one, which is then so many hops away. seed says that from is
// an entry point; lead, that an entry point redirects to the target.
func (t *Traits) Redirect(from, to uint32, hops int, seed bool) (lead bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lead = seed || t.of[from].is&IsLead != 0
	t.change(to, func(x *trait) {
		x.hops = max(x.hops, uint16(min(hops, 1<<16-1)))
		if lead {
			x.is |= IsLead
		}
	})
	return lead
}

// NoteCut notes which limits cut a document short when it was last read; 0: none did.
func (t *Traits) NoteCut(id uint32, by result.Cut) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case by == 0:
		delete(t.cuts, id)
	case t.cuts == nil:
		t.cuts = map[uint32]result.Cut{id: by}
	default:
		t.cuts[id] = by
	}
}

// Cuts returns the documents that limits cut short, see NoteCut.
func (t *Traits) Cuts() map[uint32]result.Cut {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.cuts)
}

// CountSitemaps is how many URLs are sitemaps.
func (t *Traits) CountSitemaps() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sitemaps
}

// Sitemaps returns the numbers of the sitemaps, ascending.
func (t *Traits) Sitemaps() (ids []uint32) {
	t.mu.Lock()
	for id, x := range t.of {
		if x.is&NamedSitemap != 0 {
			ids = append(ids, id)
		}
	}
	t.mu.Unlock()
	slices.Sort(ids)
	return ids
}
