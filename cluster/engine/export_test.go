// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"mirrord/cluster/lease"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Lose ends the session as another node does that saw this one silent for a term, and lets this one notice.
func (e *Engine) Lose(ctx context.Context) error {
	session, revision, live := e.t.live()
	if !live {
		return ErrAway
	}
	_, err := put(ctx, e.kv, keyBeat+escape(e.o.Node), lease.Beat{Session: session, Ended: true}, revision)
	if err != nil {
		return err
	}
	e.beat(ctx)
	e.beat(ctx)
	return nil
}

// Unanswered makes the node forget that it has a host, as when the answer to a write is lost.
func (e *Engine) Unanswered(name string) {
	session, _, _ := e.t.live()
	e.t.drop(name, true)
	e.t.mu.Lock()
	clear(e.t.asked)
	e.t.mu.Unlock()
	e.t.owe(session, name)
}

// Connection and Bucket are those of the engine, for what tests compare it with.
func (e *Engine) Connection() *nats.Conn { return e.nc }

func (e *Engine) Bucket() jetstream.KeyValue { return e.kv }

// Acting reports whether the node has a session.
func (e *Engine) Acting() bool {
	_, _, live := e.t.live()
	return live
}
