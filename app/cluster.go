// SPDX-License-Identifier: Apache-2.0

package app

import (
	"sync/atomic"
	"time"

	"mirrord/scheduler"
	"mirrord/store"
)

// Peers is what a daemon asks that is one of several. *engine.Engine is one. Safe for concurrent use.
type Peers interface {
	// Want sets the sites that the cluster runs, by name, with their main hosts; here are those that lie on this
	// machine.
	Want(sites map[string]string, here []string)
	// Shared returns the hosts whose sites this daemon runs.
	Shared() map[string]bool
	// Changed receives when Shared may be another one.
	Changed() <-chan struct{}
	// Turn is fetch.Hosts.Beyond.
	Turn(host string, now time.Time) (again time.Time)
}

// share is the part of the jobs that a daemon of a cluster runs. nil is all of them.
type share struct {
	cluster Peers
	st      *store.State
	whole   atomic.Pointer[scheduler.Config] // the jobs of all
}

// of returns the jobs of a configuration that are this daemon's. A file that is refused is everybody's.
func (s *share) of(all scheduler.Config) scheduler.Config {
	if s == nil {
		return all
	}
	s.whole.Store(&all)
	hosts := make(map[string]string, len(all))
	for name, e := range all {
		if e.Job != nil {
			hosts[name] = mainHost(e)
		}
	}
	here, err := s.st.Sites()
	if err != nil {
		here = nil // each run says so
	}
	s.cluster.Want(hosts, here)
	mine := s.cluster.Shared()
	out := scheduler.Config{}
	for name, e := range all {
		if e.Job == nil || mine[hosts[name]] {
			out[name] = e
		}
	}
	return out
}

// mainHost is what the jobs of a cluster are shared out by: one machine makes the requests of all jobs of a
// registrable domain.
func mainHost(e *scheduler.Entry) string {
	seeds := e.Job.Seeds()
	if len(seeds) == 0 {
		return "job:" + e.Name
	}
	return seeds[0].RegistrableDomain()
}

// sharedRecords are the records of a daemon of a cluster: one of a job that another daemon runs now stays.
type sharedRecords struct {
	records
	share *share
}

// SaveRecords implements scheduler.Store.
func (r sharedRecords) SaveRecords(recs map[string]*scheduler.Record) error {
	all := r.share.whole.Load()
	out := make(map[string]*scheduler.Record, len(recs))
	for name, rec := range recs {
		if rec == nil && (all == nil || (*all)[name] != nil) {
			continue
		}
		out[name] = rec
	}
	return r.records.SaveRecords(out)
}
