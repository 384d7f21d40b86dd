// SPDX-License-Identifier: Apache-2.0

package fetch

import "time"

// HostState is one host as [Hosts.Snapshot] shows it.
type HostState struct {
	Host     string
	InFlight int
	Jobs     []string  // that have requests under way
	Waiting  []string  // jobs that asked in vain just now
	Next     time.Time // earliest next start
}

func (s *host) snapshot(name string) HostState {
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
		Host:     name,
		InFlight: s.inFlight,
		Jobs:     jobs,
		Waiting:  waiting,
		Next:     later(s.next, s.notBefore),
	}
}

// isIdle reports whether a host was not requested since before, has nothing under way and nothing to wait
// for.
func (s *host) isIdle(before, now time.Time) bool {
	waits := now.Before(s.next) || now.Before(s.notBefore)
	return s.inFlight == 0 && s.seen.Before(before) && !waits
}
