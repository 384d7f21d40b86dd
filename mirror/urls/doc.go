// SPDX-License-Identifier: Apache-2.0

// Package urls holds what a run knows of URLs. Each URL that was ever admitted has a number, and a number
// has a state: its outcome, whether it is in the mirror, whether it entered the frontier, what the run found
// out about it, its type and its mirror path.
//
//   - Table may be used by many goroutines at once. Each method that changes something does one whole step of
//     a run: Admit gives a URL its number, Mark decides about many URLs at once and lets those enter the
//     frontier that did not, Record writes what became of one. A State is a value: it says what was known
//     when it was read.
//   - Settled is the same table without the lock, for the stretches of a run in which no worker runs: loading
//     and planning before the first request, the verdict, names and publication after the last one. Fill
//     loads what a site has stored.
//   - Traits, Variants, Provenance, Counts and Notes are what a run knows beside the table.
//   - A Finding is what one answer taught; a Committer makes findings permanent.
//
// Locks are private to the types; those of Traits, Variants and Notes may be taken while a Table waits. What
// a record means is for the caller and package store.
package urls
