// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
	hosts    map[*simHost]*simLease
	asked    map[*simHost]bool
	mine     map[*simHost]bool // nil: not heard yet
	news     map[*simHost]bool // hosts gained and lost
	open     map[*simHost]bool // to be taken or given back, perhaps
	running  map[*simSite]bool

	key  string
	said stored // its beat
}

type simLease struct {
	entry    lease.Entry
	revision uint64
	tokens   lease.Tokens
	quiet    time.Duration
}

func newNode(w *world, name string) *simNode {
	n := &simNode{
		w:     w,
		name:  name,
		rate:  0.97 + 0.06*w.rng.Float64(),
		ahead: w.random(0, 1000*time.Hour),
		key:   "beat." + name,
	}
	w.nodes[name] = n
	if w.size.troubles > 0 {
		between := 24 * time.Hour / time.Duration(w.size.troubles)
		w.after(w.random(0, 2*between), nil, func() { n.crash(between) })
		w.after(w.random(0, 2*between), nil, func() { n.pause(between) })
	}
	return n
}

func (n *simNode) clock() time.Duration { return n.ahead + time.Duration(float64(n.w.now)*n.rate) }

// live ends a session whose time is over, as table.live does.
func (n *simNode) live() bool {
	if n.holder.Name != "" && !n.holder.Live(n.clock()) {
		n.end()
	}
	return n.holder.Name != ""
}

// start begins a life of the node's process.
func (w *world) start(n *simNode) {
	n.life++
	n.holder, n.before, n.revision = lease.Holder{Term: simTerm}, "", 0
	n.seen = lease.Sightings{Term: simTerm}
	n.hosts, n.asked, n.running = map[*simHost]*simLease{}, map[*simHost]bool{}, map[*simSite]bool{}
	n.open, n.news, n.mine, n.stopped = map[*simHost]bool{}, map[*simHost]bool{}, nil, 0
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
func (n *simNode) call(key *stored, v stored, revision uint64, answer func(rev uint64, ok, lost bool)) {
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
	for h := range n.mine {
		n.open[h] = true
	}
}

// beat is Engine.beat.
func (n *simNode) beat() {
	w, key := n.w, &n.said
	again := func(d time.Duration) { w.after(time.Duration(float64(d)/n.rate), n, n.beat) }
	if !n.live() {
		v := w.read(key)
		silent := n.seen.Silent(n.key, v.revision, n.clock())
		if !lease.Opens(v.beat, v.revision, n.before, silent) {
			again(2 * time.Second)
			return
		}
		session, sent := fmt.Sprintf("%s-%d", n.name, w.queue.seq), n.clock()
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
		o := w.nodes[name]
		if v := w.read(&o.said); v.beat.Ended || n.seen.Silent(o.key, v.revision, n.clock()) {
			n.bury(o, v)
		}
	}
	if w.rng.IntN(10) > 0 { // some hear of it later
		n.hear()
	}
	open := slices.SortedFunc(maps.Keys(n.open), func(a, b *simHost) int { // as in each simulation
		return strings.Compare(a.name, b.name)
	})
	for _, h := range open {
		switch l := n.hosts[h]; {
		case l == nil && (n.mine[h] || n.owns(h)):
			n.take(h, nil)
		case n.mine[h] || l == nil:
			delete(n.open, h)
		case !n.uses(h):
			delete(n.hosts, h)
			delete(n.open, h)
			n.call(&h.entry, stored{entry: l.entry.Given()}, l.revision, func(_ uint64, ok, _ bool) {
				if !ok {
					n.open[h] = true
				}
			})
		}
	}
}

// owns is Engine.own: the host stands as the session's although it does not have it.
func (n *simNode) owns(h *simHost) bool {
	e := n.w.read(&h.entry).entry
	return e.Session == n.holder.Name && !e.Free
}

// hear takes in who has come and gone.
func (n *simNode) hear() {
	if n.mine == nil {
		n.mine = map[*simHost]bool{}
		clear(n.news)
		for _, host := range n.w.shares.Of(n.name) {
			n.news[n.w.byName[host]] = true
		}
	}
	for h, is := range n.news {
		if n.open[h] = true; is {
			n.mine[h] = true
		} else {
			delete(n.mine, h)
		}
	}
	clear(n.news)
}

func (n *simNode) uses(h *simHost) bool {
	for _, s := range h.sites {
		if n.running[s] {
			return true
		}
	}
	return n.asked[h]
}

// bury is Engine.bury.
func (n *simNode) bury(o *simNode, v stored) {
	if v.beat.Ended {
		n.w.leave(o.name)
		return
	}
	v.beat.Ended = true
	n.call(&o.said, v, v.revision, func(_ uint64, ok, _ bool) {
		if ok {
			n.w.leave(o.name)
		}
	})
}

// take is Engine.take; then is called with the token when the host is this node's.
func (n *simNode) take(host *simHost, then func(token uint64)) {
	if n.asked[host] || !n.live() {
		return
	}
	w, session, key := n.w, n.holder.Name, &host.entry
	v, ours := w.read(key), n.hosts[host]
	if ours != nil {
		v.entry, v.revision = ours.entry, ours.revision
	}
	var holder stored
	if v.entry.Session != session && v.entry.Session != "" && !v.entry.Free {
		holder = w.read(&w.nodes[v.entry.Node].said)
	}
	next, tokens, gap, ok := v.entry.Taken(n.name, session, holder.beat, holder.revision, 0)
	if !ok {
		if o := w.nodes[v.entry.Node]; n.seen.Silent(o.key, holder.revision, n.clock()) {
			n.bury(o, holder)
		}
		return
	}
	n.asked[host] = true
	n.call(key, stored{entry: next}, v.revision, func(rev uint64, ok, _ bool) {
		delete(n.asked, host)
		if !ok {
			if now := w.read(key); n.holder.Name == session && (now.entry.Session != session || now.entry.Free) {
				delete(n.hosts, host)
				n.open[host] = true
			} else if l := n.hosts[host]; ours != nil && l != nil && now.revision > l.revision {
				l.entry, l.revision, l.tokens = now.entry, now.revision, lease.Tokens{}
			}
			n.open[host] = true
			return
		}
		if n.holder.Name != session || !n.live() {
			return
		}
		l := n.hosts[host]
		if l == nil {
			l = new(simLease)
			n.hosts[host], n.open[host] = l, true
			defer func() {
				for _, s := range host.sites {
					n.schedule(s, l)
				}
			}()
		}
		token, _ := tokens.Next(0)
		l.entry, l.revision, l.tokens = next, rev, tokens
		if gap {
			l.quiet = n.clock() + simTerm.Gap
			w.takeovers++
		}
		if then != nil {
			then(token)
		}
	})
}

// schedule waits until a site is due, as long as the node has its host.
func (n *simNode) schedule(s *simSite, l *simLease) {
	s.waits = slices.DeleteFunc(s.waits, func(x waiting) bool {
		return x.life != x.n.life || x.n.hosts[s.host] != x.lease || x.n == n
	})
	s.waits = append(s.waits, waiting{n, n.life, l})
	n.w.ring(s)
}

// ring tells those who wait for a site when it is due.
func (w *world) ring(s *simSite) {
	at := s.next
	if soon := w.at().Add(time.Millisecond); at.Before(soon) {
		at = soon
	}
	if !s.rings.IsZero() && !at.Before(s.rings) {
		return // then it is seen when the site is due
	}
	s.rings = at
	w.after(at.Sub(w.at()), nil, func() {
		if !s.rings.Equal(at) {
			return
		}
		waits := s.waits
		s.waits, s.rings = nil, time.Time{}
		for _, x := range waits {
			if x.life == x.n.life {
				w.after(0, x.n, func() { x.n.due(s, x.lease) })
			}
		}
	})
}

// due begins a run.
func (n *simNode) due(s *simSite, l *simLease) {
	switch {
	case n.hosts[s.host] != l:
		return
	case s.next.After(n.w.at()):
		n.schedule(s, l)
		return
	case n.running[s] || n.asked[s.host]:
		n.w.after(time.Second, n, func() { n.due(s, l) })
		return
	}
	n.running[s] = true
	base, done := s.revision, false
	if token, ok := l.tokens.Next(0); ok && n.live() { // Engine.Acquire
		n.run(s, l, base, token)
		return
	}
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
