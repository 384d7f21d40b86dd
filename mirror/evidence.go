// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/listing"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// Evidence spares requests. A directory listing tells name, time and size of a whole directory; a sitemap tells when its pages changed. What
// they say of a resource is kept with it, as a hash, whenever the resource is found to be as it is after they were read; as long as
// they say the same, the resource is unchanged without being asked.
//
// A run that has such sources asks them first (of the listings, under the policy adaptive, those that pay: listings.go), then audits a few of the resources that they would spare, and spares the rest. One
// audit that finds a change which the source did not tell of, and the source is not believed for some runs.
//
// Feeds spare nothing, for they name only the latest of a site, but they are asked with the sources: what they name and the mirror has not
// is then asked before anything that is known.

// reasonOf is what explain says of a spared request.
func reasonOf(k ledger.EvidenceKind) string {
	return [...]string{"not asked: its directory listing shows the same time and size", "not asked: the sitemap shows the same lastmod",
		"not asked: the site said that it stays as it is for longer"}[k]
}

// evidence is what the sources of this run say. Safe for concurrent use.
type evidence struct {
	mu    sync.Mutex
	say   [ledger.SpokenKinds]map[uint32]uint64 // by URL
	spare [ledger.EvidenceKinds][]uint32        // what is as it was
	trust [ledger.EvidenceKinds]trust
	tried [ledger.EvidenceKinds]int // audits of this run
}

// trust is how far a kind of evidence is believed on a site.
type trust struct {
	Wrong int `json:"wrong"` // how often it was caught
	Until int `json:"until"` // not believed before this run
}

// trustFact is where trust is kept.
const trustFact = "trust"

func (r *run) loadTrust() error {
	v, err := r.site.Notes.Fact(trustFact)
	if err != nil || v == nil {
		return err
	}
	if err := json.Unmarshal(v, &r.evidence.trust); err != nil {
		r.log.Warn("what is known of the reliability of evidence cannot be decoded; it begins anew", "err", err)
		clear(r.evidence.trust[:])
	}
	return nil
}

// distrust takes note that a kind of evidence hid a change. It is believed again after 4, 8, 16 … runs.
func (r *run) distrust(k ledger.EvidenceKind, u site.URL) error {
	t := &r.evidence.trust[k]
	t.Wrong++
	t.Until = r.state.Number + 2<<min(t.Wrong, 8)
	r.notes.Add(fmt.Sprintf("changed although the %s said nothing of it: it is not believed until run %d", [...]string{"listing", "sitemap", "lifetime"}[k], t.Until), u)
	v, err := json.Marshal(r.evidence.trust)
	if err != nil {
		return err
	}
	return r.site.Notes.SetFact(trustFact, v)
}

func (e *evidence) note(k ledger.EvidenceKind, id uint32, hash uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.say[k] == nil {
		e.say[k] = map[uint32]uint64{}
	}
	e.say[k][id] = hash
}

// of returns what the sources say of a URL.
func (e *evidence) of(id uint32) (out [ledger.SpokenKinds]uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k := range e.say {
		out[k] = e.say[k][id]
	}
	return out
}

// hear takes what a source says of a URL. In the first stage of a run it decides whether the URL can be spared; agrees is asked about
// the record then. What is not settled, because a change that comes now would not show, spares nothing and is not remembered. When the source
// says something else than before, a planned run asks.
func (r *run) hear(k ledger.EvidenceKind, id uint32, text string, settled bool, agrees func(*store.Resource) bool) error {
	hash := max(xxh3.HashString(k.String()+text), 1)
	if settled {
		r.evidence.note(k, id, hash)
	}
	trusted := settled && r.evidence.trust[k].Until <= r.state.Number
	if !r.deferring || !trusted && r.planner == nil {
		return nil
	}
	u, s := r.table.Get(id)
	if !s.InSet() || s.Queued() || s.Outcome() == site.Failed {
		return nil
	}
	rec, ok, err := r.site.Records.Get(u)
	if err != nil || !ok {
		return err
	}
	if same := rec.Evidence[k] == hash && agrees(&rec); !same || !trusted {
		if r.planner != nil && !same && rec.Evidence[k] != 0 {
			r.planner.Hint(id)
		}
		return nil
	}
	r.evidence.mu.Lock()
	r.evidence.spare[k] = append(r.evidence.spare[k], id)
	r.evidence.mu.Unlock()
	return nil
}

// hearListing takes a directory listing as evidence.
func (r *run) hearListing(l *listing.Listing, dir site.URL) error {
	if !r.job.Evidence.Listings {
		return nil
	}
	asked := r.now()
	for _, e := range l.Entries {
		if e.Dir {
			if err := r.hearDirectory(e, asked); err != nil {
				return fmt.Errorf("listing %s: %w", dir, err)
			}
			continue
		}
		text := e.Evidence()
		if text == "" {
			continue
		}
		id, ok := r.table.Find([]byte(e.URL.String()))
		if !ok {
			continue
		}
		err := r.hear(ledger.ByListing, id, text, e.Settled(asked), func(rec *store.Resource) bool {
			var m time.Time
			if rec.Modified > 0 {
				m = time.Unix(rec.Modified, 0).UTC()
			}
			return e.Agrees(m, rec.Size)
		})
		if err != nil {
			return fmt.Errorf("listing %s: %w", dir, err)
		}
	}
	return nil
}

// hearSitemap takes a sitemap as evidence.
func (r *run) hearSitemap(list relocate.SitemapList, base site.URL) error {
	if !r.job.Evidence.Sitemaps {
		return nil
	}
	now := r.now()
	for _, e := range list.Entries {
		at, ok := e.Time()
		if !ok {
			continue
		}
		// A change after now must show: not on the day that a mere date names, nor in the same minute.
		settled := time.Minute
		if len(e.LastMod) <= len("2006-01-02") {
			settled = 48 * time.Hour
		}
		u, _, err := base.Resolve(e.Loc)
		if err != nil {
			continue
		}
		id, ok := r.table.Find([]byte(u.String()))
		if !ok {
			continue
		}
		if err := r.hear(ledger.BySitemap, id, e.LastMod, now.Sub(at) >= settled, func(*store.Resource) bool { return true }); err != nil {
			return fmt.Errorf("sitemap %s: %w", base, err)
		}
	}
	return nil
}

// hearStored takes the stored body of a source that has not changed as evidence.
func (r *run) hearStored(rec *store.Resource) error {
	switch {
	case rec.Listing:
		p := <-r.procs
		defer func() { r.procs <- p }()
		fr, err := r.site.Frames.ReadFrame(p.r, rec.At)
		if err != nil {
			return nil // verify reports it; without evidence everything is asked
		}
		if l, ok := listing.Parse(fr.Body, rec.URL); ok {
			return r.hearListing(l, rec.URL)
		}
	case wasSitemap(rec):
		f, err := r.o.State.Bodies.Open(rec.Digest, 0, maxSitemapBytes)
		if err != nil {
			return nil
		}
		defer f.Close()
		body, err := io.ReadAll(f)
		if err != nil {
			return &store.DiskError{Op: "read sitemap", Err: err}
		}
		list := r.readSitemap(rec.URL, body)
		if list.Index {
			for _, e := range list.Entries {
				if u, _, err := rec.URL.Resolve(e.Loc); err == nil {
					r.addSitemap(u)
				}
			}
			return nil
		}
		return r.hearSitemap(list, rec.URL)
	}
	return nil
}

// Audits of a run: of the resources that a kind of evidence would spare.
const (
	leastAudits = 3
	auditShare  = 500 // one of so many
	mostAudits  = 25
)

// audits picks resources that are asked although the evidence says that they need not be: others in every run. It may be called several times in a run.
func (r *run) audits(k ledger.EvidenceKind, ids []uint32) []uint32 {
	tried := &r.evidence.tried[k]
	n := min(max(leastAudits-*tried, 0)+len(ids)/auditShare, mostAudits-*tried, len(ids))
	*tried += n
	out := make([]uint32, 0, n)
	start := xxh3.Hash([]byte{byte(r.state.Number), byte(r.state.Number >> 8), byte(r.state.Number >> 16)})
	for i := range n {
		out = append(out, ids[(start+uint64(i)*uint64(len(ids))/uint64(n))%uint64(len(ids))])
	}
	return out
}

// spareKnown asks the sources of evidence, audits, and takes out of the run what need not be asked.
func (r *run) spareKnown(stage func()) error {
	if err := r.loadLiars(); err != nil {
		return err
	}
	if r.rescan || r.live == nil || len(r.sources)+len(r.feeds)+len(r.fresh)+len(r.validated) == 0 {
		return nil
	}
	if err := r.loadTrust(); err != nil {
		return err
	}
	r.deferring = true
	for i := range r.heard {
		if err := r.hearStored(&r.heard[i]); err != nil {
			return err
		}
	}
	for _, id := range slices.Concat(r.sources, r.feeds) {
		if !r.planner.Skips(id) && !r.planner.DecidesOn(id, r.rules.Seeds) {
			r.enqueueSource(id)
		}
	}
	stage()
	if r.planner.DecidesListings() { // with what the sources say that are asked in any case
		r.listingStage(stage)
	}
	if r.evidence.trust[ledger.ByExpiry].Until <= r.state.Number {
		r.evidence.spare[ledger.ByExpiry] = r.table.NotQueued(r.fresh)
	}
	r.auditValidators()
	return r.spareHeard(stage)
}

// spareHeard audits, and takes out of the run what the sources that were asked say need not be asked. It ends the stage of the sources.
func (r *run) spareHeard(stage func()) error {
	var picked [ledger.EvidenceKinds][]uint32
	for k := range ledger.EvidenceKinds {
		slices.Sort(r.evidence.spare[k])
		r.evidence.spare[k] = r.table.NotQueued(slices.Compact(r.evidence.spare[k])) // a sitemap may name a page a thousand times
		picked[k] = r.audits(k, r.evidence.spare[k])
		for _, id := range picked[k] {
			r.enqueueSource(id)
		}
	}
	stage()
	if err := r.distrustLiars(); err != nil {
		return err
	}
	defer func() { // what is spared must not be asked because another one links to it
		r.deferring, r.evidence.spare = false, [ledger.EvidenceKinds][]uint32{}
	}()
	if r.stopped() {
		return nil
	}
	for k := range ledger.EvidenceKinds {
		if u, caught := r.caught(picked[k]); caught {
			if err := r.distrust(k, u); err != nil {
				return err
			}
			continue
		}
		for _, id := range r.evidence.spare[k] {
			if err := r.spareOne(id, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostFeeds is how many feeds are asked before all else. A site that has one for every article says nothing new in most of them; those
// come with the other known pages.
const mostFeeds = 32

// loadEvidence takes note of a resource that may be evidence, or for which there may be some.
func (r *run) loadEvidence(rec *store.Resource) {
	ev := &r.job.Evidence
	r.listings.Put(rec.ID, rec.Listing && rec.InSet && ev.Listings)
	r.vouched.Put(rec.ID, !rec.Listing && rec.InSet && ev.Listings && rec.Evidence[ledger.ByListing] != 0)
	if rec.Listing && rec.InSet && ev.Listings || wasSitemap(rec) && ev.Sitemaps {
		r.sources = append(r.sources, rec.ID)
		if rec.Run == r.state.Number && rec.Outcome != site.Failed && rec.Status != 0 && rec.Source == "" { // by an earlier process, when the run is resumed
			r.heard = append(r.heard, *rec)
		}
	}
	if rec.Format == uint8(relocate.Feed) && rec.InSet && len(r.feeds) < mostFeeds {
		r.feeds = append(r.feeds, rec.ID)
	}
	if !rec.InSet || rec.Body == store.NoBody || rec.Outcome == site.Failed {
		return
	}
	if ev.Expiry && rec.Expires > r.started.Unix() && rec.Checked <= r.started.Unix() { // else it was counted by a clock that was wrong
		r.fresh = append(r.fresh, rec.ID)
	}
	if rec.Status == http.StatusNotModified && rec.Size <= maxAudited {
		r.validated = append(r.validated, rec.ID)
	}
}

// caught returns an audited resource that has changed.
func (r *run) caught(ids []uint32) (site.URL, bool) {
	for _, id := range ids {
		if u, s := r.table.Get(id); s.Outcome() == site.Fetched && s.Answered() {
			return u, true
		}
	}
	return site.URL{}, false
}

// enqueueSource puts a URL into the frontier of the first stage.
func (r *run) enqueueSource(id uint32) { r.enqueueOne(id, crawl.PrioSeed) }

// spareOne records a resource as unchanged without asking for it. Its links come from the store.
func (r *run) spareOne(id uint32, k ledger.EvidenceKind) error {
	u := r.table.URL(id)
	if r.origins.Forbids(u) {
		return nil
	}
	if _, first := r.table.Queue(id); !first {
		return nil
	}
	rec, ok, err := r.site.Records.Get(u)
	if err != nil || !ok {
		return err
	}
	targets, err := r.site.Records.TargetsOf(id)
	if err != nil {
		return err
	}
	rec.Outcome, rec.Status, rec.Reason, rec.Checked = site.Unchanged, 0, reasonOf(k), r.now().Unix()
	rec.Observe(false)
	r.followStored(targets)
	r.apply(&ledger.Finding{Done: store.Done{Resource: rec}, As: ledger.Account{Tally: ledger.AsSpared << k}})
	return nil
}
