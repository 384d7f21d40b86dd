// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/listing"
	"mirrord/mirror/ledger"
	"mirrord/policy"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// Under the policy adaptive a directory listing is asked when that pays. It tells of all files of its directory at once, so it is worth what they are together
// (policy.Model.Vouch). When it does not pay, neither it nor its files are asked, and all of them are skipped. Always asked are those that are entry points or the
// root of the site, and those that failed when they were last asked; and all, while listings are not believed on this site.
//
// What the listings say makes others pay, so the sources of evidence are asked in stages until no listing pays any more: one stage before all else, more when
// what was found then raises what is expected elsewhere.

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

// sortsListing reports whether a link of a listing leads to the same listing in another order or form (?C=M;O=D): such links are
// the same directory again.
func sortsListing(u []byte, dir site.URL) bool {
	p, _, query := bytes.Cut(u, []byte{'?'})
	d, _, _ := strings.Cut(dir.String(), "?")
	return query && string(p) == d
}

// vouch tells the model which files listings tell of, when the plan is to decide on listings.
func (r *run) vouch(p *planner) error {
	if !r.o.policyOf(r.job).Listings || !r.job.Evidence.Listings {
		return nil
	}
	if err := r.loadTrust(); err != nil || r.evidence.trust[ledger.ByListing].Until > r.state.Number {
		return err
	}
	p.listings = true
	for id := range uint32(p.model.Units()) {
		if r.vouched.Has(id) {
			p.model.Vouch(policy.ID(id))
		}
	}
	return nil
}

// leaveListing reports whether it is left to the plan whether a source of evidence is asked.
func (r *run) leaveListing(id uint32) bool {
	p := r.planner
	if p == nil || !p.listings || !r.listings.Has(id) || int(id) >= p.model.Units() {
		return false
	}
	t := r.table.Settled()
	if t.State(id).Outcome() == site.Failed || p.model.Tree.Of(t.URL(id)) == policy.Root {
		return false
	}
	for _, u := range r.seeds {
		if s, ok := t.Find([]byte(u.String())); ok {
			if f, _ := t.Final(s); s == id || f == id {
				return false
			}
		}
	}
	return true
}

// nextListings takes the next listings that pay. The caller holds p.mu.
func (p *planner) nextListings() (ids []uint32) {
	if ids, p.wanted = p.wanted, nil; len(ids) > 0 {
		return ids
	}
	for _, a := range p.plan.NextListings(p.low) {
		ids = append(ids, uint32(a.Unit))
		p.asked[min(a.Why.Why, policy.Cheap-1)]++
	}
	p.dry = len(ids) == 0
	return ids
}

// listingStage asks first the listings that others say have changed, then those that pay; any says whether there were some.
func (r *run) listingStage(stage func()) (any bool) {
	p := r.planner
	for ids := p.takeWanted(); len(ids) > 0; ids = p.takeWanted() {
		for _, id := range ids {
			r.enqueueSource(id)
		}
		any = true
		stage()
	}
	p.enter(phaseListings)
	defer p.enter(phaseClosed)
	r.refill()
	any = r.front.State(r.now()).Queued > 0 || any
	stage()
	return any
}

// takeWanted takes the listings that wait.
func (p *planner) takeWanted() (ids []uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids, p.wanted = p.wanted, nil
	return ids
}

// moreListings asks what listings have come to pay, and what they tell of, until there are none.
func (r *run) moreListings(stage func()) error {
	p := r.planner
	for p != nil && p.listings && !r.stopped() {
		r.deferring = true
		any := r.listingStage(stage)
		if err := r.spareHeard(stage); err != nil || (!any && len(r.waiting) == 0) {
			return err
		}
		r.enqueueDeferred()
		p.enter(phaseOpen)
		r.refill()
		stage()
	}
	return nil
}

// want lets a listing be asked in the stage that is under way.
func (p *planner) want(id uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted, p.dry = append(p.wanted, id), false
}

// hearDirectory takes what a listing says of a directory: its time, which moves when entries come and go. That it did not says nothing. That it did is a reason
// to ask the directory's own listing.
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
	if p == nil || !p.listings || !r.deferring || r.table.State(id).Queued() || !r.listings.Has(id) {
		return nil
	}
	rec, ok, err := r.site.Get(e.URL)
	if err == nil && ok && rec.Evidence[ledger.ByListing] != 0 && rec.Evidence[ledger.ByListing] != hash {
		p.want(id)
	}
	return err
}

// hearMissing takes note of what a listing has named and does not any more: it is asked, so that what is gone is known to be. ids are what it names now.
func (r *run) hearMissing(id uint32, ids []int64) error {
	p := r.planner
	if p == nil || !p.listings || !r.deferring {
		return nil
	}
	targets, err := r.site.TargetsOf(id)
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
			p.want(to)
		} else {
			p.hint(to)
		}
	}
	return nil
}

// simulate goes through the plan as if nothing had changed, and returns what it would ask. The plan is told of what is owed: entry points and sources of evidence.
func (r *run) simulate(p *planner, owed ...map[uint32]bool) map[uint32]policy.Reason {
	t := r.table.Settled()
	tells := map[policy.Dir][]policy.ID{} // what the listing of a directory tells of
	if p.listings {
		for id := range t.Len() {
			if r.vouched.Has(id) {
				d := p.model.Tree.Of(t.URL(id))
				tells[d] = append(tells[d], policy.ID(id))
			}
		}
	}
	tell := func(id uint32) {
		p.plan.Tell(policy.Outcome{Unit: policy.ID(id)})
		if !p.listings || !r.listings.Has(id) {
			return
		}
		d := p.model.Tree.Of(t.URL(id))
		for _, u := range tells[d] {
			p.plan.Tell(policy.Outcome{Unit: u})
		}
		delete(tells, d)
	}
	for id := range t.Len() {
		for _, set := range owed {
			if set[id] {
				tell(id)
			}
		}
	}
	asked := map[uint32]policy.Reason{}
	drain := func(next func(int) []policy.Ask, size int) {
		for batch := next(size); len(batch) > 0; batch = next(size) {
			for _, a := range batch {
				asked[uint32(a.Unit)] = a.Why
				tell(uint32(a.Unit))
			}
		}
	}
	if p.listings {
		drain(p.plan.NextListings, p.low)
	}
	drain(p.plan.Next, planBatch)
	return asked
}
