// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/job"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/site/listing"
	"mirrord/store/record"
)

// RecordReader reads the records of URLs. *store.Site does. It is safe for concurrent use.
type RecordReader interface {
	// Get returns the record of a URL.
	Get(u site.URL) (rec record.Resource, ok bool, err error)
	// TargetsOf returns the numbers of what a document links to, as record.Targets reads them.
	TargetsOf(id uint32) ([]byte, error)
}

// Evidence is what the sources of a run say. A directory listing shows name, time and size of a whole
// directory; a sitemap says when its pages changed. What they say of a resource is kept with it, as a hash,
// whenever the resource is found to be as it is after they were read. As long as they say the same, the
// resource is unchanged and need not be requested.
//
// A run with such sources requests them first (of the listings, under a policy that decides on them, those
// that pay), then audits a few of the resources that need not be requested, and skips the rest. When an audit
// finds a change that the source did not show, the source is not believed for some runs.
//
// Feeds cover nothing, because they name only the latest of a site, but they are requested with the sources:
// what they name and the mirror does not have then comes before anything that is known.
//
// All exported fields but Plan are needed. Safe for concurrent use, except where a method says that no worker
// may run.
type Evidence struct {
	Job     job.Evidence
	Run     int // number of the run
	Table   *urls.Table
	Records RecordReader
	Sources *Sources
	Plan    *Planner         // nil: everything is requested
	Now     func() time.Time // the clock

	first bool // the sources are being requested

	mu        sync.Mutex
	say       [urls.SpokenKinds]map[uint32]uint64 // by URL
	unchanged [urls.EvidenceKinds][]uint32
	trust     trusts
	learned   bool                    // trust is to be stored
	tried     [urls.EvidenceKinds]int // audits of this run
}

// Believes reports whether a kind of evidence is believed in this run.
func (e *Evidence) Believes(k urls.EvidenceKind) bool { return e.trust[k].Until <= e.Run }

// Begin begins a stage of sources, which then decide the requests. No worker may run.
func (e *Evidence) Begin() { e.first = true }

// End ends it. No worker may run.
func (e *Evidence) End() {
	e.first = false
	e.unchanged = [urls.EvidenceKinds][]uint32{}
}

// First reports whether the sources are being requested. All else then waits.
func (e *Evidence) First() bool { return e != nil && e.first }

// note takes note of what a kind of evidence says of a URL.
func (e *Evidence) note(k urls.EvidenceKind, id uint32, hash uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.say[k] == nil {
		e.say[k] = map[uint32]uint64{}
	}
	e.say[k][id] = hash
}

// For returns the evidence to record with a resource: what the sources said when it was found to be as
// the record says. aside says that its body is not the origin's.
func (e *Evidence) For(rec *record.Resource, aside bool) [urls.SpokenKinds]uint64 {
	none := [urls.SpokenKinds]uint64{}
	if !rec.InSet || (rec.Outcome != site.Fetched && rec.Outcome != site.Unchanged) {
		return rec.Evidence
	}
	if rec.Source != "" || aside {
		return none // what listings say is said of the origin's body
	}
	say := none
	e.mu.Lock()
	for k := range say {
		say[k] = e.say[k][rec.ID]
	}
	was, now := rec.Evidence[urls.BySitemap], say[urls.BySitemap]
	if rec.Outcome == site.Fetched && was != 0 && now != 0 {
		e.trust[urls.BySitemap].found(was != now, recallMemory)
		e.learned = true
	}
	e.mu.Unlock()
	switch {
	case rec.Listing && say == none: // what was said of its directory may be old
	case rec.Status != 0, say != none:
		return say
	}
	return rec.Evidence
}

// AddFresh lets the lifetimes that sites gave count as evidence. No worker may run.
func (e *Evidence) AddFresh() {
	if e.Believes(urls.ByExpiry) {
		e.unchanged[urls.ByExpiry] = e.Table.NotQueued(e.Sources.fresh)
	}
}

// told returns the pages that need not be requested when the lists show no edit.
func (e *Evidence) told(x *edits, t urls.Settled) (ids []uint32) {
	if !e.Job.Sitemaps || len(x.lists) == 0 || e.trust[urls.ByEdits].Changes < leastEdits ||
		!e.Believes(urls.ByEdits) {
		return nil
	}
	r := t.Reader()
	for id := range uint32(len(x.looked)) {
		if x.upToDate(id) && x.origins[r.URL(id).Origin()] {
			ids = append(ids, id)
		}
	}
	return ids
}

// AddTold lets lists of changes that show no edit count as evidence. No worker may run.
func (e *Evidence) AddTold() {
	if x := &e.Sources.edits; x.showsNone(e.Table) {
		e.unchanged[urls.ByEdits] = e.Table.NotQueued(e.told(x, e.Table.Settled()))
	}
}

// learnEdits learns from this run whether the lists show what changes. No worker may run.
func (e *Evidence) learnEdits() {
	x, t := &e.Sources.edits, e.Table
	asked, shown := false, false
	for _, id := range x.lists {
		s := t.State(id).Seen()
		asked, shown = asked || s&urls.Asked != 0, shown || s&urls.Changed != 0
	}
	if !asked {
		return
	}
	for id := range uint32(len(x.looked)) {
		if x.upToDate(id) && t.State(id).Seen()&urls.Changed != 0 {
			e.trust[urls.ByEdits].found(shown, editsMemory)
			e.learned = true
			return
		}
	}
}

// Unchanged returns the URLs that need not be requested by what was said so far. No worker may run.
func (e *Evidence) Unchanged() []uint32 { return slices.Concat(e.unchanged[:]...) }

// Audits are URLs that are requested although evidence says that they need not be, by its kind.
type Audits [urls.EvidenceKinds][]uint32

// Audits of a run: of the resources that a kind of evidence covers.
const (
	leastAudits = 3
	auditShare  = 500 // one of so many
	mostAudits  = 25
)

// doubts returns what share of the changes a kind of evidence hides, when there is a plan that weighs what it
// does not show; 0 when it is to be believed, or not at all.
func (e *Evidence) doubts(k urls.EvidenceKind) float64 {
	if (k != urls.BySitemap && k != urls.ByEdits) || !e.Believes(k) || !e.Plan.Weighs() {
		return 0
	}
	return e.trust[k].hides()
}

// TrustToKeep is to be stored as TrustFact at the end of the run; nil when nothing was learned. No worker may
// run.
func (e *Evidence) TrustToKeep() ([]byte, error) {
	e.learnEdits()
	if !e.learned {
		return nil, nil
	}
	return json.Marshal(e.trust)
}

// PickAudits picks the audits of a kind of evidence in a stage. They must enter the frontier before those of
// the next kind are picked. No worker may run.
func (e *Evidence) PickAudits(k urls.EvidenceKind) []uint32 {
	slices.Sort(e.unchanged[k])
	// a sitemap may name a page a thousand times
	e.unchanged[k] = e.Table.NotQueued(slices.Compact(e.unchanged[k]))
	if e.doubts(k) > 0 { // what the plan requests is audit enough
		return nil
	}
	return e.audits(k, e.unchanged[k])
}

// audits picks some of ids: others in every run.
func (e *Evidence) audits(k urls.EvidenceKind, ids []uint32) []uint32 {
	tried := &e.tried[k]
	n := min(max(leastAudits-*tried, 0)+len(ids)/auditShare, mostAudits-*tried, len(ids))
	*tried += n
	return drawn(ids, e.Run, n, e.Plan.Key)
}

// Covered is a URL that need not be requested.
type Covered struct {
	ID   uint32
	Kind urls.EvidenceKind // that says so
}

// Decide judges the kinds of evidence by their audits, and returns what need not be requested. Of a kind that
// hid a change that is nothing, and it is not believed for some runs; a sitemap beside a plan that weighs is
// believed as far as it showed changes so far. trust is to be stored as TrustFact
// then; else it is nil. No worker may run.
func (e *Evidence) Decide(picked Audits) (covered []Covered, caught []Caught, trust []byte, err error) {
	for k := range urls.EvidenceKinds {
		u, changed := e.changed(picked[k])
		if hidden := e.doubts(k); hidden > 0 {
			if changed {
				caught = append(caught, Caught{Kind: k, URL: u, Note: doubtedNote})
			}
			e.Plan.Doubt(e.unchanged[k], hidden)
			continue
		}
		if changed {
			caught = append(caught, Caught{Kind: k, URL: u, Note: e.trust.distrust(k, e.Run)})
			continue
		}
		for _, id := range e.unchanged[k] {
			covered = append(covered, Covered{ID: id, Kind: k})
		}
	}
	if len(caught) > 0 {
		trust, err = json.Marshal(e.trust)
	}
	return covered, caught, trust, err
}

// changed returns an audited resource that has changed.
func (e *Evidence) changed(ids []uint32) (site.URL, bool) {
	for _, id := range ids {
		if u, s := e.Table.Get(id); s.Outcome() == site.Fetched && s.Answered() {
			return u, true
		}
	}
	return site.URL{}, false
}

// UnchangedBy makes the outcome of a URL that evidence covers: unchanged, without a request.
func UnchangedBy(rec record.Resource, k urls.EvidenceKind, now time.Time) *urls.Finding {
	rec.Outcome, rec.Status, rec.Reason, rec.Checked = site.Unchanged, 0, reasonOf(k), now.Unix()
	rec.Observe(false)
	return urls.FindingOf(&rec, urls.Account{Tally: urls.AsSpared << k})
}

// reasonOf is what explain says of a request that was not made.
func reasonOf(k urls.EvidenceKind) string {
	return [...]string{
		"skipped: its directory listing shows the same time and size",
		"skipped: the sitemap shows the same lastmod",
		"skipped: its lifetime has not ended",
		"skipped: the list of changes shows none",
	}[k]
}

// statement is what a source says of a URL.
type statement struct {
	kind    urls.EvidenceKind
	id      uint32
	text    string
	settled bool                        // a change that comes now would show
	agrees  func(*record.Resource) bool // with the record; nil: it always does
}

// hear takes a statement. In a stage of sources it decides whether the URL need not be requested. An
// unsettled statement covers nothing and is not remembered. When the source says something else than
// before, a plan gets a hint.
func (e *Evidence) hear(s statement) error {
	hash := max(xxh3.HashString(s.kind.String()+s.text), 1)
	if s.settled {
		e.note(s.kind, s.id, hash)
	}
	trusted := s.settled && e.Believes(s.kind)
	if !e.first || (!trusted && e.Plan == nil) {
		return nil
	}
	u, is := e.Table.Get(s.id)
	if !is.InSet() || is.Queued() || is.Outcome() == site.Failed {
		return nil
	}
	rec, ok, err := e.Records.Get(u)
	if err != nil || !ok {
		return err
	}
	same := rec.Evidence[s.kind] == hash && (s.agrees == nil || s.agrees(&rec))
	switch {
	case same && trusted:
		e.mu.Lock()
		defer e.mu.Unlock()
		e.unchanged[s.kind] = append(e.unchanged[s.kind], s.id)
	case !same && e.Plan != nil && rec.Evidence[s.kind] != 0:
		e.Plan.Hint(s.id, s.kind)
	}
	return nil
}

// HearListing takes a directory listing as evidence.
func (e *Evidence) HearListing(l *listing.Listing, dir site.URL) error {
	if !e.Job.Listings {
		return nil
	}
	asked := e.Now()
	for _, x := range l.Entries {
		if err := e.hearEntry(x, asked); err != nil {
			return fmt.Errorf("listing %s: %w", dir, err)
		}
	}
	return nil
}

func (e *Evidence) hearEntry(x listing.Entry, asked time.Time) error {
	if x.Dir {
		return e.hearDirectory(x, asked)
	}
	text := x.Evidence()
	if text == "" {
		return nil
	}
	id, ok := e.Table.FindURL(x.URL)
	if !ok {
		return nil
	}
	return e.hear(statement{
		kind:    urls.ByListing,
		id:      id,
		text:    text,
		settled: x.Settled(asked),
		agrees: func(rec *record.Resource) bool {
			var m time.Time
			if rec.Modified > 0 {
				m = time.Unix(rec.Modified, 0).UTC()
			}
			return x.Agrees(m, rec.Size)
		},
	})
}

// hearDirectory takes what a listing says of a directory: its time, which moves when entries come and go.
// That it did not move says nothing. That it did is a reason to request the directory's own listing.
func (e *Evidence) hearDirectory(x listing.Entry, asked time.Time) error {
	if x.Precision == listing.TimeUnknown {
		return nil
	}
	id, ok := e.Table.FindURL(x.URL)
	if !ok {
		return nil
	}
	hash := max(xxh3.HashString("directory "+x.Modified.UTC().Format(time.RFC3339)), 1)
	if x.Settled(asked) {
		e.note(urls.ByListing, id, hash)
	}
	if !e.decides() || e.Table.State(id).Queued() || !e.Sources.Listings.Has(id) {
		return nil
	}
	rec, ok, err := e.Records.Get(x.URL)
	if was := rec.Evidence[urls.ByListing]; err == nil && ok && was != 0 && was != hash {
		e.Plan.Want(id)
	}
	return err
}

// decides reports whether the sources are being requested, and a plan decides which listings are.
func (e *Evidence) decides() bool { return e.first && e.Plan.DecidesListings() }

// HearMissing takes note of what a listing named before and no longer does: it is requested, so that its
// removal is found. named are the numbers of what it names now, or negative.
func (e *Evidence) HearMissing(id uint32, named []int64) error {
	if !e.decides() {
		return nil
	}
	targets, err := e.Records.TargetsOf(id)
	if err != nil {
		return err
	}
	now := make(map[uint32]bool, len(named))
	for _, n := range named {
		if n >= 0 {
			now[uint32(n)] = true
		}
	}
	before := func(yield func(uint32) bool) { record.Targets(targets, yield) }
	var gone []uint32
	e.Table.Each(iter.Seq[uint32](before), func(to uint32, s urls.State, _ site.URL) {
		if !now[to] && s.Governed() && !s.Queued() {
			gone = append(gone, to)
		}
	})
	for _, to := range gone {
		if e.Sources.Listings.Has(to) {
			e.Plan.Want(to)
		} else {
			e.Plan.Hint(to, urls.ByListing)
		}
	}
	return nil
}

// HearSitemap takes a sitemap as evidence.
func (e *Evidence) HearSitemap(list relocate.SitemapList, base site.URL) error {
	if !e.Job.Sitemaps {
		return nil
	}
	now := e.Now()
	for _, x := range list.Entries {
		at, ok := x.Time()
		if !ok {
			continue
		}
		// A change after now must show: not on the day that a mere date names, nor in the same minute.
		settles := time.Minute
		if len(x.LastMod) <= len("2006-01-02") {
			settles = 48 * time.Hour
		}
		u, _, err := base.Resolve(x.Loc)
		if err != nil {
			continue
		}
		id, ok := e.Table.FindURL(u)
		if !ok {
			continue
		}
		err = e.hear(statement{
			kind:    urls.BySitemap,
			id:      id,
			text:    x.LastMod,
			settled: now.Sub(at) >= settles,
		})
		if err != nil {
			return fmt.Errorf("sitemap %s: %w", base, err)
		}
	}
	return nil
}

// HearChanges takes a list of changes: what it names was edited when it says, so that what was looked at
// before may have changed.
func (e *Evidence) HearChanges(list relocate.SitemapList, base site.URL) error {
	if e.Plan == nil || !e.first {
		return nil
	}
	for _, x := range list.Entries {
		at, ok := x.Time()
		u, _, err := base.Resolve(x.Loc)
		if err != nil || !ok {
			continue
		}
		id, ok := e.Table.FindURL(u)
		if !ok {
			continue
		}
		if is := e.Table.State(id); !is.InSet() || is.Queued() {
			continue
		}
		rec, ok, err := e.Records.Get(u)
		if err != nil {
			return fmt.Errorf("list of changes %s: %w", base, err)
		}
		if ok && rec.Checked < at.Unix() {
			e.Plan.Hint(id, urls.ByEdits)
		}
	}
	return nil
}
