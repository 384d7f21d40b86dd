// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"mirrord/cluster/lease"
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
