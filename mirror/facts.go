// SPDX-License-Identifier: Apache-2.0

package mirror

import "mirrord/store"

// What the sites of a state share is not in the folder of any of them. A *store.State keeps all of it; losing it costs requests, never a mirror.

// RunLog is what the runs of all sites came to. Its methods may be called from several goroutines.
type RunLog interface {
	// AddRun appends a run. The log may forget the oldest ones of a site.
	AddRun(store.RunRecord) error
	// Runs returns the last n runs of a site, newest first; none of a site that never ran.
	Runs(site string, n int) ([]store.RunRecord, error)
}

// PairFacts is what testing two base URLs for being replicas came to. Its methods may be called from several goroutines.
type PairFacts interface {
	// SavePair keeps what a test came to, in the place of an earlier one of the same URLs in the same order.
	SavePair(store.PairRecord) error
	// LoadPair returns the last test of two base URLs in this order; ok is false when there was none.
	LoadPair(base1, base2 string) (p store.PairRecord, ok bool, err error)
	// Pairs lists all that were tested, by base URLs.
	Pairs() ([]store.PairRecord, error)
}

// Facts is what a run reads and writes of what the sites share.
type Facts interface {
	RunLog
	PairFacts
}

// HostFacts keeps robots.txt of origins. Its methods may be called from several goroutines.
type HostFacts interface {
	// LoadHost returns what is known of an origin; ok is false when nothing is.
	LoadHost(origin string) (f store.HostFact, ok bool, err error)
	// SaveHost keeps it, in the place of what was known.
	SaveHost(origin string, f store.HostFact) error
}

var (
	_ Facts     = (*store.State)(nil)
	_ HostFacts = (*store.State)(nil)
)
