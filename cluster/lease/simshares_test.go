// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"

	"mirrord/cluster/lease"
)

// slack is how much more than its share a node may have. With less more hosts move when a node comes or goes.
const slack = 1.05

// pointsPerWeight is how often a node stands on the ring. With fewer the shares differ, and full nodes are
// passed more often.
const pointsPerWeight = 40

// simShares are those of lease.Share, by difference: the simulation changes its members 20 000 times a day.
// When a member comes or goes, only the hosts whose choice depends on it choose again, in the same order:
// what a host chooses changes nothing for those before it.
type simShares struct {
	hosts   []share                 // those without a home, in the order in which they choose
	byHash  []int32                 // their numbers by their place on the ring
	homed   map[string][]lease.Load // those with a home, by it
	sites   int
	members map[string]*member
	ring    []ringPoint
	squeeze bool // some host found no room
}

// share is a host that has chosen.
type share struct {
	lease.Load
	at     uint64
	node   *member
	end    uint64    // the point at which it found that one
	passed []*member // that had no room
}

// member is a Peer and the hosts of it.
type member struct {
	lease.Peer
	home   int     // sites of the hosts whose home it is
	most   int     // sites that it may have
	load   int     // sites that it has
	has    []int32 // numbers of the hosts that chose it, in order
	passed []int32 // of those that found it full, in order
	fresh  bool    // it comes
	gone   bool
}

type ringPoint struct {
	at     uint64
	member *member
}

func comparePoints(a, b ringPoint) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	return cmp.Compare(a.member.Name, b.member.Name)
}

// newShares returns the shares of hosts while there is no node.
func newShares(hosts []lease.Load) *simShares {
	s := &simShares{homed: map[string][]lease.Load{}, members: map[string]*member{}}
	for _, h := range hosts {
		h.Sites = max(h.Sites, 1)
		s.sites += h.Sites
		if h.Home != "" {
			s.homed[h.Home] = append(s.homed[h.Home], h)
			continue
		}
		s.hosts = append(s.hosts, share{Load: h, at: xxh3.HashString(h.Host)})
	}
	// the heaviest first, because they fit nowhere once all nodes are nearly full
	slices.SortFunc(s.hosts, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.Sites, a.Sites), cmp.Compare(a.Host, b.Host))
	})
	s.byHash = make([]int32, len(s.hosts))
	for i := range s.byHash {
		s.byHash[i] = int32(i)
	}
	slices.SortFunc(s.byHash, func(a, b int32) int { return cmp.Compare(s.hosts[a].at, s.hosts[b].at) })
	return s
}

// Of returns the hosts of a node. Hosts whose home is no member have no node.
func (s *simShares) Of(node string) (hosts []string) {
	m := s.members[node]
	if m == nil {
		return nil
	}
	for _, i := range m.has {
		hosts = append(hosts, s.hosts[i].Host)
	}
	for _, h := range s.homed[node] {
		hosts = append(hosts, h.Host)
	}
	return hosts
}

// Set makes others the members, and returns the hosts without a home that another node has than before, each
// with that node.
func (s *simShares) Set(peers []lease.Peer) (moved map[string]string) {
	come, gone := s.changes(peers)
	again := &choices{shares: s, before: map[int32]string{}}
	for _, m := range gone {
		delete(s.members, m.Name)
		m.gone = true
		for _, i := range m.passed {
			h := &s.hosts[i]
			h.passed = slices.DeleteFunc(h.passed, func(p *member) bool { return p == m })
		}
		for _, i := range m.has {
			again.add(i)
		}
	}
	if len(gone) > 0 {
		s.ring = slices.DeleteFunc(s.ring, func(p ringPoint) bool { return p.member.gone })
	}
	var points []ringPoint
	for _, m := range come {
		s.members[m.Name] = m
		for n := range m.Weight * pointsPerWeight {
			points = append(points, ringPoint{xxh3.HashString(m.Name + "\x00" + strconv.Itoa(n)), m})
		}
	}
	slices.SortFunc(points, comparePoints)
	s.insert(points)
	raised := s.bound()
	switch {
	case s.squeeze || len(s.ring) == 0 || len(points) == len(s.ring) || len(again.queue) > len(s.hosts)/4:
		again.all()
	default:
		for _, p := range points {
			again.meet(p)
		}
		for _, m := range raised {
			again.look(m, -1)
		}
		if !again.settle() {
			again.all()
		}
	}
	for _, m := range come {
		m.fresh = false
	}
	return again.moved()
}

// changes finds out which members come and go; one with another weight does both.
func (s *simShares) changes(peers []lease.Peer) (come, gone []*member) {
	stay := make(map[string]bool, len(peers))
	for _, p := range peers {
		p.Weight = max(p.Weight, 1)
		if old := s.members[p.Name]; old == nil || old.Weight != p.Weight {
			m := &member{Peer: p, fresh: true}
			for _, h := range s.homed[p.Name] {
				m.home += h.Sites
			}
			m.load = m.home
			come = append(come, m)
		} else {
			stay[p.Name] = true
		}
	}
	for name, m := range s.members {
		if !stay[name] {
			gone = append(gone, m)
		}
	}
	return come, gone
}

// insert puts points onto the ring, from behind.
func (s *simShares) insert(points []ringPoint) {
	i, j := len(s.ring)-1, len(points)-1
	s.ring = append(s.ring, points...)
	for to := len(s.ring) - 1; j >= 0; to-- {
		if i >= 0 && comparePoints(s.ring[i], points[j]) > 0 {
			s.ring[to] = s.ring[i]
			i--
		} else {
			s.ring[to] = points[j]
			j--
		}
	}
}

// bound finds how much each member may have, and returns those that may have another number of sites now.
func (s *simShares) bound() (other []*member) {
	weights := 0
	for _, m := range s.members {
		weights += m.Weight
	}
	for _, m := range s.members {
		most := int(slack*float64(s.sites)*float64(m.Weight)/float64(weights)) + 1
		if m.most != most {
			m.most = most
			other = append(other, m)
		}
	}
	return other
}

// first is the place on the ring from which on a host looks for a member.
func (s *simShares) first(at uint64) int {
	i, _ := slices.BinarySearchFunc(s.ring, at, func(p ringPoint, at uint64) int {
		return cmp.Compare(p.at, at)
	})
	return i
}

// before is how many sites a member has of the hosts that choose before one.
func (s *simShares) before(m *member, number int32) int {
	if len(m.has) == 0 || m.has[len(m.has)-1] < number {
		return m.load
	}
	sum := m.home
	for _, i := range m.has {
		if i >= number {
			break
		}
		sum += s.hosts[i].Sites
	}
	return sum
}

// choose is the first member from the host's point on that is not full; nil if all are.
func (s *simShares) choose(number int32) (node *member, end uint64, passed []*member) {
	h := &s.hosts[number]
	first := s.first(h.at)
	for n := range len(s.ring) {
		p := s.ring[(first+n)%len(s.ring)]
		if s.before(p.member, number)+h.Sites <= p.member.most {
			return p.member, p.at, passed
		}
		if !slices.Contains(passed, p.member) {
			passed = append(passed, p.member)
			if len(passed) == len(s.members) {
				break
			}
		}
	}
	return nil, 0, passed
}

// put gives a host to a member.
func (s *simShares) put(number int32, node *member, end uint64, passed []*member) {
	h := &s.hosts[number]
	h.node, h.end, h.passed = node, end, passed
	node.load += h.Sites
	node.has = with(node.has, number)
	for _, m := range passed {
		m.passed = with(m.passed, number)
	}
}

// take takes a host from its member.
func (s *simShares) take(number int32) {
	h := &s.hosts[number]
	if h.node != nil {
		h.node.load -= h.Sites
		h.node.has = without(h.node.has, number)
	}
	for _, m := range h.passed {
		m.passed = without(m.passed, number)
	}
	h.node, h.passed = nil, nil
}

func with(list []int32, number int32) []int32 {
	if len(list) == 0 || list[len(list)-1] < number {
		return append(list, number)
	}
	i, _ := slices.BinarySearch(list, number)
	return slices.Insert(list, i, number)
}

func without(list []int32, number int32) []int32 {
	if i, found := slices.BinarySearch(list, number); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// least is the member with the fewest sites.
func (s *simShares) least() (least *member) {
	for _, m := range s.members {
		if least == nil || m.load < least.load || (m.load == least.load && m.Name < least.Name) {
			least = m
		}
	}
	return least
}

// choices are the hosts that choose again, and which node each had before.
type choices struct {
	shares *simShares
	queue  numbers
	before map[int32]string // of every host that was in the queue
}

// from notes whose a host was.
func (c *choices) from(number int32) (first bool) {
	if _, known := c.before[number]; known {
		return false
	}
	c.before[number] = ""
	if node := c.shares.hosts[number].node; node != nil {
		c.before[number] = node.Name
	}
	return true
}

// add lets a host choose again. Each does so once: what it chooses rests on those before it.
func (c *choices) add(number int32) {
	if c.from(number) {
		heap.Push(&c.queue, number)
	}
}

// meet adds the hosts that come to a new point before they come to their member: those between it and the
// point before it, and those that have passed that one.
func (c *choices) meet(p ringPoint) {
	s := c.shares
	at := s.first(p.at)
	var old ringPoint
	for n := range len(s.ring) {
		if old = s.ring[(at-1-n+2*len(s.ring))%len(s.ring)]; !old.member.fresh {
			break
		}
	}
	i, _ := slices.BinarySearchFunc(s.byHash, p.at, func(number int32, at uint64) int {
		if s.hosts[number].at <= at {
			return -1
		}
		return 1
	})
	for n := range len(s.byHash) {
		number := s.byHash[(i-1-n+2*len(s.byHash))%len(s.byHash)]
		if p.at-s.hosts[number].at >= p.at-old.at {
			break
		}
		c.add(number)
	}
	for _, number := range old.member.passed {
		if h := s.hosts[number]; p.at-h.at <= h.end-h.at {
			c.add(number)
		}
	}
}

// look adds the first host after one for which its member is now full, and the first of those that found
// it full and now fit. Those that follow are looked for when these have chosen.
func (c *choices) look(m *member, after int32) {
	s := c.shares
	if sum := m.home; m.load > m.most {
		for _, number := range m.has {
			if number > after && sum+s.hosts[number].Sites > m.most {
				c.add(number)
				break
			}
			sum += s.hosts[number].Sites
		}
	}
	sum, has := m.home, m.has
	for _, number := range m.passed {
		for ; len(has) > 0 && has[0] < number; has = has[1:] {
			sum += s.hosts[has[0]].Sites
		}
		if number > after && sum+s.hosts[number].Sites <= m.most {
			c.add(number)
			break
		}
	}
}

// settle lets hosts choose until nothing changes; false when one finds no room.
func (c *choices) settle() bool {
	s := c.shares
	for len(c.queue) > 0 {
		number := heap.Pop(&c.queue).(int32)
		old, passed := s.hosts[number].node, s.hosts[number].passed
		s.take(number)
		node, end, full := s.choose(number)
		if node == nil {
			return false
		}
		s.put(number, node, end, full)
		if node == old {
			continue
		}
		for _, m := range append(passed, old, node) {
			if m != nil && !m.gone {
				c.look(m, number)
			}
		}
	}
	return true
}

// all lets all hosts choose.
func (c *choices) all() {
	s := c.shares
	s.squeeze = false
	for _, m := range s.members {
		m.has, m.passed, m.load = nil, nil, m.home
	}
	for i := range s.hosts {
		c.from(int32(i))
		s.hosts[i].node, s.hosts[i].passed = nil, nil
	}
	if len(s.members) == 0 {
		return
	}
	for i := range s.hosts {
		node, end, passed := s.choose(int32(i))
		if node == nil {
			node, s.squeeze = s.least(), true
		}
		s.put(int32(i), node, end, passed)
	}
}

// moved returns what has another node than before.
func (c *choices) moved() map[string]string {
	moved := map[string]string{}
	for number, before := range c.before {
		h := &c.shares.hosts[number]
		now := ""
		if h.node != nil {
			now = h.node.Name
		}
		if now != before {
			moved[h.Host] = now
		}
	}
	return moved
}

// numbers are a heap.
type numbers []int32

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *numbers) Push(x any)        { *n = append(*n, x.(int32)) }
func (n *numbers) Pop() any {
	last := (*n)[len(*n)-1]
	*n = (*n)[:len(*n)-1]
	return last
}
