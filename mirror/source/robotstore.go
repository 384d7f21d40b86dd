// SPDX-License-Identifier: Apache-2.0

package source

import (
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/store"
)

// HostFacts keeps robots.txt of origins. Its methods may be called from several goroutines.
type HostFacts interface {
	// LoadHost returns the facts of an origin; ok is false without any.
	LoadHost(origin string) (f store.HostFact, ok bool, err error)
	// SaveHost replaces them.
	SaveHost(origin string, f store.HostFact) error
}

// freshRobots is how old a copy of a robots.txt may be in a run that requests everything, in all cases.
const freshRobots = time.Minute

// NewRobots makes the robots cache of a job.
func NewRobots(j *job.Job, c *fetch.Client, s fetch.RobotsStore) *fetch.RobotsCache {
	life := time.Duration(0) // the longest
	if j.All {
		life = freshRobots
	}
	return fetch.NewRobotsCache(c, fetch.RobotsOptions{
		Agent: job.ProductToken(j.Polite.UserAgent),
		TTL:   life,
		Store: s,
		Delay: j.Polite.Delay,
	})
}

// robotsStore keeps robots.txt of origins where all sites have it.
type robotsStore struct{ s HostFacts }

// NewRobotsStore returns the store of robots.txt that robots caches share.
func NewRobotsStore(s HostFacts) fetch.RobotsStore { return robotsStore{s} }

func (r robotsStore) LoadRobots(origin string) (fetch.RobotsRecord, bool, error) {
	f, ok, err := r.s.LoadHost(origin)
	return fetch.RobotsRecord{
		Origin:  origin,
		Status:  f.Status,
		Body:    f.Body,
		Fetched: f.Fetched,
		ETag:    f.ETag,
	}, ok, err
}

func (r robotsStore) SaveRobots(rec fetch.RobotsRecord) error {
	return r.s.SaveHost(rec.Origin, store.HostFact{
		Fetched: rec.Fetched,
		Status:  rec.Status,
		Body:    rec.Body,
		ETag:    rec.ETag,
	})
}

var (
	_ Robots    = (*fetch.RobotsCache)(nil)
	_ HostFacts = (*store.State)(nil)
)
