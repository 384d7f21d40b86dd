// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"container/heap"
	"slices"
)

// choices are the hosts that choose again, and which node each had before.
type choices struct {
	shares *Shares
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
func (c *choices) meet(p point) {
	s := c.shares
	at := s.first(p.at)
	var old point
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
