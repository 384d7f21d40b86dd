// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/cluster/lease"
	"mirrord/store"
)

// atOnce is how many hosts are taken or given back at a time.
const atOnce = 16

// keepShare takes the hosts that are this node's and gives the others back, until ctx ends.
func (e *Engine) keepShare(ctx context.Context) {
	watched := e.o.Now()
	jobs := comparison{seen: lease.Sightings{Term: e.o.Term}}
	for {
		if now := e.o.Now(); now-watched >= e.o.Term.Renew() {
			watched = now
			e.watchOthers(ctx)
		}
		e.round(ctx)
		e.stillMember(ctx)
		e.compareJobs(&jobs)
		for _, unused := range e.loans.lapsed(e.o.Now(), e.o.Term) {
			e.tellTurn(unused, "")
		}
		t := time.NewTimer(e.t.linger())
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		case <-e.wake:
			t.Stop()
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
	if t.split == nil {
		loads := t.loads
		if t.home {
			loads = slices.Clone(loads)
			for i := range loads {
				loads[i].Home = t.homes[loads[i].Host]
			}
		}
		t.split = lease.NewShares(loads)
	}
	t.split.Set(members)
	clear(t.mine)
	for _, name := range t.split.Of(t.node) {
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

// round takes and gives back the hosts that are due.
func (e *Engine) round(ctx context.Context) {
	e.settle(ctx)
	take, give, owed, moved := e.t.plan()
	if moved {
		kick(e.changed)
	}
	e.each(take, func(name string) bool {
		short, cancel := context.WithTimeout(ctx, e.o.Term.End()/2)
		defer cancel()
		_, _, err := e.take(short, name, 0)
		if err != nil {
			e.o.Log.Debug("a host is not this node's yet", "host", name, "err", err)
		}
		return err == nil
	})
	e.each(give, func(name string) bool { return e.give(ctx, name) })
	e.each(owed, func(name string) bool { return e.own(ctx, name) })
}

// own takes a host that stands as the session's although it does not have it, because the answer to a write
// was lost; it is given back like any other then. Otherwise no node could use it as long as the session
// lives.
func (e *Engine) own(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, e.o.Term.End()/2)
	defer cancel()
	entry, _, err := get[lease.Entry](ctx, e.kv, keyHost+escape(name))
	if err != nil {
		return false
	}
	if session, _, live := e.t.live(); live && entry.Session == session && !entry.Free {
		_, _, err = e.take(ctx, name, 0)
	}
	if err == nil || errors.Is(err, store.ErrLocked) {
		e.t.paid(name)
	}
	return false
}

// each calls f for some hosts, several at a time, and says that there is another share when one succeeded.
func (e *Engine) each(names []string, f func(name string) bool) {
	var wg sync.WaitGroup
	next := make(chan string)
	for range min(atOnce, len(names)) {
		wg.Go(func() {
			for name := range next {
				if f(name) {
					kick(e.changed)
				}
			}
		})
	}
	for _, name := range names {
		next <- name
	}
	close(next)
	wg.Wait()
}

// take makes a host this session's, or writes it again with larger tokens when it is already. token is the
// first of them, which the caller may give out.
func (e *Engine) take(
	ctx context.Context, name string, floor uint64,
) (session string, token uint64, err error) {
	key := keyHost + escape(name)
	for range 10 { // others may write between reading and writing
		session, _, live := e.t.live()
		if !live {
			return "", 0, ErrAway
		}
		entry, revision, ours := e.t.has(name)
		if !ours {
			if entry, revision, err = get[lease.Entry](ctx, e.kv, key); err != nil {
				return "", 0, err
			}
		}
		var holder lease.Beat
		var beat uint64
		if entry.Session != "" && entry.Session != session && !entry.Free {
			holder, beat, err = get[lease.Beat](ctx, e.kv, keyBeat+escape(entry.Node))
			if err != nil {
				return "", 0, err
			}
		}
		next, tokens, gap, ok := entry.Taken(e.o.Node, session, holder, beat, floor)
		if !ok {
			if e.t.silent(keyBeat+escape(entry.Node), beat) && e.bury(ctx, entry.Node, holder, beat) {
				continue
			}
			if entry.Node != e.o.Node {
				e.t.refused(name, entry.Node)
			}
			return "", 0, fmt.Errorf("%w by node %s", store.ErrLocked, entry.Node)
		}
		if revision, err = put(ctx, e.kv, key, next, revision); errors.Is(err, errOther) {
			if err := e.look(ctx, name, session); err != nil {
				return "", 0, err
			}
			continue
		}
		if err != nil {
			e.t.owe(session, name)
			return "", 0, err
		}
		token, _ := tokens.Next(floor)
		if !e.t.took(session, name, next, revision, tokens, gap) {
			return "", 0, ErrAway
		}
		return session, token, nil
	}
	return "", 0, fmt.Errorf("host %s: too many ask for it at the same time", name)
}

// look reads again what stands of a host that this node believed to have.
func (e *Engine) look(ctx context.Context, name, session string) error {
	if _, _, ours := e.t.has(name); !ours {
		return nil
	}
	entry, revision, err := get[lease.Entry](ctx, e.kv, keyHost+escape(name))
	if err != nil {
		return err
	}
	if entry.Session == session && !entry.Free { // written beside this call, or the answer was lost
		e.t.took(session, name, entry, revision, lease.Tokens{}, false) // who wrote it has the tokens
		return nil
	}
	e.t.drop(name, true)
	kick(e.changed)
	return nil
}

// settle makes the node the home of hosts that have none and whose sites lie here.
func (e *Engine) settle(ctx context.Context) {
	settle, elsewhere := e.t.unsettled()
	for _, name := range elsewhere {
		e.o.Log.Warn("the sites of a host lie on this machine and are not used: their home is another node",
			"host", name)
	}
	e.each(settle, func(name string) bool {
		_, err := e.kv.Create(ctx, keyHome+escape(name), []byte(e.o.Node))
		return err == nil
	})
}

// give gives an unused host back.
func (e *Engine) give(ctx context.Context, name string) bool {
	entry, revision, ok := e.t.drop(name, false)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, e.o.Term.End()/2)
	defer cancel()
	if _, err := put(ctx, e.kv, keyHost+escape(name), entry.Given(), revision); err != nil {
		e.t.owe(entry.Session, name)
		e.o.Log.Debug("a host was not given back", "host", name, "err", err)
	}
	return true
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
	_, err := put(ctx, e.kv, keyBeat+escape(e.o.Node), lease.Beat{Session: session, Ended: true}, revision)
	if err == nil {
		err = e.kv.Delete(ctx, keyNode+escape(e.o.Node))
	}
	if err != nil {
		e.o.Log.Warn("left the cluster without a word; others wait for a term", "hosts", len(names), "err", err)
	}
}

// leaveWithin is how long a farewell may take.
const leaveWithin = 3 * time.Second
