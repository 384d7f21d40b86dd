// SPDX-License-Identifier: Apache-2.0

package fetch

import "time"

// origin is the state of one origin of a host.
type origin struct {
	spacing  // by the gap of the penalty
	penalty  penalty
	inFlight int
	mute     bool // its last request had no answer
	seen     time.Time
}

// origin returns the state of an origin of the host.
func (s *host) origin(name string) *origin {
	o := s.origins[name]
	if o == nil {
		if s.origins == nil {
			s.origins = make(map[string]*origin, 1)
		}
		o = new(origin)
		s.origins[name] = o
	}
	return o
}

// gap is the least time to the next start of a request of the origin, beside that of its host.
func (o *origin) gap(p Politeness) time.Duration { return min(o.penalty.gap, p.MaxDelay) }

// mute is how many requests are under way to origins that do not answer, and are not o: they take no
// connection from it.
func (s *host) mute(o *origin) (n int) {
	for _, other := range s.origins {
		if other.mute && other != o {
			n += other.inFlight
		}
	}
	return n
}

// spacing keeps requests apart.
type spacing struct {
	next          time.Time // earliest next start
	before, after time.Time // next before and after the last turn was taken
}

func (s *spacing) start(now time.Time, gap time.Duration) {
	s.before = s.next
	if gap > 0 {
		s.next = now.Add(gap)
	}
	s.after = s.next
}

// giveBack takes a start back that no request used, unless another request has had a turn since.
func (s *spacing) giveBack() {
	if s.next.Equal(s.after) {
		s.next, s.after = s.before, s.before
	}
}

func (s *spacing) end(now time.Time, gap time.Duration) {
	if gap > 0 {
		s.next = later(s.next, now.Add(gap))
	}
}

// penalty is the gap that failures ask for.
type penalty struct {
	gap   time.Duration
	grown time.Time // when it last grew
}

// grow doubles the gap that is in force, up to a bound. Requests that fail together are one sign, not
// sixteen.
func (p *penalty) grow(inForce, most time.Duration, now time.Time) {
	if p.gap == 0 || !now.Before(p.grown.Add(p.gap)) {
		p.gap = min(max(2*inForce, firstPenalty), most)
		p.grown = now
	}
}

// shrink takes a good answer into account.
func (p *penalty) shrink() { p.set(p.gap - p.gap/8) }

// rest halves the gap for each time of idle in which the host could have been requested and was not. Else
// what a run met at its end would slow down the first requests of another one hours later.
func (p *penalty) rest(idle time.Duration) {
	if idle >= restLife {
		p.set(p.gap >> min(idle/restLife, 63))
	}
}

func (p *penalty) set(gap time.Duration) {
	if p.gap = gap; gap < leastPenalty {
		p.gap = 0
	}
}
