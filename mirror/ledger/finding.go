// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"sync/atomic"

	"mirrord/store"
)

// EvidenceKind is a source of evidence that a resource has not changed. The first SpokenKinds are indices into store.Resource.Evidence.
type EvidenceKind int

// The kinds of evidence.
const (
	ByListing EvidenceKind = iota
	BySitemap
	ByExpiry
	EvidenceKinds
	SpokenKinds = ByExpiry // of which something is said by somebody else: store.Resource.Evidence
)

func (k EvidenceKind) String() string { return [...]string{"listing", "sitemap", "expiry"}[k] }

// Counts are counted by workers as they go. The zero value is ready.
type Counts struct {
	Spared [EvidenceKinds]atomic.Int64

	Requests, Fetched, Unchanged, Redirected, Gone, Failed atomic.Int64
	Disallowed, Trapped, Refused                           atomic.Int64
	Guesses, GuessGone, GuessFound                         atomic.Int64 // addresses in scripts
	SameText, NearText                                     atomic.Int64 // pages that say what another page says
	Bytes, Wire                                            atomic.Int64
	Files, Held                                            atomic.Int64 // what the mirror would have now: resources, bytes
	Relocated, RelocateDone, RelocateTotal, Phase          atomic.Int64
}

// Finding is what one answer, or one decision, taught of a URL: its record and links, and what the summary says of it. Whoever reads an answer
// makes one; apply writes it.
type Finding struct {
	store.Done
	As Account
}

// Account is what the summary says of a finding.
type Account struct {
	Tally  Tally
	Failed string // why the URL counts among those that failed; "" when it does not
}

// Tally says under which counts a finding comes. A stored document that is scanned again under new rules comes under two.
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
	AsNotRedirect // it came under AsRedirected earlier in this run, and does not any more
	AsSpared      // by evidence: shifted by the kind, so it stays the last
)

// Count adds a finding to the counts.
func (s *Counts) Count(a Tally) {
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
	} {
		if a&c.as != 0 {
			c.n.Add(c.by)
		}
	}
	for k := range EvidenceKinds {
		if a&(AsSpared<<k) != 0 {
			s.Spared[k].Add(1)
		}
	}
}
