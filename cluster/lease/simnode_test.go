// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"mirrord/cluster/lease"
)

var simTerm = lease.Term{TTL: 30 * time.Second, Gap: 10 * time.Second}

// simNode is a node: what the engine does, with the network of a world.
type simNode struct {
	w       *world
	name    string
	life    int
	stopped time.Duration // until then
	rate    float64       // of its clock
	ahead   time.Duration // its clock

	holder   lease.Holder
	before   string
	revision uint64
	seen     lease.Sightings
	hosts    map[int]*simLease
	asked    map[int]bool
	mine     []int
	version  int // of the peers in mine
	running  map[*simSite]bool
}

type simLease struct {
	entry    lease.Entry
	revision uint64
	quiet    time.Duration
}

func newNode(w *world, name string) *simNode {
	n := &simNode{
		w:     w,
		name:  name,
		rate:  0.97 + 0.06*w.rng.Float64(),
		ahead: w.random(0, 1000*time.Hour),
	}
	w.byName[name] = n
	if w.size.troubles > 0 {
		between := 24 * time.Hour / time.Duration(w.size.troubles)
		w.after(w.random(0, 2*between), nil, func() { n.crash(between) })
		w.after(w.random(0, 2*between), nil, func() { n.pause(between) })
	}
	return n
}

func (n *simNode) clock() time.Duration { return n.ahead + time.Duration(float64(n.w.now)*n.rate) }
func (n *simNode) live() bool           { return n.holder.Live(n.clock()) }

// start begins a life of the node's process.
func (w *world) start(n *simNode) {
	n.life++
	n.holder, n.before, n.revision = lease.Holder{Term: simTerm}, "", 0
	n.seen = lease.Sightings{Term: simTerm}
	n.hosts, n.asked, n.running = map[int]*simLease{}, map[int]bool{}, map[*simSite]bool{}
	n.mine, n.version, n.stopped = nil, -1, 0
	w.after(w.random(0, time.Second), n, n.beat)
	w.after(w.random(0, simTerm.Renew()), n, n.round)
}

func (n *simNode) crash(between time.Duration) {
	n.w.crashes++
	n.life++
	n.w.after(n.w.random(time.Second, 5*time.Minute), nil, func() { n.w.start(n) })
	n.w.after(n.w.random(between/2, 2*between), nil, func() { n.crash(between) })
}

func (n *simNode) pause(between time.Duration) {
	n.w.pauses++
	n.stopped = max(n.stopped, n.w.now+n.w.random(5*time.Second, 90*time.Second))
	n.w.after(n.w.random(between/2, 2*between), nil, func() { n.pause(between) })
}

// call writes a key, and tells the node unless the answer is lost.
func (n *simNode) call(key string, v stored, revision uint64, answer func(rev uint64, ok, lost bool)) {
	w := n.w
	w.after(w.delay(), nil, func() {
		rev, ok := w.write(key, v, revision)
		if w.rng.IntN(50) == 0 {
			w.after(5*time.Second, n, func() { answer(0, false, true) })
			return
		}
		w.after(w.delay(), n, func() { answer(rev, ok, false) })
	})
}

func (n *simNode) end() {
	n.before, n.holder.Name = n.holder.Name, ""
	clear(n.hosts)
}

// beat is Engine.beat.
func (n *simNode) beat() {
	w, key := n.w, "beat."+n.name
	again := func(d time.Duration) { w.after(time.Duration(float64(d)/n.rate), n, n.beat) }
	if n.holder.Name != "" && !n.live() {
		n.end()
	}
	if n.holder.Name == "" {
		v := w.read(key)
		silent := n.seen.Silent(key, v.revision, n.clock())
		if !lease.Opens(v.beat, v.revision, n.before, silent) {
			again(2 * time.Second)
			return
		}
		session, sent := fmt.Sprintf("%s-%d", n.name, w.seq), n.clock()
		n.call(key, stored{beat: lease.Beat{Session: session}}, v.revision, func(rev uint64, ok, _ bool) {
			if !ok {
				again(2 * time.Second)
				return
			}
			n.holder, n.revision = lease.Holder{Name: session, Term: simTerm}, rev
			n.holder.Renewed(sent)
			w.join(n.name)
			again(simTerm.Renew())
		})
		return
	}
	session, sent := n.holder.Name, n.clock()
	n.call(key, stored{beat: lease.Beat{Session: session}}, n.revision, func(rev uint64, ok, lost bool) {
		switch v := w.read(key); {
		case n.holder.Name != session:
			again(0)
		case ok:
			n.holder.Renewed(sent)
			n.revision = rev
			again(simTerm.Renew())
		case v.beat.Session == session && !v.beat.Ended:
			n.revision = v.revision // its answer was lost, or it did not arrive
			again(0)
		case lost:
			again(2 * time.Second)
		default:
			n.end()
			again(0)
		}
	})
}

// round is Engine.round and Engine.watchOthers.
func (n *simNode) round() {
	w := n.w
	w.after(simTerm.Renew(), n, n.round)
	if !n.live() {
		return
	}
	var names []string
	if i, ok := slices.BinarySearchFunc(w.peers, n.name, comparePeer); ok { // those that follow
		for k := 1; k <= min(3, len(w.peers)-1); k++ {
			names = append(names, w.peers[(i+k)%len(w.peers)].Name)
		}
	} else {
		w.join(n.name)
	}
	for _, name := range lease.Watched(n.name, names) {
		if v := w.read("beat." + name); v.beat.Ended || n.seen.Silent("beat."+name, v.revision, n.clock()) {
			n.bury(name, v)
		}
	}
	if n.version != w.version && w.rng.IntN(10) > 0 { // some hear of it later
		n.mine, n.version = w.share(n.name), w.version
	}
	for _, host := range n.mine {
		if n.hosts[host] == nil {
			n.take(host, nil)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(n.hosts)) { // in the same order in each simulation
		l := n.hosts[host]
		if _, ok := slices.BinarySearch(n.mine, host); !ok && !n.uses(host) {
			delete(n.hosts, host)
			n.call("host."+w.hosts[host].name, stored{entry: l.entry.Given()}, l.revision,
				func(uint64, bool, bool) {})
		}
	}
}

func (n *simNode) uses(host int) bool {
	for _, s := range n.w.hosts[host].sites {
		if n.running[s] {
			return true
		}
	}
	return n.asked[host]
}

// bury is Engine.bury.
func (n *simNode) bury(name string, v stored) {
	gone := func() { n.w.leave(name) }
	if v.beat.Ended {
		gone()
		return
	}
	v.beat.Ended = true
	n.call("beat."+name, v, v.revision, func(_ uint64, ok, _ bool) {
		if ok {
			gone()
		}
	})
}

// take is Engine.take; then is called with the token when the host is this node's.
func (n *simNode) take(host int, then func(token uint64)) {
	if n.asked[host] || !n.live() {
		return
	}
	w, session, key := n.w, n.holder.Name, "host."+n.w.hosts[host].name
	v, ours := w.read(key), n.hosts[host]
	if ours != nil {
		v.entry, v.revision = ours.entry, ours.revision
	}
	var holder stored
	if v.entry.Session != session && v.entry.Session != "" && !v.entry.Free {
		holder = w.read("beat." + v.entry.Node)
	}
	next, gap, ok := v.entry.Taken(n.name, session, holder.beat, holder.revision, 0)
	if !ok {
		if n.seen.Silent("beat."+v.entry.Node, holder.revision, n.clock()) {
			n.bury(v.entry.Node, holder)
		}
		return
	}
	n.asked[host] = true
	n.call(key, stored{entry: next}, v.revision, func(rev uint64, ok, _ bool) {
		delete(n.asked, host)
		if !ok {
			if now := w.read(key); n.holder.Name == session && (now.entry.Session != session || now.entry.Free) {
				delete(n.hosts, host)
			} else if ours != nil && n.hosts[host] != nil {
				n.hosts[host].entry, n.hosts[host].revision = now.entry, now.revision
			}
			return
		}
		if n.holder.Name != session || !n.live() {
			return
		}
		l := n.hosts[host]
		if l == nil {
			l = new(simLease)
			n.hosts[host] = l
			defer func() {
				for _, s := range w.hosts[host].sites {
					n.schedule(s, l)
				}
			}()
		}
		l.entry, l.revision = next, rev
		if gap {
			l.quiet = n.clock() + simTerm.Gap
			w.takeovers++
		}
		if then != nil {
			then(next.Token)
		}
	})
}

// schedule waits until a site is due, as long as the node has its host.
func (n *simNode) schedule(s *simSite, l *simLease) {
	wait := s.clock.Start(s.served).Sub(n.w.at())
	n.w.after(max(wait, time.Millisecond), n, func() {
		if n.hosts[s.host] != l {
			return
		}
		if s.clock.Start(s.served).After(n.w.at()) || n.running[s] || n.asked[s.host] {
			n.w.after(time.Second, n, func() { n.schedule(s, l) })
			return
		}
		n.running[s] = true
		base, done := s.revision, false
		n.take(s.host, func(token uint64) {
			done = true
			n.run(s, l, base, token)
		})
		n.w.after(30*time.Second, n, func() { // the token was not given
			if !done {
				delete(n.running, s)
				n.schedule(s, l)
			}
			done = true
		})
	})
}

// run makes the requests of a run and commits.
func (n *simNode) run(s *simSite, l *simLease, base int, token uint64) {
	w, began, left := n.w, n.w.at(), 3+n.w.rng.IntN(8)
	var step func()
	step = func() {
		switch {
		case w.mutant.noLease:
		case !n.live() || n.hosts[s.host] != l:
			delete(n.running, s)
			return
		case n.clock() < l.quiet:
			w.after(time.Second, n, step)
			return
		}
		if left--; left >= 0 {
			w.visit(n, s.host)
			w.after(w.random(time.Second, 15*time.Second), n, step)
			return
		}
		slow := w.delay()
		if w.rng.IntN(5) == 0 {
			slow = w.random(0, 2*time.Minute) // of the store
		}
		w.after(slow, nil, func() { w.commit(s, base, token, began) })
		w.after(slow+w.delay(), n, func() {
			delete(n.running, s)
			n.schedule(s, l)
		})
	}
	step()
}
