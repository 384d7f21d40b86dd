// SPDX-License-Identifier: Apache-2.0

package fetch

import "time"

// HostState is one host as [Hosts.Snapshot] shows it.
type HostState struct {
	Host       string
	InFlight   int
	Jobs       []string      // that have requests under way
	Waiting    []string      // jobs that asked in vain just now
	Next       time.Time     // earliest next start
	Gap        time.Duration // under the strictest rule in force, the longest of its origins
	CrawlDelay time.Duration
	Penalty    time.Duration // the longest of the host and its origins
	Response   time.Duration // moving average
	Usual      time.Duration // what it is measured against
	Requests   int64
	Failures   int64
	Bytes      int64
	Seen       time.Time
}

func (s *host) snapshot(name string) HostState {
	next := s.next
	if s.notBefore.After(next) {
		next = s.notBefore
	}
	eff := Politeness{}.withDefaults()
	for i := range s.rules {
		eff = strictest(eff, s.rules[i].p)
	}
	most := s.penalty.gap
	for _, o := range s.origins {
		most = max(most, o.penalty.gap)
	}
	var jobs, waiting []string
	for i := range s.rules {
		switch r := &s.rules[i]; {
		case r.inFlight > 0:
			jobs = append(jobs, r.given.By)
		case r.awaited.Add(keepTurn).After(s.seen):
			waiting = append(waiting, r.given.By)
		}
	}
	return HostState{
		Host:       name,
		InFlight:   s.inFlight,
		Jobs:       jobs,
		Waiting:    waiting,
		Next:       next,
		Gap:        max(s.gap(eff), min(most, eff.MaxDelay)),
		CrawlDelay: s.crawlDelay,
		Penalty:    most,
		Response:   time.Duration(s.fast),
		Usual:      time.Duration(s.base),
		Requests:   s.requests,
		Failures:   s.failures,
		Bytes:      s.bytes,
		Seen:       s.seen,
	}
}

// isIdle reports whether a host was not requested since before, has nothing under way and nothing to wait
// for.
func (s *host) isIdle(before, now time.Time) bool {
	waits := now.Before(s.next) || now.Before(s.notBefore)
	return s.inFlight == 0 && s.seen.Before(before) && !waits
}
