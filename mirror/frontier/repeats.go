// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"maps"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
)

// A browser of code shows each file in each state of a repository (urls.Stated): F files and C commits have
// F × C addresses, and a file that did not change says the same in most of these. A page repeats when another
// view of its state is known, and all that it says was said by pages of its view, of its state, or without a
// state: words in series within a line, numbers, and its requisites. Articles that have a hash as their name
// never repeat: they have one view, or others have too little in common with them.
//
// A place has credit for four requests. Each costs one, and each page that does not repeat gives three more.
// Without credit its pages are put off until nothing else is left to request. By then SessionIDs knows which
// URLs are one page: one that repeats another URL of its page costs nothing, and one for which several URLs
// stand is judged by all of them. Pages that were put off are requested while their place has credit, and two
// more of a place without, or six where one said something new: what came first, the newest states, may not
// be like the rest. So a place costs at most ten requests and three for each text. Then its other pages are
// left to the origin, and those that repeat, too: the mirror has what they say. Later runs leave what a run
// left; URLs that they find have new credit.
//
// So it is with the orders of a list (?sort=owner), see orders.go.
//
// Pages that one without a state names, mostly the newest state, are a place of their own, and so are the
// first pages of views: a mirror that lacks one state of a file shall not lack all.
const (
	placeCredit = 4       // requests
	perText     = 3       // more of them
	sampled     = 6       // requests for pages of a place without credit
	atOnce      = 2       // of these: their answers may show that others are the same page
	wordSeries  = 5       // words
	hashPrefix  = 7       // bytes of a hash that stand for it
	mostStated  = 1 << 17 // URLs that are remembered
	mostSayings = 1 << 19 // that are remembered of views and states
)

// LeftRepeat is why such a URL is not in the mirror, OtherOrder why the list stands for its order, and
// ListStands counts these for a summary.
const (
	LeftRepeat = "of a kind of pages that mostly repeat what other states say: left to the origin"
	OtherOrder = "the same in another order: "
	ListStands = "orders of lists that say no more than the lists, to which links to them lead"
)

// StateRepeats learns places of pages that repeat. It is safe for concurrent use; nil learns none.
type StateRepeats struct {
	run int

	mu      sync.Mutex
	left    map[string]*urls.RepeatPlace // by place
	stay    map[string]bool              // of these: pages are left already
	credit  map[string]*account          // by place
	sampled map[string]int               // by place without its end
	said    map[uint64]struct{}          // by view or state, and saying
	first   map[uint64]uint64            // by view, its first URL; by state, its first view
	current map[uint64]bool              // URLs that a page without a state names
	lists   listsWithOrders              // of which pages name orders
	shown   map[uint64]bool              // URLs that pages show: they neither wait nor are left
	was     map[uint64]bool              // URLs that earlier runs left
	read    map[site.URL]statedPage      // of this run
	off     []site.URL                   // pages that wait
	ids     map[site.URL]uint32          // of these
}

// account is what the pages of a place cost and gave.
type account struct {
	credit, asked, repeat int
}

// statedPage is a page that was read. its is the account that it cost a request, if any.
type statedPage struct {
	repeats bool
	its     *account
}

// NewStateRepeats returns a StateRepeats of a table that is loaded. learned is what Learned returned in the
// run before.
func NewStateRepeats(learned map[string]*urls.RepeatPlace, run int, table *urls.Table) *StateRepeats {
	r := &StateRepeats{
		run:     run,
		left:    learned,
		stay:    map[string]bool{},
		credit:  map[string]*account{},
		sampled: map[string]int{},
		said:    map[uint64]struct{}{},
		first:   map[uint64]uint64{},
		current: map[uint64]bool{},
		lists:   listsWithOrders{of: map[uint64]site.URL{}},
		shown:   map[uint64]bool{},
		was:     map[uint64]bool{},
		read:    map[site.URL]statedPage{},
		ids:     map[site.URL]uint32{},
	}
	if r.left == nil {
		r.left = map[string]*urls.RepeatPlace{}
	}
	t := table.Settled()
	for id, x := range t.All() {
		u, left := t.URL(id), x.Outcome() == site.OutOfScope
		if !(left || x.InSet() || x.Target() > 0) || !urls.HasState(u.String()) {
			continue
		}
		if list, ok := urls.Unordered(u); ok && x.Target() > 0 {
			to := t.URL(x.Target() - 1)
			left = urls.ListOf(to) == urls.ListOf(list) && r.lists.put(to) // that stands for it
		}
		if left {
			r.was[xxh3.HashString(u.String())] = true
		}
		if s := urls.StatedOf(u); len(s.States) > 0 && (left || x.InSet()) {
			r.isFirst(&s, u)
		}
	}
	return r
}

// Learned returns the places that are left, for the next run.
func (r *StateRepeats) Learned() map[string]*urls.RepeatPlace {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.left)
}

// isFirst reports whether a URL is the first one of its view. The caller holds mu.
func (r *StateRepeats) isFirst(x *urls.Stated, u site.URL) bool {
	h := xxh3.HashString(u.String())
	first, ok := r.first[x.View]
	if !ok && len(r.first) < mostStated {
		r.first[x.View] = h
		return true
	}
	return first == h
}

// placeOf returns the place of a URL. The caller holds mu.
func (r *StateRepeats) placeOf(x *urls.Stated, u site.URL) string {
	h := xxh3.HashString(u.String())
	place := r.staysLeft(x, h)
	switch {
	case place != "":
		return place
	case x.Orders:
		return x.Place
	case r.current[h]:
		return x.Place + urls.OfCurrent
	case r.isFirst(x, u):
		return x.Place + urls.FirstOfView
	}
	return x.Place
}

// staysLeft returns the place of a page that an earlier run left, when it is left as before: pages that tell
// its place may be unchanged, and were not read. The caller holds mu.
func (r *StateRepeats) staysLeft(x *urls.Stated, h uint64) (place string) {
	for _, of := range [...]string{"", urls.FirstOfView, urls.OfCurrent} {
		if r.was[h] && r.left[x.Place+of] != nil {
			place = x.Place + of
		}
	}
	return place
}

// Leaves reports whether a URL is left to the origin because an earlier run left it. This run cannot judge
// it: pages that did not change are not read.
func (r *StateRepeats) Leaves(u site.URL) bool {
	if r == nil {
		return false
	}
	x := urls.StatedOf(u)
	if len(x.States) == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, wasRead := r.read[u]
	h := xxh3.HashString(u.String())
	return !wasRead && !r.shown[h] && r.staysLeft(&x, h) != ""
}

// LeavesNow reports whether this run leaves a URL to the origin: one that repeats, or waits. It is called
// when nothing is left to request.
func (r *StateRepeats) LeavesNow(u site.URL) bool {
	if r == nil {
		return false
	}
	x := urls.StatedOf(u)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, waits := r.ids[u]
	repeats := r.read[u].repeats && r.left[r.placeOf(&x, u)] != nil
	return waits || (repeats && !r.shown[xxh3.HashString(u.String())])
}

// PutOff puts a page off, and reports so, when it has to wait: its place has no credit now, or the page that
// stands for it waits.
func (r *StateRepeats) PutOff(id uint32, u, main site.URL) bool {
	if r == nil {
		return false
	}
	x := urls.StatedOf(u)
	if len(x.States) == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.credit[r.placeOf(&x, u)]
	_, wasRead := r.read[u]
	_, waits := r.ids[main]
	broke := (a != nil) && (a.credit == 0) && (main == u)
	if wasRead || r.shown[xxh3.HashString(u.String())] || !(waits || broke) || len(r.off) >= mostStated {
		return false
	}
	r.off, r.ids[u] = append(r.off, u), id
	return true
}

// Waiting returns the pages that were put off.
func (r *StateRepeats) Waiting() map[site.URL]uint32 {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.ids)
}

// Forget forgets pages that were put off.
func (r *StateRepeats) Forget(them map[site.URL]uint32) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.off = slices.DeleteFunc(r.off, func(u site.URL) bool {
		_, is := them[u]
		return is
	})
	for u := range them {
		delete(r.ids, u)
	}
}

// Leave notes that a page is left to the origin, for the next run.
func (r *StateRepeats) Leave(u site.URL) {
	x := urls.StatedOf(u)
	r.mu.Lock()
	defer r.mu.Unlock()
	place := r.placeOf(&x, u)
	if r.left[place] == nil {
		r.leave(place, u)
	}
	r.stay[place] = true
}

// leave notes that pages of a place are left. The caller holds mu.
func (r *StateRepeats) leave(place string, u site.URL) {
	a := r.accountOf(place)
	r.left[place] = &urls.RepeatPlace{
		Pages:  a.asked,
		Repeat: a.repeat,
		Last:   u.String(),
		Run:    r.run,
	}
}

// Share judges the URLs of one page together, when nothing is left to request: one that repeats costs
// nothing, and one that stands for another one says what that says. main returns the URL that stands for
// another one, or that one. It returns the main ones of those that have another one.
func (r *StateRepeats) Share(main func(site.URL) site.URL) map[site.URL]site.URL {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	all := append(slices.Collect(maps.Keys(r.read)), r.off...)
	r.mu.Unlock()
	to := map[site.URL]site.URL{}
	for _, u := range all { // without mu: main calls the table, which calls Leaves
		if m := main(u); m != u {
			to[u] = m
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for u, m := range to {
		switch p, wasRead := r.read[u]; {
		case !wasRead:
		case !p.repeats:
			r.read[m] = statedPage{}
		case p.its != nil && !urls.StatedOf(u).Orders:
			p.its.credit++
			r.read[u] = statedPage{repeats: true}
		}
	}
	return to
}

// Resume returns pages that were put off and have their turn now: those for which other pages stand that do
// not wait, or that stand for others that said something new, as many of a place as it has credit for, and
// else some. to is what Share returned.
func (r *StateRepeats) Resume(to map[site.URL]site.URL) (ids []uint32) {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := map[string][]site.URL{}
	now := map[site.URL]bool{}
	for _, u := range r.off {
		_, wasRead := r.read[u]
		m, folds := to[u]
		_, waits := r.ids[m]
		switch x := urls.StatedOf(u); {
		case r.shown[xxh3.HashString(u.String())]:
			now[u] = true
		case folds && waits:
		case wasRead, folds:
			now[u] = true
		default:
			place := r.placeOf(&x, u)
			waiting[place] = append(waiting[place], u)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(waiting)) { // the first pages of views are like others
		us := waiting[place]
		a := r.accountOf(place)
		n := min(a.credit, len(us))
		if n == 0 {
			by := urls.StatedOf(us[0]).Place
			most := atOnce
			if a.repeat < a.asked {
				most = sampled
			}
			n = max(0, min(most-r.sampled[by], len(us), atOnce))
			r.sampled[by], a.credit = r.sampled[by]+n, n
		}
		for i := range n { // spread over all
			now[us[(i+1)*len(us)/n-1]] = true
		}
	}
	r.off = slices.DeleteFunc(r.off, func(u site.URL) bool {
		if now[u] {
			ids = append(ids, r.ids[u])
			delete(r.ids, u)
		}
		return now[u]
	})
	return ids
}

// accountOf returns the account of a place. The caller holds mu.
func (r *StateRepeats) accountOf(place string) *account {
	a := r.credit[place]
	if a == nil {
		a = &account{credit: placeCredit}
		r.credit[place] = a
	}
	return a
}

// Named takes the candidates of a document.
func (r *StateRepeats) Named(doc func() site.URL, cs []scope.Candidate) {
	has := func(c scope.Candidate) bool { return urls.HasState(c.URL) }
	if (r == nil) || !slices.ContainsFunc(cs, has) {
		return
	}
	stated := len(urls.StatedOf(doc()).States) > 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range cs {
		switch {
		case !has(c):
		case c.Purpose == scope.Requisite && len(r.shown) < mostStated:
			r.shown[xxh3.Hash(c.URL)] = true
		case r.lists.names(site.Canonical(string(c.URL))):
		case !stated && len(r.current) < mostStated:
			r.current[xxh3.Hash(c.URL)] = true
		}
	}
}

// take notes what a page of the mirror says, and reports whether it repeats. The caller holds mu.
func (r *StateRepeats) take(x *urls.Stated, says []uint64) (is bool) {
	for _, s := range x.States {
		first, ok := r.first[s]
		if !ok && len(r.first) < mostStated {
			r.first[s] = x.View
		}
		is = is || (ok && first != x.View)
	}
	by := append([]uint64{x.View}, x.States...)
	if x.Orders {
		by = append(x.States, xxh3.HashString(x.Place)) // of the list, and of what orders lists
		is = !r.lacks(by, says)
	}
	is = is && (x.Orders || !r.lacks(append(by, 0), says)) // 0: a page without states
	r.note(by, says)
	return is
}

// note notes what pages of some views or states say. The caller holds mu.
func (r *StateRepeats) note(by, says []uint64) {
	for _, what := range says {
		for _, by := range by {
			r.said[by*31+what] = struct{}{}
		}
	}
}

// Read takes a document of the mirror, which is new in it or not. plain returns its body as it is at any
// moment.
func (r *StateRepeats) Read(u site.URL, plain func() []byte, isHTML, isNew bool, links []relocate.Link) {
	if r == nil {
		return
	}
	x, list := urls.StatedOf(u), r.lists.has(u)
	r.mu.Lock()
	full := len(r.said) >= mostSayings || len(r.read) >= mostStated
	// else most sites would pay for a few pages
	matters := list || len(x.States) > 0 || len(r.read) >= placeCredit
	r.mu.Unlock()
	if full || !matters {
		return
	}
	body, series := plain(), wordSeries
	if x.Orders {
		series = 1
	}
	says, words := sayingsOf(u, body, isHTML, links, series), []uint64(nil)
	if list {
		words = sayingsOf(u, body, isHTML, links, 1)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if list {
		r.note([]uint64{urls.ListOf(u)}, words)
	}
	if _, again := r.read[u]; again {
		return
	}
	place := r.placeOf(&x, u)
	is := r.take(&x, says)
	if len(x.States) == 0 {
		return
	}
	p := statedPage{repeats: is && isNew}
	if isNew {
		p.its = r.accountOf(place)
		r.charge(place, p, u)
	}
	r.read[u] = p
}

// charge has a place pay for a page. The caller holds mu.
func (r *StateRepeats) charge(place string, p statedPage, u site.URL) {
	a := p.its
	a.asked++
	if a.credit = max(0, a.credit-1); p.repeats {
		a.repeat++
	} else {
		a.credit += perText
	}
	switch l := r.left[place]; {
	case a.credit > 0 && l != nil && l.Run == r.run && !r.stay[place]:
		delete(r.left, place)
	case a.credit == 0 && l == nil:
		r.leave(place, u)
	}
}

// lacks reports whether none of some views or states said something. The caller holds mu.
func (r *StateRepeats) lacks(by, says []uint64) bool {
	return slices.ContainsFunc(says, func(what uint64) bool {
		return !slices.ContainsFunc(by, func(by uint64) bool {
			_, ok := r.said[by*31+what]
			return ok
		})
	})
}
