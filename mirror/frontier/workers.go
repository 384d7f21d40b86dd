// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"time"

	"mirrord/fetch"
)

// Workers work on the URLs of a frontier, many at a time.
type Workers struct {
	Front       *Frontier
	Connections int // that the job allows to one host
	Now         func() time.Time
	Slot        *RunSlot // nil: the run has no turns

	// Release ends a turn of an origin's host.
	Release func(origin string, o fetch.Observation)
	// Ask does the work of one URL. It calls release when the exchange with the host has ended, at most once.
	// used is false when it did not need its turn: the turn then goes to another URL of the origin. An error
	// ends the run.
	Ask func(ctx context.Context, id uint32, release func(fetch.Observation)) (used bool, err error)
	// Lent does what a helper's turn is for. It calls release when the exchange with the helper's host has
	// ended, at most once. An error ends the run. Nil: there are no helpers.
	Lent func(ctx context.Context, l Lent, release func(fetch.Observation)) error
	// After is called when the work on a URL has ended, and before the frontier learns of that.
	After func()
	// Stop ends the run.
	Stop func(error)
}

// Stage works until nothing is left in the frontier, and nothing in work that could bring more, or until ctx
// ends. It returns when all effects are on their way to the disk.
func (w *Workers) Stage(ctx context.Context) {
	n := max(w.Connections+spare(w.Connections), 16)
	w.Slot.While(ctx, func() {
		w.Front.Run(ctx, n, w.Now, func(id uint32, origin string, turn bool) {
			if err := w.work(ctx, id, origin, turn); err != nil {
				w.Stop(err)
			}
			w.After()
		})
	})
}

// spare is how many workers there are beside those that a host at its full number of connections keeps busy:
// some for other hosts, and some whose bodies have come and wait to be read while their connections are used
// again. The answers of many connections come in bursts; those of few do not wait for long.
func spare(connections int) int { return max(4, connections-16) }

// Lend lets helpers work for an origin.
func (w *Workers) Lend(ctx context.Context, of string, helpers []Helper) {
	w.Front.Lend(of, helpers, func(l Lent) {
		released := false
		release := func(o fetch.Observation) {
			if !released {
				released = true
				w.Release(l.Helper.Origin(), o)
				w.Front.releaseLent(l.Helper)
			}
		}
		defer w.After()
		defer release(fetch.Observation{Unused: true})
		if err := w.Lent(ctx, l, release); err != nil {
			w.Stop(err)
		}
	})
}

// work works on one URL, and on others of its origin as long as none needs the turn.
func (w *Workers) work(ctx context.Context, id uint32, origin string, turn bool) error {
	released := !turn
	release := func(o fetch.Observation) {
		if !released {
			released = true
			w.Release(origin, o)
			w.Front.Release(origin)
		}
	}
	defer release(fetch.Observation{Unused: true})
	for ctx.Err() == nil {
		used, err := w.Ask(ctx, id, release)
		if used || err != nil {
			return err
		}
		next, ok := w.Front.Another(origin)
		if !ok {
			return nil
		}
		w.Front.Done(origin)
		id = next
	}
	return nil
}
