// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"container/heap"
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
	seq    int

	keys     map[string]*stored
	revision uint64
	peers    []lease.Peer
	version  int              // of peers
	shares   map[string][]int // of the last version that somebody asked for
	shared   int              // that version

	byName map[string]*simNode
	sites  []*simSite
	hosts  []*simHost

	runs, visits, double, lost, crashes, pauses, takeovers, writes, reads int

	latest time.Duration
}

// stored is the value of a key.
type stored struct {
	revision uint64
	beat     lease.Beat
	entry    lease.Entry
}

// simHost is a host, and who requested it last.
type simHost struct {
	name  string
	sites []*simSite
	by    *simNode
	at    time.Duration
}

type event struct {
	at   time.Duration
	seq  int
	node *simNode // nil: of the network; it happens whatever the nodes do
	life int      // of the node
	do   func()
}

type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || (e[i].at == e[j].at && e[i].seq < e[j].seq)
}
func (e *events) Push(x any) { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// after lets something happen on a node, or with nil in the network.
func (w *world) after(d time.Duration, n *simNode, do func()) {
	w.seq++
	e := event{
		at:   w.now + d,
		seq:  w.seq,
		node: n,
		do:   do,
	}
	if n != nil {
		e.life = n.life
	}
	heap.Push(&w.queue, e)
}

// play lets the time pass.
func (w *world) play() {
	for len(w.queue) > 0 {
		e := heap.Pop(&w.queue).(event)
		if w.now = e.at; w.now > w.size.lasts {
			return
		}
		switch n := e.node; {
		case n == nil:
		case n.life != e.life: // it was killed
			continue
		case n.stopped > w.now:
			e.at = n.stopped
			heap.Push(&w.queue, e)
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

func (w *world) read(key string) stored {
	w.reads++
	if v := w.keys[key]; v != nil {
		return *v
	}
	return stored{}
}

// write replaces what has a revision.
func (w *world) write(key string, v stored, revision uint64) (uint64, bool) {
	w.writes++
	var has uint64
	if old := w.keys[key]; old != nil {
		has = old.revision
	}
	if has != revision {
		return has, false
	}
	w.revision++
	v.revision = w.revision
	w.keys[key] = &v
	return v.revision, true
}

func (w *world) join(name string) {
	i, found := slices.BinarySearchFunc(w.peers, name, comparePeer)
	if !found {
		w.peers = slices.Insert(slices.Clone(w.peers), i, lease.Peer{Name: name, Weight: 4})
		w.version++
	}
}

func (w *world) leave(name string) {
	if i, found := slices.BinarySearchFunc(w.peers, name, comparePeer); found {
		w.peers = slices.Delete(slices.Clone(w.peers), i, i+1)
		w.version++
	}
}

func comparePeer(p lease.Peer, name string) int { return strings.Compare(p.Name, name) }

// share returns the hosts of a node by the peers of now.
func (w *world) share(name string) []int {
	if w.shares == nil || w.shared != w.version {
		loads, index := make([]lease.Load, 0, len(w.hosts)), map[string]int{}
		for i, h := range w.hosts {
			loads = append(loads, lease.Load{Host: h.name, Sites: len(h.sites)})
			index[h.name] = i
		}
		w.shares, w.shared = map[string][]int{}, w.version
		for host, node := range lease.Assign(loads, w.peers) {
			w.shares[node] = append(w.shares[node], index[host])
		}
		for _, hosts := range w.shares {
			slices.Sort(hosts)
		}
	}
	return w.shares[name]
}

// visit is a request.
func (w *world) visit(n *simNode, host int) {
	h := w.hosts[host]
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
	w.runs++
}
