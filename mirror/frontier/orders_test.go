// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"cmp"
	"container/heap"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ranking is an order whose ranks change while URLs wait: the highest first, of equal ones that found first.
type ranking struct {
	rank    []float64
	waiting []bool
	seq     []int
	found   int
	heap    []ranked
}

type ranked struct {
	id   uint32
	rank float64
	seq  int
}

func newRanking(n int) *ranking {
	return &ranking{rank: make([]float64, n), waiting: make([]bool, n), seq: make([]int, n)}
}

func (r *ranking) Len() int      { return len(r.heap) }
func (r *ranking) Swap(i, j int) { r.heap[i], r.heap[j] = r.heap[j], r.heap[i] }
func (r *ranking) Push(x any)    { r.heap = append(r.heap, x.(ranked)) }
func (r *ranking) Less(i, j int) bool {
	a, b := r.heap[i], r.heap[j]
	return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.seq, b.seq)) < 0
}

func (r *ranking) Pop() any {
	last := r.heap[len(r.heap)-1]
	r.heap = r.heap[:len(r.heap)-1]
	return last
}

// raise adds to the rank of a URL, which waits or not.
func (r *ranking) raise(id uint32, by float64) {
	r.rank[id] += by
	if r.waiting[id] {
		heap.Push(r, ranked{id, r.rank[id], r.seq[id]})
	}
}

func (r *ranking) add(id uint32) {
	r.waiting[id] = true
	r.found++
	r.seq[id] = r.found
	heap.Push(r, ranked{id, r.rank[id], r.seq[id]})
}

func (r *ranking) take() (uint32, bool) {
	for len(r.heap) > 0 {
		x := heap.Pop(r).(ranked)
		if r.waiting[x.id] && x.rank == r.rank[x.id] {
			r.waiting[x.id] = false
			return x.id, true
		}
	}
	return 0, false
}

// orderer is an order that is tried: pages that are found and not requested yet.
type orderer interface {
	add(id uint32)
	take() (uint32, bool)
	// read hears of each page that was read, and which URLs it was the first to link to
	read(id uint32, found []uint32)
}

// queued is one of the orders that jobs have.
type queued struct {
	q backQueue
	o Ordering
}

func (q *queued) add(id uint32)         { q.q.put(PrioNew, id, &q.o) }
func (q *queued) take() (uint32, bool)  { return q.q.pop(PrioNew, &q.o) }
func (q *queued) read(uint32, []uint32) {}

// mostLinked takes the page that most pages read so far lead to (Cho, Garcia-Molina, Page 1998: backlink
// count).
type mostLinked struct {
	*ranking
	g *webGraph
}

func (m mostLinked) read(id uint32, _ []uint32) {
	for _, to := range m.g.links[id] {
		m.raise(to, 1)
	}
}

// linkedOrder is the order of jobs that say so. As in a run, requisites count as links.
type linkedOrder struct {
	queued
	g *webGraph
}

func (l *linkedOrder) add(id uint32) {
	if id == 0 {
		l.o.Credits.enter(id)
	}
	l.queued.add(id)
}

func (l *linkedOrder) read(id uint32, _ []uint32) {
	to := slices.Concat(l.g.links[id], l.g.needs[id])
	l.o.Credits.spend(id, to, func(uint32) *fifo { return &l.q.front[PrioNew] })
}

// prioritized is breadth with a [[priority]] of the job: what it names comes first, but each so many requests
// one of the others does, as in Mercator's biased choice among front queues; 0 is never.
type prioritized struct {
	first, rest queued
	named       func(id uint32) bool
	every, n    int
}

func (p *prioritized) add(id uint32) {
	if p.named(id) {
		p.first.add(id)
	} else {
		p.rest.add(id)
	}
}

func (p *prioritized) take() (uint32, bool) {
	p.n++
	qs := [2]*queued{&p.first, &p.rest}
	if p.every > 0 && p.n%p.every == 0 {
		slices.Reverse(qs[:])
	}
	if id, ok := qs[0].take(); ok {
		return id, true
	}
	return qs[1].take()
}

func (p *prioritized) read(uint32, []uint32) {}

// yielding is adaptive: the folder whose pages linked to most new URLs so far is next; one of which nothing
// is known yet counts as the mean.
type yielding struct {
	g       *webGraph
	folders map[string]*folder
	all     []*folder
	mean    folder
}

type folder struct {
	waiting     fifo
	reads, news float64
}

func (y *yielding) folder(id uint32) *folder {
	dir := y.g.urls[id][:strings.LastIndexByte(y.g.urls[id], '/')]
	f := y.folders[dir]
	if f == nil {
		f = new(folder)
		y.folders[dir] = f
		y.all = append(y.all, f)
	}
	return f
}

func (y *yielding) add(id uint32) { y.folder(id).waiting.push(id) }

func (y *yielding) take() (uint32, bool) {
	var best *folder
	most, prior := -1.0, (y.mean.news+1)/(y.mean.reads+1)
	for _, f := range y.all {
		if f.waiting.len() == 0 {
			continue
		}
		if v := (f.news + 3*prior) / (f.reads + 3); v > most {
			best, most = f, v
		}
	}
	if best == nil {
		return 0, false
	}
	return best.waiting.pop(false)
}

func (y *yielding) read(id uint32, found []uint32) {
	f := y.folder(id)
	f.reads, f.news = f.reads+1, f.news+float64(len(found))
	y.mean.reads, y.mean.news = y.mean.reads+1, y.mean.news+float64(len(found))
}

// knowing is no order but its bound: it knows PageRank beforehand.
type knowing struct{ *ranking }

func (knowing) read(uint32, []uint32) {}

// ordersTried are those of the table.
func ordersTried(g *webGraph) map[string]func() orderer {
	n := len(g.urls)
	return map[string]func() orderer{
		"breadth": func() orderer { return new(queued) },
		"depth":   func() orderer { return &queued{o: Ordering{LIFO: true}} },
		"path": func() orderer {
			return &queued{o: Ordering{Less: func(a, b uint32) bool { return g.urls[a] < g.urls[b] }}}
		},
		"most linked": func() orderer { return mostLinked{newRanking(n), g} },
		"linked":      func() orderer { return &linkedOrder{queued{o: Ordering{Credits: new(Credits)}}, g} },
		"yield":       func() orderer { return &yielding{g: g, folders: map[string]*folder{}} },
		"PageRank known": func() orderer {
			r := newRanking(n)
			r.rank = g.rank
			return knowing{r}
		},
	}
}

// orderRun is one run under an order: when each request ended, in milliseconds.
type orderRun struct {
	ended []float64
	seq   []uint32 // as they ended
	span  float64
	busy  float64 // mean share of the connections
}

// answerTime is how long the answer of a URL takes, in milliseconds.
func answerTime(id uint32) float64 { return 20 + float64((id*2654435761>>7)%3001)/100 }

// runOrder requests a site on connections to one host, from its start: requisites first, then by the order.
// Each answer takes 20 to 50 ms, always the same for a URL.
func runOrder(g *webGraph, o orderer, conns int) *orderRun {
	n := len(g.urls)
	r := &orderRun{ended: make([]float64, n)}
	seen := make([]bool, n)
	var needed fifo
	flight := newRanking(n) // the least end first
	now, open, work := 0.0, 0, 0.0
	seen[0] = true
	o.add(0)
	for {
		for open < conns {
			id, ok := needed.pop(false)
			if !ok {
				if id, ok = o.take(); !ok {
					break
				}
			}
			took := answerTime(id)
			open, work = open+1, work+took
			flight.rank[id] = -(now + took)
			flight.add(id)
		}
		id, ok := flight.take()
		if !ok {
			break
		}
		now, open = -flight.rank[id], open-1
		r.ended[id] = now
		r.seq = append(r.seq, id)
		for _, to := range g.needs[id] {
			if !seen[to] {
				seen[to] = true
				needed.push(to)
			}
		}
		var found []uint32
		for _, to := range g.links[id] {
			if !seen[to] {
				seen[to] = true
				found = append(found, to)
			}
		}
		o.read(id, found)
		for _, to := range found {
			o.add(to)
		}
	}
	r.span = now
	r.busy = work / (now * float64(conns))
	return r
}

// readable is when a page and all that it needs had come.
func (r *orderRun) readable(g *webGraph, page uint32) float64 {
	at := r.ended[page]
	for _, n := range g.needs[page] {
		at = max(at, r.ended[n])
		for _, m := range g.needs[n] { // of style sheets
			at = max(at, r.ended[m])
		}
	}
	return at
}

// orderFigures say what a run is worth when it is cut off after a share of its requests.
type orderFigures struct {
	// of the tenth of the pages with most PageRank, the share that can be read, after 10, 25 and 50 %
	hot    [3]float64
	closed [3]float64 // of the links of pages that came, the share whose page came too
	busy   float64
	first  float64 // when the start and all that it links to can be read, of the whole time
	span   float64
}

func measureOrder(g *webGraph, r *orderRun) (f orderFigures) {
	best := slices.Clone(g.pages)
	slices.SortStableFunc(best, func(a, b uint32) int { return cmp.Compare(g.rank[b], g.rank[a]) })
	best = best[:max(1, len(best)/10)]
	isPage := make([]bool, len(g.urls))
	for _, p := range g.pages {
		isPage[p] = true
	}
	for i, share := range []float64{0.10, 0.25, 0.50} {
		until := r.ended[r.seq[int(share*float64(len(r.seq)))]]
		n := 0
		for _, p := range best {
			if r.readable(g, p) <= until {
				n++
			}
		}
		f.hot[i] = float64(n) / float64(len(best))
		all, there := 0, 0
		for _, p := range g.pages {
			if r.ended[p] > until {
				continue
			}
			for _, to := range g.links[p] {
				if isPage[to] {
					all++
					if r.ended[to] <= until {
						there++
					}
				}
			}
		}
		f.closed[i] = float64(there) / float64(max(1, all))
	}
	f.busy, f.span = r.busy, r.span
	f.first = r.readable(g, 0)
	for _, to := range g.links[0] {
		f.first = max(f.first, r.readable(g, to))
	}
	f.first /= r.span
	return f
}

// graphsTried are a made site and the folders of documents that MIRRORD_ORDERS names.
func graphsTried(t *testing.T) map[string]*webGraph {
	graphs := map[string]*webGraph{"made": madeGraph(20, 30)}
	if dirs := os.Getenv("MIRRORD_ORDERS"); dirs != "" {
		for dir := range strings.SplitSeq(dirs, ",") {
			g, err := readGraph(dir)
			if err != nil {
				t.Fatal(err)
			}
			graphs[filepath.Base(dir)] = g
		}
	}
	return graphs
}

// TestOrders tries orders on a made site, and with MIRRORD_ORDERS on folders of documents of other sites:
//
//	MIRRORD_ORDERS=/srv/docs1,/srv/docs2 go test ./mirror/frontier -run TestOrders -v
//
// The tables of docs/engineering/scale.md were made by it. In each order
// a run requests the same URLs once.
func TestOrders(t *testing.T) {
	for name, g := range graphsTried(t) {
		figures := map[string]orderFigures{}
		for order, start := range ordersTried(g) {
			r := runOrder(g, start(), 16)
			if len(r.seq) != len(g.urls) {
				t.Errorf("%s, %s: %d of %d URLs were requested", name, order, len(r.seq), len(g.urls))
			}
			f := measureOrder(g, r)
			figures[order] = f
			t.Logf("%s, %d URLs | %s | %.2f %.2f %.2f | %.2f %.2f %.2f | %.3f | %.4f", name, len(g.urls), order,
				f.hot[0], f.hot[1], f.hot[2], f.closed[0], f.closed[1], f.closed[2], f.busy, f.first)
		}
		for i, share := range []int{10, 25, 50} {
			if l, b := figures["linked"].hot[i], figures["breadth"].hot[i]; l < b {
				t.Errorf("%s: after %d %% linked has %.2f of the best pages, breadth %.2f", name, share, l, b)
			}
		}
	}
}

// TestOrdersBiased measures a biased choice among front queues: the share of the pages of a
// prioritized folder after 10, 25 and 50 % of the requests, and that of the best pages of the whole site. The
// folder is the largest that takes less than a third of the site.
func TestOrdersBiased(t *testing.T) {
	for name, g := range graphsTried(t) {
		count := map[string]int{}
		top := func(id uint32) string {
			parts := strings.SplitN(g.urls[id], "/", 5)
			return parts[min(3, len(parts)-1)]
		}
		for _, p := range g.pages {
			count[top(p)]++
		}
		folder := ""
		for dir, n := range count {
			if n > count[folder] && n < len(g.pages)/3 {
				folder = dir
			}
		}
		named := func(id uint32) bool { return top(id) == folder }
		var strict [3]float64
		for _, every := range []int{0, 8, 4, 2} {
			r := runOrder(g, &prioritized{named: named, every: every}, 16)
			if len(r.seq) != len(g.urls) {
				t.Errorf("%s: %d of %d URLs were requested", name, len(r.seq), len(g.urls))
			}
			var share [3]float64
			for i, part := range []float64{0.10, 0.25, 0.50} {
				until := r.ended[r.seq[int(part*float64(len(r.seq)))]]
				for _, p := range g.pages {
					if named(p) && r.ended[p] <= until {
						share[i] += 1 / float64(count[folder])
					}
				}
			}
			f := measureOrder(g, r)
			t.Logf("%s, folder %s of %d pages | every %d | %.2f %.2f %.2f | %.2f %.2f %.2f | %.3f", name, folder,
				count[folder], every, share[0], share[1], share[2], f.hot[0], f.hot[1], f.hot[2], f.busy)
			if every == 0 {
				strict = share
			} else if share[2] > strict[2]+0.01 {
				t.Errorf("%s: one of %d fetches more of the folder than none: %v, %v", name, every, share, strict)
			}
		}
	}
}
