// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"mirrord/cluster/lease"
	"mirrord/internal/timed"
)

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	return timed.Wait(ctx, d) == nil
}

// keepSession beats until ctx ends.
func (e *Engine) keepSession(ctx context.Context) {
	for pause(ctx, e.beat(ctx)) {
	}
}

// endInTime ends a session whose beats no longer arrive.
func (e *Engine) endInTime(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.t.beginning():
		}
		for {
			d, ok := e.t.endsIn()
			if !ok || !pause(ctx, d) {
				break
			}
			if _, _, live := e.t.live(); !live {
				e.Log.Error("the cluster was not reached in time: all runs end", "node", e.Node)
				kick(e.changed)
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// retryBeat is the pause after a beat that did not arrive.
func (e *Engine) retryBeat() time.Duration { return e.Term.TTL / 15 }

// failedMost is after how many failures in a row a node tries another keeper: the one that it is connected to
// may be cut off from the others.
const failedMost = 3

func tryAnother(e *Engine) {
	if e.failed.Add(1)%failedMost == 0 {
		if err := e.nc.ForceReconnect(); err != nil {
			e.Log.Debug("no other keeper", "err", err)
		}
	}
}

// beat sends one beat, and returns when the next one is due.
func (e *Engine) beat(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, e.Term.TTL/6)
	defer cancel()
	session, revision, live := e.t.live()
	if !live {
		return e.beginSession(ctx)
	}
	key, sent := keyBeat+escape(e.Node), e.Now()
	revision, err := put(ctx, e.kv, key, lease.Beat{Session: session}, revision)
	if err == nil {
		e.t.renewed(session, sent, revision)
		e.failed.Store(0)
		return e.Term.Renew()
	}
	if !errors.Is(err, errOther) {
		e.Log.Warn("no answer from the cluster", "err", err)
		tryAnother(e)
		return e.retryBeat()
	}
	b, revision, err := get[lease.Beat](ctx, e.kv, key)
	switch {
	case err != nil:
		return e.retryBeat()
	case b.Session == session && !b.Ended: // the answer to an earlier beat was lost
		e.t.renewed(session, 0, revision)
		return 0
	}
	e.t.lost(session)
	e.Log.Error("this node was silent for too long and has lost its sites: all runs end", "node", e.Node)
	kick(e.changed)
	return 0
}

// beginSession begins a new session when no session lives under the node's name.
func (e *Engine) beginSession(ctx context.Context) time.Duration {
	key := keyBeat + escape(e.Node)
	b, revision, err := get[lease.Beat](ctx, e.kv, key)
	if err != nil {
		tryAnother(e)
		return e.retryBeat()
	}
	if !e.t.opens(b, revision) {
		e.Log.Warn("another process has the name of this node, or was killed a moment ago: waiting",
			"node", e.Node, "at most", e.Term.TTL)
		return e.retryBeat()
	}
	session, sent := rand.Text(), e.Now()
	if revision, err = put(ctx, e.kv, key, lease.Beat{Session: session}, revision); err != nil {
		return e.retryBeat()
	}
	e.began.Store(time.Now().Unix())
	e.t.begin(session, sent, revision)
	e.Log.Info("part of the cluster", "node", e.Node)
	e.announce(ctx, e.me(session))
	kick(e.wake)
	return e.Term.Renew()
}

// end ends the session and all leases. The lock is held.
func (t *table) end() {
	t.before, t.session.Name, t.revision = t.session.Name, "", 0
	t.begun = make(chan struct{})
	clear(t.hosts)
	clear(t.owed)
	for name, l := range t.sites {
		if l.lost != nil { // else it is asked for, and no other call may be given it
			l.end()
			delete(t.sites, name)
		}
	}
}
