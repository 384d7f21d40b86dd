// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"mirrord/cluster/lease"
	"mirrord/store/disk"
)

// atOnce is how many hosts are taken or given back at a time.
const atOnce = 16

// holdings takes hosts for the node and gives them back.
type holdings struct{ *Engine }

// round takes and gives back the hosts that are due.
func (h holdings) round(ctx context.Context) {
	h.settle(ctx)
	take, give, owed, moved := h.t.plan()
	if moved {
		kick(h.changed)
	}
	h.each(take, func(name string) bool {
		short, cancel := context.WithTimeout(ctx, h.Term.End()/2)
		defer cancel()
		_, _, err := h.take(short, name, 0)
		if err != nil {
			h.Log.Debug("a host is not this node's yet", "host", name, "err", err)
		}
		return err == nil
	})
	h.each(give, func(name string) bool { return h.give(ctx, name) })
	h.each(owed, func(name string) bool { return h.own(ctx, name) })
}

// own takes a host that stands as the session's although it does not have it, because the answer to a write
// was lost; it is given back like any other then. Otherwise no node could use it as long as the session
// lives.
func (h holdings) own(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, h.Term.End()/2)
	defer cancel()
	entry, _, err := get[lease.Entry](ctx, h.kv, keyHost+escape(name))
	if err != nil {
		return false
	}
	if session, _, live := h.t.live(); live && entry.Session == session && !entry.Free {
		_, _, err = h.take(ctx, name, 0)
	}
	if err == nil || errors.Is(err, disk.ErrLocked) {
		h.t.paid(name)
	}
	return false
}

// each calls f for some hosts, several at a time, and says that there is another share when one succeeded.
func (h holdings) each(names []string, f func(name string) bool) {
	var wg sync.WaitGroup
	next := make(chan string)
	for range min(atOnce, len(names)) {
		wg.Go(func() {
			for name := range next {
				if f(name) {
					kick(h.changed)
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
func (h holdings) take(
	ctx context.Context, name string, floor uint64,
) (session string, token uint64, err error) {
	key := keyHost + escape(name)
	for range 10 { // others may write between reading and writing
		session, _, live := h.t.live()
		if !live {
			return "", 0, ErrAway
		}
		entry, revision, ours := h.t.has(name)
		if !ours {
			if entry, revision, err = get[lease.Entry](ctx, h.kv, key); err != nil {
				return "", 0, err
			}
		}
		var holder lease.Beat
		var beat uint64
		if entry.Session != "" && entry.Session != session && !entry.Free {
			holder, beat, err = get[lease.Beat](ctx, h.kv, keyBeat+escape(entry.Node))
			if err != nil {
				return "", 0, err
			}
		}
		next, tokens, gap, ok := entry.Taken(h.Node, session, holder, beat, floor)
		if !ok {
			if h.t.silent(keyBeat+escape(entry.Node), beat) && h.bury(ctx, entry.Node, holder, beat) {
				continue
			}
			if entry.Node != h.Node {
				h.t.refused(name, entry.Node)
			}
			return "", 0, fmt.Errorf("%w by node %s", disk.ErrLocked, entry.Node)
		}
		if revision, err = put(ctx, h.kv, key, next, revision); errors.Is(err, errOther) {
			if err := h.look(ctx, name, session); err != nil {
				return "", 0, err
			}
			continue
		}
		if err != nil {
			h.t.owe(session, name)
			return "", 0, err
		}
		token, _ := tokens.Next(floor)
		if !h.t.took(session, name, next, revision, tokens, gap) {
			return "", 0, ErrAway
		}
		return session, token, nil
	}
	return "", 0, fmt.Errorf("host %s: too many ask for it at the same time", name)
}

// look reads again what stands of a host that this node believed to have.
func (h holdings) look(ctx context.Context, name, session string) error {
	if _, _, ours := h.t.has(name); !ours {
		return nil
	}
	entry, revision, err := get[lease.Entry](ctx, h.kv, keyHost+escape(name))
	if err != nil {
		return err
	}
	if entry.Session == session && !entry.Free { // written beside this call, or the answer was lost
		h.t.took(session, name, entry, revision, lease.Tokens{}, false) // who wrote it has the tokens
		return nil
	}
	h.t.drop(name, true)
	kick(h.changed)
	return nil
}

// settle makes the node the home of hosts that have none and whose sites lie here.
func (h holdings) settle(ctx context.Context) {
	settle, elsewhere := h.t.unsettled()
	for _, name := range elsewhere {
		h.Log.Warn("the sites of a host lie on this machine and are not used: their home is another node",
			"host", name)
	}
	h.each(settle, func(name string) bool {
		_, err := h.kv.Create(ctx, keyHome+escape(name), []byte(h.Node))
		return err == nil
	})
}

// give gives an unused host back.
func (h holdings) give(ctx context.Context, name string) bool {
	entry, revision, ok := h.t.drop(name, false)
	if !ok {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, h.Term.End()/2)
	defer cancel()
	if _, err := put(ctx, h.kv, keyHost+escape(name), entry.Given(), revision); err != nil {
		h.t.owe(entry.Session, name)
		h.Log.Debug("a host was not given back", "host", name, "err", err)
	}
	return true
}

// watchOthers looks at the beats of the nodes that this one watches, and ends those that are silent.
func (h holdings) watchOthers(ctx context.Context) {
	for _, name := range lease.Watched(h.Node, h.t.others()) {
		key := keyBeat + escape(name)
		b, revision, err := get[lease.Beat](ctx, h.kv, key)
		if err != nil {
			return
		}
		if b.Ended || h.t.silent(key, revision) {
			h.bury(ctx, name, b, revision)
		}
	}
}

// bury ends the session of a node that was silent for a term, and takes it out of the members. It reports
// whether that session is over.
func (h holdings) bury(ctx context.Context, name string, b lease.Beat, revision uint64) bool {
	if !b.Ended {
		b.Ended = true
		if _, err := put(ctx, h.kv, keyBeat+escape(name), b, revision); err != nil {
			return false // it lives, or another node was first
		}
		h.Log.Warn("a node of the cluster was silent for too long; its sites go to others", "node", name)
	}
	key := keyNode + escape(name)
	n, revision, err := get[Node](ctx, h.kv, key)
	if err == nil && revision > 0 && n.Session == b.Session {
		err = h.kv.Delete(ctx, key, jetstream.LastRevision(revision))
		if err != nil && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			h.Log.Debug("a node that has ended is still a member", "node", name, "err", err)
		}
	}
	return true
}
