// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"mirrord/mirror/urls"
	"mirrord/replica/hosts"
	"mirrord/site"
)

// Lender is one replica that spreads the load of its origin. It is safe for concurrent use, and holds no lock
// while it calls others.
type Lender struct {
	r   *replica
	of  *Spread
	can func(id uint32) bool

	mu       sync.Mutex
	known    bool // its robots rules are, or are not obeyed
	probe    bool // the answer to a path that cannot exist is known
	soft     bool // and it is a page
	softPage hosts.PageBody
	checking bool
	compared map[site.URL]bool
	same     int // samples that are equal
	since    int // requests since the last sample
	misses   int // in a row
	given    int64
	took     time.Duration
	left     bool
	bad      bool // left because it differs
	byTest   bool // left because of an earlier test of the two
	why      string
}

// Base is the URL of the directory that stands for the origin's.
func (l *Lender) Base() string { return l.r.base.String() }

// Origin is that of the replica.
func (l *Lender) Origin() string { return l.r.base.Origin() }

// Can reports whether the replica may be requested for a URL of the origin.
func (l *Lender) Can(id uint32) bool { return l.can(id) }

// Took is the mean time of its answers.
func (l *Lender) Took() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.took
}

// Wish says for what the replica needs a turn of its host. last says that it gets no further URL for now:
// what it gave since the last comparison is worth one more.
func (l *Lender) Wish(last bool) urls.LentWish {
	l.mu.Lock()
	defer l.mu.Unlock()
	verified := l.same >= spreadEnough
	due := l.since >= spreadEvery || (last && l.since > 0)
	switch {
	case l.left, l.checking && !verified, last && !due:
		return urls.NoWish
	case !l.known, !l.probe:
		return urls.WishCheck
	case verified && (l.checking || !due):
		return urls.WishURL
	case l.of.seen.has(l.compared):
		return urls.WishCheck
	case verified:
		return urls.WishURL // until the origin has sent another page
	}
	return urls.NoWish
}

// Begin notes that a turn was taken.
func (l *Lender) Begin(w urls.LentWish) {
	if w == urls.WishCheck {
		l.locked(func() { l.checking = true })
	}
}

// locked calls do while no other goroutine uses the Lender.
func (l *Lender) locked(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

func (l *Lender) isErrorPage(mime string, u site.URL, body []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.soft && hosts.AnswerBody(mime, u, body).Alike(l.softPage)
}

// missed counts a request without a file.
func (l *Lender) missed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.misses++; l.misses >= spreadMisses && !l.left {
		const form = "%s does not spread the load: %d requests in a row returned no file"
		l.left, l.why = true, fmt.Sprintf(form, l.Base(), l.misses)
	}
}

// leave ends the use of the replica for this run. bad says that it differs from the origin.
func (l *Lender) leave(why string, bad bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.left {
		l.why = why
	}
	l.left, l.bad = true, l.bad || bad
}

// Differs reports whether the replica was found to differ from the origin.
func (l *Lender) Differs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bad
}

// Gave counts answers that became outcomes, or that are taken back.
func (l *Lender) Gave(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.given += n
}

// sample is what the origin said of a URL in this run.
type sample struct {
	url           site.URL
	digest        [32]byte
	mime, charset string
}

// samples are the last ones. They are safe for concurrent use.
type samples struct {
	mu   sync.Mutex
	ring []sample
	next int
}

const maxSamples = 64

func (s *samples) add(x sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ring) < maxSamples {
		s.ring = append(s.ring, x)
		return
	}
	s.ring[s.next] = x
	s.next = (s.next + 1) % maxSamples
}

// has reports whether there is one that had no turn yet.
func (s *samples) has(had map[site.URL]bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.ring {
		if !had[x.url] {
			return true
		}
	}
	return false
}

// draw takes one that a replica was not compared with; which one, the replica cannot know.
func (s *samples) draw(l *Lender) (x sample, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var choice []sample
	for _, x := range s.ring {
		if !l.compared[x.url] {
			choice = append(choice, x)
		}
	}
	if len(choice) == 0 {
		return x, false
	}
	if l.compared == nil {
		l.compared = map[site.URL]bool{}
	}
	x = choice[rand.IntN(len(choice))]
	l.compared[x.url] = true
	return x, true
}
