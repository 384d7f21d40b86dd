// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"fmt"
	"sync/atomic"

	"mirrord/internal/volatile"
	"mirrord/relocate"
	"mirrord/scheduler/status"
	"mirrord/store/record"
)

// EvidenceKind is a source of evidence that a resource has not changed. The first SpokenKinds are indices
// into record.Resource.Evidence.
type EvidenceKind int

// The kinds of evidence.
const (
	ByListing EvidenceKind = iota
	BySitemap
	ByExpiry
	ByEdits // the list of changes of a program
	EvidenceKinds
	SpokenKinds = ByExpiry // of which another source says something: record.Resource.Evidence
)

func (k EvidenceKind) String() string { return [...]string{"listing", "sitemap", "expiry", "edits"}[k] }

// guessCounts count addresses in scripts.
type guessCounts struct{ Guesses, GuessGone, GuessFound atomic.Int64 }

// sameCounts are counts of unchanged URLs: those that evidence spared, and pages with noise.
type sameCounts struct {
	Spared [EvidenceKinds]atomic.Int64
	Noise  [volatile.Kinds]atomic.Int64 // see Account.Noise
}

// Counts are counted by workers as they go. The zero value is ready.
type Counts struct {
	guessCounts
	sameCounts

	Requests, Fetched, Unchanged, Redirected, Gone, Failed atomic.Int64
	Disallowed, Trapped, Refused                           atomic.Int64
	FirstGone                                              atomic.Int64 // AsFirstGone
	Other                                                  atomic.Int64 // requests that no count above has
	SameText, NearText                                     atomic.Int64 // pages that say what another page says
	Bytes, Wire                                            atomic.Int64
	Coming                                                 atomic.Int64 // bytes of bodies, while they come
	TreeWait                                               atomic.Int64 // until then, Unix nanoseconds
	// what the mirror would have now: resources, bytes
	Files, Held                                   atomic.Int64
	Relocated, RelocateDone, RelocateTotal, Phase atomic.Int64
}

// Done is how many URLs were answered.
func (s *Counts) Done() int64 {
	return s.Fetched.Load() + s.Unchanged.Load() + s.Redirected.Load() + s.Gone.Load() + s.Failed.Load() +
		s.Refused.Load() + s.FirstGone.Load()
}

// Phase is what a run is doing.
type Phase uint8

// The phases.
const (
	Retrieving Phase = iota
	Relocating
	Publishing
)

// String returns the phase as reports of a run name it.
func (p Phase) String() string {
	switch p {
	case Relocating:
		return status.Relocating
	case Publishing:
		return status.Publishing
	}
	return status.Retrieving
}

// Hold counts what the mirror would have with, or without, some resources.
func (s *Counts) Hold(r Room) {
	s.Files.Add(r.Files)
	s.Held.Add(r.Bytes)
}

// Room is what resources take of the mirror. A negative Room is given back.
type Room struct{ Files, Bytes int64 }

// RoomOf is what one resource takes.
func RoomOf(rec *record.Resource) Room { return Room{Files: 1, Bytes: rec.Size} }

// Add returns the room that two findings take together.
func (r Room) Add(o Room) Room { return Room{Files: r.Files + o.Files, Bytes: r.Bytes + o.Bytes} }

// Neg returns the room that is given back.
func (r Room) Neg() Room { return Room{Files: -r.Files, Bytes: -r.Bytes} }

// Finding is what one answer, or one decision, taught of a URL: its record and links, and how the run
// accounts for it. The reader of an answer makes a Finding; apply writes it.
type Finding struct {
	record.Done
	As Account
}

// FindingOf returns the finding of a record whose links stay as they are.
func FindingOf(rec *record.Resource, as Account) *Finding {
	return &Finding{Done: record.Done{Resource: *rec}, As: as}
}

// WithoutLinks returns the finding of a record that has no links now.
func WithoutLinks(rec *record.Resource, as Account) *Finding {
	return &Finding{Done: record.Done{Resource: *rec, Linked: true}, As: as}
}

// Account says how a run accounts for a finding: in its counts, its notes, and in what it knows of the
// origin.
type Account struct {
	Tally    Tally
	Noise    volatile.Kind // of what differs in a page that counts as unchanged; 0: nothing does
	Failed   string        // why the URL is listed among the failures; "" when it is not
	Lost     bool          // the origin failed to give the URL: one more of the origin's troubles
	Refused  bool          // a failure that another request will not mend, and no trouble of the origin
	Stale    bool          // the validators stayed the same although the body changed
	Bytes    int64         // of the body that came
	Room     Room          // how much more the mirror has with this finding
	Reserved bool          // Room was counted before the links of the document were followed
	Notes    []string      // kinds of notes under which the summary lists the URL
	// Disallowed are the records of new URLs that the document names and robots.txt forbids.
	Disallowed []record.Resource
	// Needed are URLs outside of the mirror that the document needs to be shown, which had not been noted.
	// Reopened are such that this run left out because of their types: the table took their outcomes back.
	Needed, Reopened []uint32
}

// Tally says under which counts a finding comes. A stored document that is scanned again under new rules
// comes under two.
type Tally uint16

const (
	AsFetched Tally = 1 << iota
	AsUnchanged
	AsRedirected
	AsGone
	AsDisallowed
	AsTrapped
	AsFailed      // limits.max_failures counts it
	AsRefused     // a failure that does not spoil the run
	AsNotRedirect // it came under AsRedirected earlier in this run, and no longer does
	AsSameText    // a page with the words of another page
	AsNearText    // a page with the words of another page but for numbers, tokens and its address
	AsFirstGone   // a first 404 or 410 of something that the mirror has
	AsSpared      // by evidence: shifted by the kind, so it stays the last
)

// outcomes are the counts of which each request comes under one, unless it comes under Counts.Other.
const outcomes = AsFetched | AsUnchanged | AsRedirected | AsGone | AsFailed | AsRefused | AsFirstGone

// CountOther counts a request whose finding comes under none of the counts of outcomes. nil: the URL
// is requested again.
func (s *Counts) CountOther(f *Finding) {
	if (f == nil) || (f.As.Tally&outcomes == 0) {
		s.Other.Add(1)
	}
}

// CountAside counts a request that is made beside those of the frontier.
func (s *Counts) CountAside() {
	s.Requests.Add(1)
	s.Other.Add(1)
}

// Account adds a finding to the counts.
func (s *Counts) Account(a *Account) {
	s.Count(a.Tally)
	s.Bytes.Add(a.Bytes)
	if a.Noise > 0 {
		s.Noise[a.Noise].Add(1)
	}
	if !a.Reserved {
		s.Hold(a.Room)
	}
}

// Count adds a finding to the counts that its tally names.
func (s *Counts) Count(a Tally) { s.count(a, 1) }

// TakeBack takes a finding out of the counts that its tally names: its URL is requested again.
func (s *Counts) TakeBack(a Tally) { s.count(a, -1) }

func (s *Counts) count(a Tally, n int64) {
	for _, c := range [...]struct {
		as Tally
		n  *atomic.Int64
		by int64
	}{
		{AsFetched, &s.Fetched, 1},
		{AsUnchanged, &s.Unchanged, 1},
		{AsRedirected, &s.Redirected, 1},
		{AsGone, &s.Gone, 1},
		{AsDisallowed, &s.Disallowed, 1},
		{AsTrapped, &s.Trapped, 1},
		{AsFailed, &s.Failed, 1},
		{AsRefused, &s.Refused, 1},
		{AsNotRedirect, &s.Redirected, -1},
		{AsSameText, &s.SameText, 1},
		{AsNearText, &s.NearText, 1},
		{AsFirstGone, &s.FirstGone, 1},
	} {
		if a&c.as != 0 {
			c.n.Add(n * c.by)
		}
	}
	for k := range EvidenceKinds {
		if a&(AsSpared<<k) != 0 {
			s.Spared[k].Add(n)
		}
	}
}

// Unlinked is the reason of a resource, or redirect, that left the mirror because nothing links to it.
const Unlinked = "nothing in the mirror links to it any more"

// KeptReason is why a resource is missing that stays although the site answers with a status instead of it.
func KeptReason(status int) string {
	return fmt.Sprintf("kept although the site answers with status %d", status)
}

// Leave takes a resource, or a redirect, out of the mirror, and returns how the room that the mirror takes
// changes. version is the one that the run works for. The body stays in the packs and in the history.
func Leave(rec *record.Resource, version int) (room Room) {
	if rec.InSet {
		room = RoomOf(rec).Neg()
	}
	if rec.InSet || rec.Target != 0 {
		rec.InSet, rec.Target, rec.Fragment, rec.Moved = false, 0, "", version
	}
	return room
}

// IsSitemap reports whether a record is that of a sitemap that robots.txt or an index named. Its body is a
// blob; a sitemap that a page links to is a document like any other, in a pack.
func IsSitemap(rec *record.Resource) bool {
	return rec.Format == uint8(relocate.Sitemap) && rec.Body == record.BlobBody
}
