// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"slices"
	"strings"
	"time"
)

// HostState is one host as [Hosts.Snapshot] shows it and Import takes it.
type HostState struct {
	Host       string
	InFlight   int
	Next       time.Time     // earliest next start
	Gap        time.Duration // under the strictest rule in force
	CrawlDelay time.Duration
	Penalty    time.Duration
	Response   time.Duration // moving average
	Usual      time.Duration // what it is measured against
	Requests   int64
	Failures   int64
	Bytes      int64
	Seen       time.Time
}

// Snapshot returns all hosts by name.
func (h *Hosts) Snapshot() []HostState {
	h.mu.Lock()
	list := make([]HostState, 0, len(h.hosts))
	for name, s := range h.hosts {
		next := s.next
		if s.notBefore.After(next) {
			next = s.notBefore
		}
		eff := Politeness{}.withDefaults()
		for i := range s.rules {
			eff = strictest(eff, s.rules[i].p)
		}
		list = append(list, HostState{
			Host:       name,
			InFlight:   s.inFlight,
			Next:       next,
			Gap:        s.gap(eff),
			CrawlDelay: s.crawlDelay,
			Penalty:    s.penalty,
			Response:   time.Duration(s.fast),
			Usual:      time.Duration(s.base),
			Requests:   s.requests,
			Failures:   s.failures,
			Bytes:      s.bytes,
			Seen:       s.seen,
		})
	}
	h.mu.Unlock()
	slices.SortFunc(list, func(a, b HostState) int { return strings.Compare(a.Host, b.Host) })
	return list
}

// Import takes over what an earlier process knew: what must be waited for, and what is usual. Requests under
// way are not.
func (h *Hosts) Import(list []HostState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, in := range list {
		s := h.host(in.Host)
		s.notBefore, s.crawlDelay, s.crawlSet, s.penalty = in.Next, max(in.CrawlDelay, 0), in.Seen,
			max(in.Penalty, 0)
		s.fast, s.base, s.last = float64(in.Response), float64(in.Usual), in.Response
		s.requests, s.failures, s.bytes, s.seen = in.Requests, in.Failures, in.Bytes, in.Seen
	}
}

// Prune forgets hosts that nobody has asked since before, that have nothing under way and nothing to wait
// for. It returns how many are left.
func (h *Hosts) Prune(before, now time.Time) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, s := range h.hosts {
		if s.inFlight == 0 && s.seen.Before(before) && !now.Before(s.next) && !now.Before(s.notBefore) {
			delete(h.hosts, name)
		}
	}
	return len(h.hosts)
}
