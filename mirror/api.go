// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"log/slog"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/finish"
	"mirrord/mirror/frontier"
	"mirrord/mirror/scope"
	"mirrord/store/record"
	"mirrord/store/shared"

	"mirrord/mirror/result"
	"mirrord/mirror/run"
	"mirrord/mirror/source"
	"mirrord/replica/hosts"
	"mirrord/store"
)

// What a run works with, as package run has it.
type (
	Options = run.Options
	Facts   = run.Facts
)

// The results of a run, as package result has them.
type (
	Summary = result.Summary
	Verdict = result.Verdict
	Note    = result.Note
)

// The verdicts.
const (
	Complete   = result.Complete
	Gaps       = result.Gaps
	Partial    = result.Partial
	Suspicious = result.Suspicious
)

// TakeDowns is what was taken out of a mirror for good, as package scope has it.
type TakeDowns = scope.TakeDowns

// SaysNothing reports whether a page has no text of its own, and runs scripts.
func SaysNothing(page *record.Resource) bool { return result.Cut(page.Cut)&result.SaysNothing != 0 }

// Bytes writes a number of bytes for a person, in powers of 1000.
func Bytes(n int64) string { return result.Bytes(n) }

// Mend is finish.Site.
func Mend(ctx context.Context, st *store.State, s *store.Site, drop bool) (finish.SiteRepairs, error) {
	return finish.Site(ctx, st, s, drop)
}

// Hosts is the politeness of hosts, shared over all runs of the process.
type Hosts = frontier.Hosts

// SharedTurn is the turn of a run among the other runs of the process, as package crawl has it.
type SharedTurn = frontier.SharedTurn

// What a run gets its answers by, as package source has it.
type (
	Fetcher = source.Fetcher
	Robots  = source.Robots
	World   = source.Surroundings
)

// NewClient makes the client of a job. An error names the key of the job file that is at fault.
func NewClient(j *job.Job, w World, log *slog.Logger) (*fetch.Client, error) {
	return source.NewClient(j, w, log)
}

// NewRobots makes the robots cache of a job.
func NewRobots(j *job.Job, c *fetch.Client, s fetch.RobotsStore) *fetch.RobotsCache {
	return source.NewRobots(j, c, s)
}

// PairOf makes a record of a verdict on two base URLs.
func PairOf(v *hosts.PairVerdict, base1, base2 string, tested time.Time) shared.PairRecord {
	return source.PairOf(v, base1, base2, tested)
}

// KeepPair keeps the result of a test of two base URLs. One without a decision does not replace a decision
// that is still valid.
func KeepPair(st source.PairFacts, p shared.PairRecord) error { return source.KeepPair(st, p) }

// VerifiedSince returns since when everything in the mirror has been looked at, or vouched for by evidence;
// zero when nothing is in it.
func VerifiedSince(s *store.Site) (time.Time, error) { return finish.VerifiedSince(s) }

// Thin drops the versions of a site that its job's keep rule does not want, and returns their numbers. With
// dry they stay. What they alone held is still on the disk: store.Site.Compact and store.State.CollectBlobs
// give it back. No run may be under way.
func Thin(j *job.Job, s *store.Site, now time.Time, dry bool) ([]int, error) {
	return finish.Thin(j, s, now, dry)
}

// TrimTrees removes trees of older versions of a site that are more than its job wants, once their grace is
// over. With dry they stay. No run may be under way.
func TrimTrees(j *job.Job, s *store.Site, dry bool) error {
	if dry {
		return nil
	}
	return finish.TrimTrees(j, s)
}

// SizesOf returns what a mirror took on the disk when it was measured last, by a run; nil when it never was.
func SizesOf(st *store.State, name string) (*store.Sizes, error) { return finish.SizesOf(st, name) }
