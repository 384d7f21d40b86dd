// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"mirrord/cluster/lease"
)

// keepShare takes the hosts that are this node's and gives the others back, until ctx ends.
func (e *Engine) keepShare(ctx context.Context) {
	watched := e.Now()
	jobs := comparison{seen: lease.Sightings{Term: e.Term}}
	for {
		if now := e.Now(); now-watched >= e.Term.Renew() {
			watched = now
			holdings{e}.watchOthers(ctx)
		}
		holdings{e}.round(ctx)
		e.stillMember(ctx)
		e.compareJobs(&jobs)
		for _, unused := range e.loans.lapsed(e.Now(), e.Term) {
			e.tellTurn(unused)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(e.t.linger()):
		case <-e.wake:
		}
	}
}

// linger is how long the sites of a host that goes to another node stay with this one after their last use,
// so that the records of a run that has ended are written. The host stays twice as long.
func (t *table) linger() time.Duration { return min(2*time.Second, t.term.TTL/10) }

// settled reports whether the node has been here for a term: only then it becomes the home of what has none,
// so that nodes which start together share the sites.
func (t *table) settled() bool { return t.now()-t.joined >= t.term.TTL }

// share finds which hosts are this node's. The lock is held.
func (t *table) share() {
	if !t.dirty {
		return
	}
	t.dirty = false
	var members []lease.Peer
	for name, n := range t.members {
		if !t.drained[name] {
			members = append(members, lease.Peer{Name: name, Weight: n.Slots})
		}
	}
	loads := t.loads
	if t.home {
		loads = slices.Clone(loads)
		for i := range loads {
			loads[i].Home = t.homes[loads[i].Host]
		}
	}
	clear(t.mine)
	for _, name := range lease.Share(loads, members)[t.node] {
		t.mine[name] = true
	}
}

// owing returns the hosts that may stand as the session's although it does not have them. The lock is held.
func (t *table) owing() (names []string) {
	for name := range t.owed {
		if t.hosts[name] != nil {
			delete(t.owed, name)
		} else if !t.mine[name] {
			names = append(names, name)
		}
	}
	return names
}

// elsewhere reports whether the sites of a host are another node's by the partition. The lock is held.
func (t *table) elsewhere(name string) bool {
	_, sited := slices.BinarySearchFunc(t.loads, lease.Load{Host: name}, byHost)
	if !sited || t.mine[name] {
		return false
	}
	home := t.homes[name]
	for other := range t.members {
		if other != t.node && !t.drained[other] && (!t.home || home == "" || home == other) {
			return true
		}
	}
	return false
}

func byHost(a, b lease.Load) int { return strings.Compare(a.Host, b.Host) }

// given reports whether a host was just given back to the node whose it is, which is to have it before it is
// asked for again. The lock is held.
func (t *table) given(name string, now time.Duration) bool {
	to, ok := t.taken[name]
	return ok && to.node == "" && now-to.at < 2*t.linger()
}

// leave gives everything back and ends the session.
func (e *Engine) leave() {
	session, revision, live := e.t.live()
	if !live {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
	defer cancel()
	names := e.t.all()
	e.t.want(nil, nil, "")
	e.t.lost(session)
	_, err := put(ctx, e.kv, keyBeat+escape(e.Node), lease.Beat{Session: session, Ended: true}, revision)
	if err == nil {
		err = e.kv.Delete(ctx, keyNode+escape(e.Node))
	}
	if err != nil {
		e.Log.Warn("left the cluster without a word; others wait for a term", "hosts", len(names), "err", err)
	}
}

// leaveWithin is how long a farewell may take.
const leaveWithin = 3 * time.Second
