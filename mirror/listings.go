// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/listing"
	"mirrord/mirror/ledger"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// index returns the directory listing that a document is, nil when it is none, and notes it in the record.
func index(now *store.Resource, body []byte, format relocate.Format) *listing.Listing {
	if format != relocate.HTML || !strings.HasSuffix(now.URL.Path(), "/") {
		return nil
	}
	l, ok := listing.Parse(body, now.URL)
	now.Listing = ok
	if !ok {
		return nil
	}
	return l
}

// sortsListing reports whether a link of a listing leads to the same listing in another order or form
// (?C=M;O=D): such links are the same directory again.
func sortsListing(u []byte, dir site.URL) bool {
	p, _, query := bytes.Cut(u, []byte{'?'})
	d, _, _ := strings.Cut(dir.String(), "?")
	return query && string(p) == d
}

// listingStage asks first the listings that others say have changed, then those that pay; any says whether
// there were some.
func (r *run) listingStage(stage func()) (any bool) {
	p := r.planner
	for ids := p.TakeWanted(); len(ids) > 0; ids = p.TakeWanted() {
		for _, id := range ids {
			r.enqueueSource(id)
		}
		any = true
		stage()
	}
	p.OpenListings()
	defer p.Close()
	r.refill()
	any = r.front.State(r.now()).Queued > 0 || any
	stage()
	return any
}

// moreListings asks what listings have come to pay, and what they tell of, until there are none.
func (r *run) moreListings(stage func()) error {
	p := r.planner
	for p.DecidesListings() && !r.stopped() {
		r.deferring = true
		any := r.listingStage(stage)
		if err := r.spareHeard(stage); err != nil || (!any && !r.postponed.AnyDelayed()) {
			return err
		}
		r.enqueueDeferred()
		p.Open()
		r.refill()
		stage()
	}
	return nil
}

// hearDirectory takes what a listing says of a directory: its time, which moves when entries come and go.
// That it did not says nothing. That it did is a reason to ask the directory's own listing.
func (r *run) hearDirectory(e listing.Entry, asked time.Time) error {
	if e.Precision == listing.TimeUnknown {
		return nil
	}
	id, ok := r.table.Find([]byte(e.URL.String()))
	if !ok {
		return nil
	}
	hash := max(xxh3.HashString("directory "+e.Modified.UTC().Format(time.RFC3339)), 1)
	if e.Settled(asked) {
		r.evidence.note(ledger.ByListing, id, hash)
	}
	p := r.planner
	if !p.DecidesListings() || !r.deferring || r.table.State(id).Queued() || !r.listings.Has(id) {
		return nil
	}
	rec, ok, err := r.site.Records.Get(e.URL)
	if err == nil && ok && rec.Evidence[ledger.ByListing] != 0 && rec.Evidence[ledger.ByListing] != hash {
		p.Want(id)
	}
	return err
}

// hearMissing takes note of what a listing has named and does not any more: it is asked, so that what is gone
// is known to be. ids are what it names now.
func (r *run) hearMissing(id uint32, ids []int64) error {
	p := r.planner
	if !p.DecidesListings() || !r.deferring {
		return nil
	}
	targets, err := r.site.Records.TargetsOf(id)
	if err != nil {
		return err
	}
	named := make(map[uint32]bool, len(ids))
	for _, n := range ids {
		if n >= 0 {
			named[uint32(n)] = true
		}
	}
	var gone []uint32
	r.table.Each(targetsIn(targets), func(to uint32, s ledger.State, _ site.URL) {
		if !named[to] && s.Governed() && !s.Queued() {
			gone = append(gone, to)
		}
	})
	for _, to := range gone {
		if r.listings.Has(to) {
			p.Want(to)
		} else {
			p.Hint(to)
		}
	}
	return nil
}
