// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"slices"
	"time"
)

// HoldReason says why a host is waited for.
type HoldReason uint8

// The reasons.
const (
	NotHeld    HoldReason = iota // by nothing but the job's own rule
	HeldAsked                    // the host asked to wait: Retry-After
	HeldFails                    // the origin does not answer well, or the host says that it is asked too often
	HeldBusy                     // its connections are in use by other jobs
	HeldWish                     // other jobs want a longer gap
	HeldRobots                   // its robots.txt wants a longer gap: Crawl-delay
)

// Hold is what keeps a job from the host of an origin, beside its own rule.
type Hold struct {
	Why HoldReason
	By  []string      // of HeldBusy and HeldWish: the jobs
	Gap time.Duration // between two requests of the origin, as it is now

	Until   time.Time // of HeldAsked
	Wishing []string  // the other jobs because of which the gap is longer than by the job's own rule
}

// held returns what keeps a job with rule p from one of the host's origins.
func (s *host) held(o *origin, p Politeness, now time.Time) Hold {
	own := p.withDefaults()
	eff := own
	for i := range s.rules {
		eff = strictest(eff, s.rules[i].p)
	}
	gap := s.gap(eff)
	k := Hold{Gap: max(gap, o.gap(eff))}
	if gap > s.gap(own) {
		k.Wishing = s.jobs(func(r *rule) bool { return r.given.By != p.By && s.gap(r.p) == gap })
	}
	switch {
	case now.Before(s.notBefore):
		k.Why, k.Until = HeldAsked, s.notBefore
	case now.Before(o.next):
		k.Why = HeldFails
	case s.inFlight-s.mute(o) >= eff.Connections:
		k.By = s.jobs(func(r *rule) bool { return r.given.By != p.By && r.inFlight > 0 })
		if len(k.By) > 0 {
			k.Why = HeldBusy
		}
	case len(k.Wishing) > 0:
		k.Why, k.By = HeldWish, k.Wishing
	case s.crawlDelay > own.Delay && s.crawlDelay == gap:
		k.Why = HeldRobots
	case s.penalty.gap > own.Delay:
		k.Why = HeldFails
	}
	return k
}

// jobs returns the names of the jobs whose rules match, sorted.
func (s *host) jobs(match func(*rule) bool) (names []string) {
	for i := range s.rules {
		if match(&s.rules[i]) {
			names = append(names, s.rules[i].given.By)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
