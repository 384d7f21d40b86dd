// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"mirrord/cluster/lease"
)

// world is the store, the network and the time of a simulation.
type world struct {
	size   simSize
	mutant mutant
	rng    *rand.Rand
	now    time.Duration
	queue  events

	revision uint64
	peers    []lease.Peer
	shares   *simShares

	nodes  map[string]*simNode
	sites  []*simSite
	hosts  []*simHost
	byName map[string]*simHost

	runs, visits, double, lost, crashes, pauses, takeovers, writes, reads, moved int

	latest time.Duration
}

// stored is the value of a key. Without a revision it is not there.
type stored struct {
	revision uint64
	beat     lease.Beat
	entry    lease.Entry
}

// simHost is a host, and who requested it last.
type simHost struct {
	name  string
	entry stored
	sites []*simSite
	to    string // whose it is to be
	by    *simNode
	at    time.Duration
}

// after lets something happen on a node, or with nil in the network, independent of the nodes.
func (w *world) after(d time.Duration, n *simNode, do func()) {
	e := event{at: w.now + d, node: n, do: do}
	if n != nil {
		e.life = n.life
	}
	w.queue.add(e)
}

// play lets the time pass.
func (w *world) play() {
	for {
		e, ok := w.queue.next()
		if w.now = e.at; !ok || w.now > w.size.lasts {
			return
		}
		switch n := e.node; {
		case n == nil:
		case n.life != e.life: // it was killed
			continue
		case n.stopped > w.now:
			e.at = n.stopped
			w.queue.add(e)
			continue
		}
		e.do()
	}
}

func (w *world) random(least, most time.Duration) time.Duration {
	return least + time.Duration(w.rng.Int64N(int64(most-least)))
}

// delay is how long a message takes.
func (w *world) delay() time.Duration {
	switch w.rng.IntN(100) {
	case 0:
		return w.random(time.Second, 20*time.Second)
	case 1, 2, 3:
		return w.random(100*time.Millisecond, time.Second)
	}
	return w.random(time.Millisecond, 10*time.Millisecond)
}

func (w *world) at() time.Time { return epoch.Add(w.now) }

func (w *world) read(key *stored) stored {
	w.reads++
	return *key
}

// write replaces what has a revision.
func (w *world) write(key *stored, v stored, revision uint64) (uint64, bool) {
	w.writes++
	if key.revision != revision {
		return key.revision, false
	}
	w.revision++
	v.revision = w.revision
	*key = v
	return v.revision, true
}

func (w *world) join(name string) {
	i, found := slices.BinarySearchFunc(w.peers, name, comparePeer)
	if !found {
		w.peers = slices.Insert(w.peers, i, lease.Peer{Name: name, Weight: 4})
		w.share()
	}
}

func (w *world) leave(name string) {
	if i, found := slices.BinarySearchFunc(w.peers, name, comparePeer); found {
		w.peers = slices.Delete(w.peers, i, i+1)
		w.share()
	}
}

func comparePeer(p lease.Peer, name string) int { return strings.Compare(p.Name, name) }

// share tells nodes which hosts they gained and lost. The shares are the same for all of them, so
// that they are found once.
func (w *world) share() {
	for host, to := range w.shares.Set(w.peers) {
		h := w.byName[host]
		if n := w.nodes[h.to]; n != nil {
			n.news[h] = false
		}
		if n := w.nodes[to]; n != nil {
			n.news[h] = true
		}
		h.to = to
		w.moved++
	}
}

// visit is a request.
func (w *world) visit(n *simNode, h *simHost) {
	w.visits++
	if h.by != nil && h.by != n && w.now-h.at < simTerm.Gap {
		w.double++
	}
	h.by, h.at = n, w.now
}

// commit moves the pointer of a site from the state that a run began with.
func (w *world) commit(s *simSite, base int, token uint64, began time.Time) {
	if s.revision != base || token < s.token {
		if !w.mutant.noFence {
			return
		}
		w.lost++ // what another run has written
	}
	s.revision++
	s.token, s.served = token, began.Add(-s.clock.Jitter())
	s.begins = append(s.begins, began)
	s.next = s.clock.Start(s.served)
	w.runs++
}
