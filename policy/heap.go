package policy

// The heap of groups: what is worth most is first, of equals the first group.

func (a *adaptive) before(i, j uint32) bool {
	if x, y := a.gs[i].worth, a.gs[j].worth; x != y {
		return x > y
	}
	return i < j
}

func (a *adaptive) put(at int, i uint32) { a.heap[at], a.gs[i].place = i, int32(at) }

// revalue values all groups again.
func (a *adaptive) revalue() {
	a.stale = 0
	a.settle()
	for d := range a.nodes {
		a.nodes[d].valued = a.nodes[d].act
	}
	a.heap = a.heap[:0]
	for i := range a.gs {
		a.value(uint32(i))
		if a.gs[i].place = -1; a.gs[i].next < a.gs[i].to {
			a.heap = append(a.heap, uint32(i))
			a.gs[i].place = int32(len(a.heap) - 1)
		}
	}
	for at := len(a.heap)/2 - 1; at >= 0; at-- {
		a.sift(at)
	}
}

// fix puts a group that was valued again into its place; one of which nothing is left leaves the heap.
func (a *adaptive) fix(i uint32) {
	g := &a.gs[i]
	at := int(g.place)
	if at < 0 {
		return
	}
	if g.next == g.to {
		end := len(a.heap) - 1
		last := a.heap[end]
		a.heap, g.place = a.heap[:end], -1
		if at == end {
			return
		}
		a.put(at, last)
	}
	a.up(at)
	a.sift(int(a.gs[a.heap[at]].place))
}

func (a *adaptive) up(at int) {
	i := a.heap[at]
	for at > 0 {
		up := (at - 1) / 2
		if !a.before(i, a.heap[up]) {
			break
		}
		a.put(at, a.heap[up])
		at = up
	}
	a.put(at, i)
}

func (a *adaptive) sift(at int) {
	i := a.heap[at]
	for {
		c := 2*at + 1
		if c >= len(a.heap) {
			break
		}
		if c+1 < len(a.heap) && a.before(a.heap[c+1], a.heap[c]) {
			c++
		}
		if !a.before(a.heap[c], i) {
			break
		}
		a.put(at, a.heap[c])
		at = c
	}
	a.put(at, i)
}
