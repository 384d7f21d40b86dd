package mirror

import (
	"fmt"

	"mirrord/job"
	"mirrord/site"
	"mirrord/store"
)

// kind says why a URL is wanted.
type kind uint8

const (
	kindPage      kind = iota
	kindRequisite      // may come from outside the scope, as the job says
	kindSitemap        // named by robots.txt
)

// candidate is a URL that a document names.
type candidate struct {
	url    []byte // canonical
	kind   kind
	follow bool // it is asked if the rules allow; otherwise only its number is wanted
	guess  bool // a string in a script
}

// allowed asks the job's rules that need no counting about a URL.
func (r *run) allowed(u site.URL, k kind) (bool, string) {
	if k == kindSitemap {
		return true, ""
	}
	if is, reason := r.programs.Is(u); is {
		return false, reason
	}
	if !r.scope.Covers(u) && !(k == kindRequisite && r.requisiteFrom(u)) {
		_, reason := r.scope.Admits(u)
		if k == kindRequisite {
			reason += fmt.Sprintf(", and requisites = %q does not take it in", r.job.Requisites)
		}
		return false, reason
	}
	if reason, trapped := r.traps.Check(u); trapped {
		return false, reason
	}
	return true, ""
}

// requisiteFrom reports whether a requisite may come from u although it is out of scope.
func (r *run) requisiteFrom(u site.URL) bool {
	switch r.job.Requisites {
	case job.RequisitesAny:
		return !r.excluded(u)
	case job.RequisitesHost:
		for _, s := range r.seeds {
			if s.Hostname() == u.Hostname() {
				return !r.excluded(u)
			}
		}
	case job.RequisitesDomain:
		d := u.RegistrableDomain()
		for _, s := range r.seeds {
			if s.Hostname() == u.Hostname() || d != "" && s.RegistrableDomain() == d {
				return !r.excluded(u)
			}
		}
	}
	return false
}

func (r *run) excluded(u site.URL) bool {
	for _, g := range r.excludes {
		if g.Match(u) {
			return true
		}
	}
	return false
}

// admit gives numbers to the URLs that a document names, and puts those to be asked into the frontier. The answer has the
// number of each candidate, or -1 for one that the job does not admit. depth is the document's.
func (r *run) admit(doc uint32, depth int, cs []candidate) []int64 {
	ids := make([]int64, len(cs))
	r.enqueue(r.admitInto(ids, doc, depth, cs)...)
	return ids
}

// queueing is a URL on its way into the frontier, which has a lock of its own.
type queueing struct {
	id   uint32
	host string
	p    priority
}

// admitInto is admit without the last step: what it returns is for enqueue.
func (r *run) admitInto(ids []int64, doc uint32, depth int, cs []candidate) (add []queueing) {
	t := r.table
	queue := func(id uint32, c *candidate) {
		e := t.at(id)
		e.seen |= c.seen()
		if e.flags&fQueued != 0 || c.kind != kindSitemap && e.flags&fKnown != 0 && (r.deferring || r.planner != nil) && governed(e) {
			return // or it has its turn without being named
		}
		if !r.deferring {
			e.flags |= fQueued
		}
		q := queueing{id: id, host: t.urlOf(id).Hostname(), p: prioNew}
		switch {
		case c.kind == kindSitemap:
			q.p = prioSeed
		case c.guess:
			q.p = r.guessPriority()
		case c.kind == kindRequisite:
			q.p = prioRequisite
		case e.flags&fKnown != 0:
			q.p = prioKnown
		}
		add = append(add, q)
	}
	var unknown []int
	t.mu.Lock()
	for i := range cs {
		id, ok := t.find(cs[i].url)
		if !ok {
			ids[i] = -1
			if cs[i].follow {
				unknown = append(unknown, i)
			}
			continue
		}
		if (r.rescan || t.at(id).outcome == site.OutOfScope) && t.at(id).flags&fQueued == 0 { // other rules admitted it
			if ok, _ := r.allowed(t.urlOf(id), cs[i].kind); !ok {
				ids[i] = -1
				continue
			}
		}
		ids[i] = int64(id)
		if cs[i].follow {
			queue(id, &cs[i])
		}
	}
	t.mu.Unlock()
	if len(unknown) > 0 {
		r.admitNew(ids, unknown, doc, depth, cs, queue)
	}
	return add
}

// admitNew decides on URLs that were never seen.
func (r *run) admitNew(ids []int64, unknown []int, doc uint32, depth int, cs []candidate, queue func(uint32, *candidate)) {
	t := r.table
	for _, i := range unknown {
		u := site.Canonical(string(cs[i].url))
		if s, ok := site.StripSession(u); ok {
			r.notes.add("URLs with session ids, asked without them", u)
			u = s
		}
		if len(u.String()) > maxURL {
			continue
		}
		d := depth + 1
		if cs[i].kind == kindPage && r.job.Limits.MaxDepth > 0 && int64(d) > r.job.Limits.MaxDepth {
			r.notes.cap(fmt.Sprintf("limits.max_depth = %d left out what is linked from further away", r.job.Limits.MaxDepth))
			continue
		}
		if ok, reason := r.allowed(u, cs[i].kind); !ok {
			if _, trapped := r.traps.Check(u); trapped && r.scope.Covers(u) {
				r.stats.trapped.Add(1)
				r.notes.trap(u, reason)
			}
			continue
		}
		b := []byte(u.String())
		t.mu.Lock()
		_, ok := t.find(b)
		t.mu.Unlock()
		disallowed := ""
		if !ok {
			r.admitMu.Lock()
			reason, trapped := r.counter.Add(u)
			rules := r.origins[u.Origin()]
			r.admitMu.Unlock()
			if trapped {
				r.stats.trapped.Add(1)
				r.notes.trap(u, reason)
				continue
			}
			if allowed, reason := r.robotsAllow(rules, u); !allowed && silent(rules) == "" {
				disallowed = reason
			}
		}
		t.mu.Lock()
		id, ok := t.find(b)
		if !ok { // another worker may have been faster
			id = t.add(b)
			e := t.at(id)
			e.ref, e.depth = doc+1, uint16(min(d, 1<<16-1))
			if doc == noDoc {
				e.ref = 0
			}
			if cs[i].kind == kindRequisite {
				e.flags |= fRequis
			}
		} else {
			disallowed = ""
		}
		if disallowed == "" {
			queue(id, &cs[i])
		} else {
			t.at(id).flags |= fQueued
		}
		rec := store.Resource{ID: id, URL: u, Referrer: t.at(id).ref, Depth: d, Requis: cs[i].kind == kindRequisite}
		t.mu.Unlock()
		ids[i] = int64(id)
		if disallowed != "" {
			rec.Outcome, rec.Reason = site.Disallowed, disallowed
			r.stats.disallowed.Add(1)
			r.finish(&store.Done{Resource: rec})
		}
	}
}

// noDoc is the document of a URL that no document names.
const noDoc = ^uint32(0)
