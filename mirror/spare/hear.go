// SPDX-License-Identifier: Apache-2.0

package spare

import (
	"fmt"
	"iter"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/listing"
	"mirrord/mirror/ledger"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// statement is what a source says of a URL.
type statement struct {
	kind    ledger.EvidenceKind
	id      uint32
	text    string
	settled bool                       // a change that comes now would show
	agrees  func(*store.Resource) bool // with the record; nil: it always does
}

// hear takes a statement. In a stage of sources it decides whether the URL need not be requested. What is not
// settled covers nothing and is not remembered. When the source says something else than before, a plan gets
// a hint.
func (e *Evidence) hear(s statement) error {
	hash := max(xxh3.HashString(s.kind.String()+s.text), 1)
	if s.settled {
		e.note(s.kind, s.id, hash)
	}
	trusted := s.settled && e.Believes(s.kind)
	if !e.first || (!trusted && e.o.Plan == nil) {
		return nil
	}
	u, is := e.o.Table.Get(s.id)
	if !is.InSet() || is.Queued() || is.Outcome() == site.Failed {
		return nil
	}
	rec, ok, err := e.o.Records.Get(u)
	if err != nil || !ok {
		return err
	}
	same := rec.Evidence[s.kind] == hash && (s.agrees == nil || s.agrees(&rec))
	switch {
	case same && trusted:
		e.mu.Lock()
		defer e.mu.Unlock()
		e.unchanged[s.kind] = append(e.unchanged[s.kind], s.id)
	case !same && e.o.Plan != nil && rec.Evidence[s.kind] != 0:
		e.o.Plan.Hint(s.id)
	}
	return nil
}

// HearListing takes a directory listing as evidence.
func (e *Evidence) HearListing(l *listing.Listing, dir site.URL) error {
	if !e.o.Job.Listings {
		return nil
	}
	asked := e.o.Now()
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
	id, ok := e.o.Table.Find([]byte(x.URL.String()))
	if !ok {
		return nil
	}
	return e.hear(statement{
		kind:    ledger.ByListing,
		id:      id,
		text:    text,
		settled: x.Settled(asked),
		agrees: func(rec *store.Resource) bool {
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
	id, ok := e.o.Table.Find([]byte(x.URL.String()))
	if !ok {
		return nil
	}
	hash := max(xxh3.HashString("directory "+x.Modified.UTC().Format(time.RFC3339)), 1)
	if x.Settled(asked) {
		e.note(ledger.ByListing, id, hash)
	}
	if !e.decides() || e.o.Table.State(id).Queued() || !e.o.Sources.Listings.Has(id) {
		return nil
	}
	rec, ok, err := e.o.Records.Get(x.URL)
	if was := rec.Evidence[ledger.ByListing]; err == nil && ok && was != 0 && was != hash {
		e.o.Plan.Want(id)
	}
	return err
}

// decides reports whether the sources are being requested, and a plan decides which listings are.
func (e *Evidence) decides() bool { return e.first && e.o.Plan.DecidesListings() }

// HearMissing takes note of what a listing named before and does not any more: it is requested, so that what
// is gone is found. named are the numbers of what it names now, or negative.
func (e *Evidence) HearMissing(id uint32, named []int64) error {
	if !e.decides() {
		return nil
	}
	targets, err := e.o.Records.TargetsOf(id)
	if err != nil {
		return err
	}
	now := make(map[uint32]bool, len(named))
	for _, n := range named {
		if n >= 0 {
			now[uint32(n)] = true
		}
	}
	before := func(yield func(uint32) bool) { store.Targets(targets, yield) }
	var gone []uint32
	e.o.Table.Each(iter.Seq[uint32](before), func(to uint32, s ledger.State, _ site.URL) {
		if !now[to] && s.Governed() && !s.Queued() {
			gone = append(gone, to)
		}
	})
	for _, to := range gone {
		if e.o.Sources.Listings.Has(to) {
			e.o.Plan.Want(to)
		} else {
			e.o.Plan.Hint(to)
		}
	}
	return nil
}

// HearSitemap takes a sitemap as evidence.
func (e *Evidence) HearSitemap(list relocate.SitemapList, base site.URL) error {
	if !e.o.Job.Sitemaps {
		return nil
	}
	now := e.o.Now()
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
		id, ok := e.o.Table.Find([]byte(u.String()))
		if !ok {
			continue
		}
		err = e.hear(statement{
			kind:    ledger.BySitemap,
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
