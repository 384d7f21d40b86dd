// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

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
	_, err := put(ctx, e.kv, keyBeat+escape(e.Node), lease.Beat{Session: session, Ended: true}, revision)
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

// Lossy lets the next writes of values count, but be without an answer.
func (f *Facts) Lossy(writes int) { f.kv = &lossy{f.kv, writes} }

type lossy struct {
	jetstream.KeyValue
	left int
}

func (l *lossy) lost(revision uint64, err error) (uint64, error) {
	if l.left--; l.left >= 0 && err == nil {
		return 0, context.DeadlineExceeded
	}
	return revision, err
}

func (l *lossy) Create(
	ctx context.Context, key string, v []byte, o ...jetstream.KVCreateOpt,
) (uint64, error) {
	return l.lost(l.KeyValue.Create(ctx, key, v, o...))
}

func (l *lossy) Update(ctx context.Context, key string, v []byte, revision uint64) (uint64, error) {
	return l.lost(l.KeyValue.Update(ctx, key, v, revision))
}

func (l *lossy) Delete(ctx context.Context, key string, o ...jetstream.KVDeleteOpt) error {
	_, err := l.lost(0, l.KeyValue.Delete(ctx, key, o...))
	return err
}

// FollowOnce follows until ctx ends, as a follower that knows some values.
func (f *Facts) FollowOnce(
	ctx context.Context, kind string, known map[string]bool, changed func(string, []byte),
) {
	f.follow(ctx, kind, known, changed)
}

// Sweep removes marks that are older than a time.
func (f *Facts) Sweep(ctx context.Context, older time.Duration) (int, error) {
	return f.sweep(ctx, older)
}
