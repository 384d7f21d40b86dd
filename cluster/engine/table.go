// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"mirrord/cluster/lease"
)

// table is what a node knows of its session, its hosts and the other nodes. It makes no requests.
// Safe for concurrent use.
type table struct {
	node string
	home bool // a host's sites stay on the node that had them first
	now  func() time.Duration
	term lease.Term
	mu   sync.Mutex

	session  lease.Holder
	before   string        // the name of the last session
	revision uint64        // of the beat
	joined   time.Duration // when it began
	begun    chan struct{} // closed while there is a session
	seen     lease.Sightings

	hosts map[string]*host      // that the session has
	sites map[string]*siteLease // of them, and those about to be leased
	loads []lease.Load          // what the jobs want, by host
	wants map[string]string     // the hosts of their sites
	jobs  string                // digest of their files
	here  map[string]bool       // hosts with sites on this disk; those that were settled are taken out
	mine  map[string]bool       // of loads
	asked map[string]time.Duration
	taken map[string]taken // asked, and seen to be another node's; of "": just given to whose it is
	owed  map[string]bool  // hosts that may stand as the session's although it does not have them

	known bool // members, drained and homes were read
	dirty bool // mine is to be found again
	peers
}

func newTable(node string, o Options) *table {
	return &table{
		node:    node,
		home:    o.Homes,
		now:     o.Now,
		term:    o.Term,
		session: lease.Holder{Term: o.Term},
		begun:   make(chan struct{}),
		seen:    lease.Sightings{Term: o.Term},
		hosts:   map[string]*host{},
		sites:   map[string]*siteLease{},
		mine:    map[string]bool{},
		asked:   map[string]time.Duration{},
		taken:   map[string]taken{},
		owed:    map[string]bool{},
		here:    map[string]bool{},
		peers:   newPeers(),
	}
}

// live returns the session when the node may act, and the revision of its beat. One whose time is over ends.
func (t *table) live() (session string, revision uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session.Name != "" && !t.session.Live(t.now()) {
		t.end()
	}
	return t.session.Name, t.revision, t.session.Name != ""
}

// endsIn is how long the session lasts without a further beat; ok is false without one.
func (t *table) endsIn() (d time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session.EndsAt() - t.now(), t.session.Name != ""
}

// lost ends a session that another node reports as over.
func (t *table) lost(session string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session.Name == session {
		t.end()
	}
}

// begin begins a session whose beat was sent at a time.
func (t *table) begin(session string, sent time.Duration, revision uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session = lease.Holder{Name: session, Term: t.term}
	t.session.Renewed(sent)
	t.revision, t.joined = revision, t.now()
	close(t.begun)
}

// renewed notes a beat that arrived; sent is 0 for one of which only the revision is known.
func (t *table) renewed(session string, sent time.Duration, revision uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session.Name == session {
		t.session.Renewed(sent)
		t.revision = revision
	}
}

// opens reports whether a new session may begin.
func (t *table) opens(b lease.Beat, revision uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	silent := t.seen.Silent(keyBeat+t.node, revision, t.now())
	return lease.Opens(b, revision, t.before, silent)
}

// beginning returns the channel that is closed while there is a session.
func (t *table) beginning() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.begun
}

// silent is Sightings.Silent.
func (t *table) silent(key string, revision uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen.Silent(key, revision, t.now())
}

// reserve keeps others of this process from a site while its lease is asked for.
func (t *table) reserve(site string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sites[site] != nil {
		return false
	}
	t.sites[site] = &siteLease{site: site}
	return true
}

func (t *table) unreserve(site string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.sites[site]; l != nil && l.lost == nil {
		delete(t.sites, site)
	}
}

// has returns the entry of a host that the session has.
func (t *table) has(name string) (e lease.Entry, revision uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.hosts[name]; h != nil {
		return h.entry, h.revision, true
	}
	return e, 0, false
}

// took notes a host that was taken, or taken again; false when the session is over meanwhile. tokens are left
// of it; gap says that the first request has to wait.
func (t *table) took(
	session, name string, e lease.Entry, revision uint64, tokens lease.Tokens, gap bool,
) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session.Name != session || !t.session.Live(t.now()) {
		return false
	}
	h := t.hosts[name]
	if h == nil {
		h = &host{since: t.now()}
		t.hosts[name] = h
	}
	if revision > h.revision {
		h.entry, h.revision, h.tokens = e, revision, tokens
	}
	h.used = t.now()
	h.kept = h.kept || t.mine[name]
	if gap {
		h.quiet = t.now() + t.term.Gap
	}
	return true
}

// owe notes that it is not known what stands of a host after a write of a session.
func (t *table) owe(session, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.session.Name == session {
		t.owed[name] = true
	}
}

// paid notes that it is known again.
func (t *table) paid(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.owed, name)
}

// again returns the next token for a site of a host that the session has; ok is false when none above floor
// is left, so that the host has to be taken again.
func (t *table) again(name string, floor uint64) (session string, token uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[name]
	if h == nil || !t.session.Live(t.now()) {
		return "", 0, false
	}
	h.used = t.now()
	token, ok = h.tokens.Next(floor)
	return t.session.Name, token, ok
}

// lease gives out a site of a host that was taken with a token.
func (t *table) lease(session, site, name string, token uint64, from holdings) *siteLease {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[name]
	if h == nil || t.session.Name != session || !t.session.Live(t.now()) {
		return nil
	}
	h.uses++
	l := &siteLease{
		from:  from,
		site:  site,
		host:  name,
		token: token,
		lost:  make(chan struct{}),
	}
	t.sites[site] = l
	return l
}

// release ends the lease of a site, and reports whether its host is to be given back at once.
func (t *table) release(l *siteLease) (give bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.end()
	if t.sites[l.site] != l {
		return false
	}
	delete(t.sites, l.site)
	h := t.hosts[l.host]
	h.uses--
	h.used = t.now()
	return !h.busy() && !h.kept && !t.mine[l.host]
}

// drop takes a host out that is to be given back, when it is unused; or one that another node has.
func (t *table) drop(name string, lost bool) (e lease.Entry, revision uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[name]
	if h == nil || (!lost && (h.busy() || t.mine[name])) {
		return e, 0, false
	}
	delete(t.hosts, name)
	if h.leaves && t.asked[name] > 0 {
		t.taken[name] = taken{at: t.now()}
	}
	for site, l := range t.sites {
		if l.lost != nil && l.host == name {
			l.end()
			delete(t.sites, site)
		}
	}
	return h.entry, h.revision, true
}

// all returns the hosts that the session has.
func (t *table) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.hosts))
}

// want sets the sites to be shared out.
func (t *table) want(sites map[string]string, here []string, jobs string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.jobs = jobs
	if maps.Equal(sites, t.wants) {
		return
	}
	count := map[string]int{}
	for _, host := range sites {
		count[host]++
	}
	t.loads = make([]lease.Load, 0, len(count))
	for host, n := range count {
		t.loads = append(t.loads, lease.Load{Host: host, Sites: n})
	}
	slices.SortFunc(t.loads, byHost)
	for _, name := range here {
		if host := sites[name]; host != "" && t.homes[host] != t.node {
			t.here[host] = true
		}
	}
	t.wants, t.dirty = sites, true
}

// hostOf returns the host under which a site is leased, and the home of that.
func (t *table) hostOf(site string) (host, home string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if host = t.wants[site]; host == "" {
		host = "site:" + site
	}
	return host, t.homes[host]
}

// unsettled returns the hosts that have no home and that have sites on this disk, or that this node
// has; and those that lie here although another node is their home. None is returned twice.
func (t *table) unsettled() (settle, elsewhere []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.home || !t.known {
		return nil, nil
	}
	for name := range t.here {
		switch t.homes[name] {
		case "":
			settle = append(settle, name)
			continue
		case t.node:
		default:
			elsewhere = append(elsewhere, name)
		}
		delete(t.here, name)
	}
	for name := range t.hosts {
		if t.mine[name] && t.homes[name] == "" && !t.here[name] {
			settle = append(settle, name)
		}
	}
	return settle, elsewhere
}

// tell changes the view of the others.
func (t *table) tell(change func(*peers)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.peers)
	t.known, t.dirty = true, true
}

// plan finds out what the node is to take and to give back.
func (t *table) plan() (take, give, owed []string, moved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.known || t.session.Name == "" {
		return nil, nil, nil, false
	}
	t.share()
	for name := range t.mine {
		if h := t.hosts[name]; h == nil {
			if !t.home || t.homes[name] != "" || t.settled() {
				take = append(take, name)
			}
		} else {
			h.kept = true
		}
	}
	now := t.now()
	for name, at := range t.asked {
		if now-at > 5*t.linger() {
			delete(t.asked, name)
			delete(t.taken, name)
		} else if t.hosts[name] == nil && !t.mine[name] && !t.given(name, now) {
			take = append(take, name)
		}
	}
	for name, h := range t.hosts {
		if h.quiet > 0 && now >= h.quiet {
			h.quiet, moved = 0, true
		}
		h.leaves = h.uses == 0 && now-h.since >= t.term.TTL && t.elsewhere(name)
		switch idle := now - h.used; {
		case h.busy() || t.mine[name] || (t.asked[name] > 0 && !h.leaves):
		case idle >= 2*t.linger():
			give = append(give, name)
		case idle >= t.linger():
			moved = moved || h.kept
		}
	}
	slices.Sort(take)
	slices.Sort(give)
	return take, give, t.owing(), moved
}

// shared returns the hosts whose sites this node is to run: those that it has and is to have, as soon as they
// may be requested, and those that it was to have and still uses.
func (t *table) shared() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]bool{}
	if !t.session.Live(t.now()) {
		return out
	}
	for name, h := range t.hosts {
		if h.uses == 0 && t.now() < h.quiet {
			continue // a run would have to wait, and others could not begin meanwhile
		}
		if t.mine[name] || (h.kept && (h.uses > 0 || t.now()-h.used < t.linger())) {
			out[name] = true
		}
	}
	return out
}

// others returns the names of all members.
func (t *table) others() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.members))
}

// told returns the digest of this node's job files, and which members there are and which are drained; known
// is false as long as that was not read.
func (t *table) told() (jobs string, p peers, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobs, peers{members: maps.Clone(t.members), drained: maps.Clone(t.drained)}, t.known
}

// refused notes that another node has a host; of "" that it has it no more.
func (t *table) refused(name, node string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if delete(t.taken, name); t.asked[name] > 0 && node != "" {
		t.taken[name] = taken{node, t.now()}
	}
}

// lend notes that a turn of a host is another node's, or is so no more, by 1 or -1. It reports whether the
// session has the host. One that is about to leave is not lent: ask again after wait.
func (t *table) lend(name string, by int) (has bool, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[name]
	switch {
	case h == nil || !t.session.Live(t.now()):
		return false, 0
	case h.leaves && by > 0:
		return true, t.linger()
	}
	h.lent, h.used = max(h.lent+by, 0), t.now()
	return true, 0
}

// turn is how long a request to a host has to wait; asked says that the host is wanted for the first time, of
// that another node has it.
func (t *table) turn(name string) (wait time.Duration, asked bool, of string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	h := t.hosts[name]
	if h == nil || !t.mine[name] { // also one that is this node's to have, and that another one still uses
		asked = t.asked[name] == 0 && h == nil
		t.asked[name] = now
	}
	switch by := t.taken[name]; {
	case !t.session.Live(now):
		return askAgain, asked, ""
	case h == nil && by.node != "" && now-by.at < t.term.TTL:
		return 0, asked, by.node
	case h == nil || h.leaves:
		return askAgain, asked, ""
	case now < h.quiet:
		return h.quiet - now, false, ""
	}
	h.used = now
	return 0, false, ""
}
