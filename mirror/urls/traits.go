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
	flags uint8
}

const (
	isSitemap = 1 << iota
	isBroken
	isLead
	setCookie
	isRefused
	isReopened
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

func (t *Traits) flag(id uint32, flag uint8) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(id, func(x *trait) { x.flags |= flag })
}

func (t *Traits) has(id uint32, flag uint8) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[id].flags&flag != 0
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
	lead = seed || t.of[from].flags&isLead != 0
	t.change(to, func(x *trait) {
		x.hops = max(x.hops, uint16(min(hops, 1<<16-1)))
		if lead {
			x.flags |= isLead
		}
	})
	return lead
}

// NoteCookie notes that an answer of this run redirected and set a cookie that is kept.
func (t *Traits) NoteCookie(id uint32) { t.flag(id, setCookie) }

// SetCookie reports whether an answer of this run set a cookie, see NoteCookie.
func (t *Traits) SetCookie(id uint32) bool { return t.has(id, setCookie) }

// NoteBroken notes that a URL has failed for so many runs that it counts as broken.
func (t *Traits) NoteBroken(id uint32) { t.flag(id, isBroken) }

// Broken reports whether a URL counts as broken.
func (t *Traits) Broken(id uint32) bool { return t.has(id, isBroken) }

// NoteRefused notes that a URL failed in this run so that another request will not mend it.
func (t *Traits) NoteRefused(id uint32) { t.flag(id, isRefused) }

// IsRefused reports whether a URL failed so, see NoteRefused.
func (t *Traits) IsRefused(id uint32) bool { return t.has(id, isRefused) }

// NoteLead notes that an entry point redirected to a URL when it was last requested.
func (t *Traits) NoteLead(id uint32) { t.flag(id, isLead) }

// IsLead reports whether an entry point redirects to a URL.
func (t *Traits) IsLead(id uint32) bool { return t.has(id, isLead) }

// NoteReopened notes that a URL is requested once more in this run, as if it was new.
func (t *Traits) NoteReopened(id uint32) { t.flag(id, isReopened) }

// IsReopened reports whether a URL is requested so, see NoteReopened.
func (t *Traits) IsReopened(id uint32) bool { return t.has(id, isReopened) }

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

// NoteSitemap notes that a URL is a sitemap, which robots.txt or an index names.
func (t *Traits) NoteSitemap(id uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(id, func(x *trait) {
		if x.flags&isSitemap == 0 {
			x.flags |= isSitemap
			t.sitemaps++
		}
	})
}

// Sitemap reports whether a URL is a sitemap.
func (t *Traits) Sitemap(id uint32) bool { return t.has(id, isSitemap) }

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
		if x.flags&isSitemap != 0 {
			ids = append(ids, id)
		}
	}
	t.mu.Unlock()
	slices.Sort(ids)
	return ids
}
