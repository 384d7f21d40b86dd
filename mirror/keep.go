// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// kept hands a stored body on, unless the mirror is full.
func (r *run) kept(now, old *store.Resource, f *ledger.Finding) {
	if r.fits(now, old, f.As) {
		r.keep(now, old, f)
	}
}

// fits counts a body in the place of what the mirror had. When a cap is reached meanwhile, because others were faster, the URL is not part of the
// mirror, and this says so. An entry point always fits: without it there is no mirror.
func (r *run) fits(now, old *store.Resource, as ledger.Account) bool {
	if old.InSet {
		r.hold(old, nil)
	}
	if !now.InSet {
		return true
	}
	r.hold(nil, now)
	if reason := r.capped(1); !old.InSet && now.Referrer != 0 && reason != "" {
		r.hold(now, nil)
		old.Outcome, old.Reason = site.Trapped, reason
		as.Tally |= ledger.AsTrapped
		r.apply(&ledger.Finding{Done: store.Done{Resource: *old}, As: as})
		return false
	}
	return true
}

// keep hands a stored body that fits on, and says in which version it changed.
func (r *run) keep(now, old *store.Resource, f *ledger.Finding) {
	if old.Digest != now.Digest || old.MIME != now.MIME || old.Charset != now.Charset || old.Body == store.NoBody || r.rescan {
		now.Changed = r.version
	}
	if !old.InSet && now.InSet || old.InSet && !now.InSet {
		now.Moved = r.version
	}
	if now.Path != "" && old.MIME != now.MIME && r.layout.Preferred(now.URL, old.MIME) != r.layout.Preferred(now.URL, now.MIME) {
		now.Path, now.Moved = "", r.version // its name must say the new type
	}
	now.ShapeNew = r.shapeNew(now, old)
	f.Resource = *now
	f.As.Tally |= ledger.AsFetched
	r.apply(f)
}
