// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"
)

// Peer is a node that takes sites.
type Peer struct {
	Name   string
	Weight int // how much it takes, beside others; at least 1 counts
}

// Load is a host with the number of its sites.
type Load struct {
	Host  string
	Sites int
	Home  string // the only node that can have it; "": any
}

// slack is how much more than its share a node may have. With less more hosts move when a node comes or goes.
const slack = 1.05

// pointsPerWeight is how often a node stands on the ring. With fewer the shares differ, and full nodes are
// passed more often.
const pointsPerWeight = 40

// Shares give each host to a member: consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam,
// 2017). The hosts choose one after the other, those with the most sites first: each takes the first member
// from its place on the ring on that has room. The result depends on the hosts and members only, not on
// earlier members.
//
// When a member comes or goes, only the hosts whose choice depends on it choose again, in the same order:
// what a host chooses changes nothing for those before it.
type Shares struct {
	hosts   []share           // those without a home, in the order in which they choose
	byHash  []int32           // their numbers by their place on the ring
	homed   map[string][]Load // those with a home, by it
	sites   int
	members map[string]*member
	ring    []point
	squeeze bool // some host found no room
}

// share is a host that has chosen.
type share struct {
	Load
	at     uint64
	node   *member
	end    uint64    // the point at which it found that one
	passed []*member // that had no room
}

// member is a Peer and the hosts of it.
type member struct {
	Peer
	home   int     // sites of the hosts whose home it is
	most   int     // sites that it may have
	load   int     // sites that it has
	has    []int32 // numbers of the hosts that chose it, in order
	passed []int32 // of those that found it full, in order
	fresh  bool    // it comes
	gone   bool
}

type point struct {
	at     uint64
	member *member
}

func comparePoints(a, b point) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	return cmp.Compare(a.member.Name, b.member.Name)
}

// NewShares returns the shares of hosts while there is no node.
func NewShares(hosts []Load) *Shares {
	s := &Shares{homed: map[string][]Load{}, members: map[string]*member{}}
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
func (s *Shares) Of(node string) (hosts []string) {
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
func (s *Shares) Set(peers []Peer) (moved map[string]string) {
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
		s.ring = slices.DeleteFunc(s.ring, func(p point) bool { return p.member.gone })
	}
	var points []point
	for _, m := range come {
		s.members[m.Name] = m
		for n := range m.Weight * pointsPerWeight {
			points = append(points, point{xxh3.HashString(m.Name + "\x00" + strconv.Itoa(n)), m})
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
func (s *Shares) changes(peers []Peer) (come, gone []*member) {
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
func (s *Shares) insert(points []point) {
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
func (s *Shares) bound() (other []*member) {
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
func (s *Shares) first(at uint64) int {
	i, _ := slices.BinarySearchFunc(s.ring, at, func(p point, at uint64) int { return cmp.Compare(p.at, at) })
	return i
}

// before is how many sites a member has of the hosts that choose before one.
func (s *Shares) before(m *member, number int32) int {
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
func (s *Shares) choose(number int32) (node *member, end uint64, passed []*member) {
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
func (s *Shares) put(number int32, node *member, end uint64, passed []*member) {
	h := &s.hosts[number]
	h.node, h.end, h.passed = node, end, passed
	node.load += h.Sites
	node.has = with(node.has, number)
	for _, m := range passed {
		m.passed = with(m.passed, number)
	}
}

// take takes a host from its member.
func (s *Shares) take(number int32) {
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
func (s *Shares) least() (least *member) {
	for _, m := range s.members {
		if least == nil || m.load < least.load || (m.load == least.load && m.Name < least.Name) {
			least = m
		}
	}
	return least
}

// Watched returns the members that a node watches, so that the end of each one is seen by two: those that
// follow it in the circle of names.
func Watched(me string, members []string) []string {
	names := slices.Sorted(maps.Keys(setOf(members)))
	i, found := slices.BinarySearch(names, me)
	if found {
		names = slices.Delete(names, i, i+1)
	}
	if len(names) == 0 {
		return nil
	}
	out := []string{names[i%len(names)]}
	if len(names) > 1 {
		out = append(out, names[(i+1)%len(names)])
	}
	return out
}

func setOf(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}
