// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/internal/timed"
)

// When nothing is left but bodies on their way, those that come more slowly than tailRate, in bytes per
// second over tailWindow, are given up: they hold the whole run, which ends at most a minute later.
const (
	tailRate   = 1000
	tailWindow = 45 * time.Second
	tailLook   = 5 * time.Second
)

// tailMost is for how long a body of unknown length may hold a run which is finished otherwise: it may be a
// stream without end.
const tailMost = 30 * time.Minute

// ErrEndless is the cause with which the context of such a body ends.
var ErrEndless = errors.New("nothing else is left to request, and it still sends after 30m, without a length")

// ErrTrickles is the cause with which the context of a body ends that holds a run which is finished
// otherwise.
var ErrTrickles = errors.New("nothing else is left to request, and it sends less than 1 kB/s")

// Tail ends the bodies that hold a run which is finished otherwise. Safe for concurrent use; the zero value
// is ready.
type Tail struct {
	mu     sync.Mutex
	bodies map[*Body]bool
}

// Body is one body on its way.
type Body struct {
	bytes atomic.Int64
	sized atomic.Bool
	end   context.CancelCauseFunc
	began int64     // bytes when it was first judged
	since time.Time // when that was; zero: not yet
	alone time.Time // since when nothing else is left; zero: something is
}

// Sized notes that the length of the body is known.
func (b *Body) Sized() { b.sized.Store(true) }

// Count adds bytes that came.
func (b *Body) Count(n int) { b.bytes.Add(int64(n)) }

// Begin notes a body on its way; the context is for its exchange. The caller calls end afterwards.
func (t *Tail) Begin(ctx context.Context) (_ context.Context, b *Body, end func()) {
	b = new(Body)
	return t.begin(ctx, b), b, func() { t.end(b) }
}

// begin is Begin for a body that the caller has, who calls Tail.end afterwards.
func (t *Tail) begin(ctx context.Context, b *Body) context.Context {
	ctx, b.end = context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bodies == nil {
		t.bodies = map[*Body]bool{}
	}
	t.bodies[b] = true
	return ctx
}

// end says that a body has come, or does not.
func (t *Tail) end(b *Body) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bodies, b)
	b.end(nil)
}

// look ends bodies that are too slow. alone says that only URLs in work are left.
func (t *Tail) look(alone bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for b := range t.bodies {
		n := b.bytes.Load()
		switch {
		case !alone, n == 0: // for a header there is polite.timeout
			b.since, b.alone = time.Time{}, time.Time{}
		case b.alone.IsZero():
			b.since, b.began, b.alone = now, n, now
		case !b.sized.Load() && (now.Sub(b.alone) >= tailMost):
			b.end(ErrEndless)
		case b.since.IsZero():
			b.since, b.began = now, n
		case now.Sub(b.since) < tailWindow:
		case float64(n-b.began) < tailRate*now.Sub(b.since).Seconds():
			b.end(ErrTrickles)
		default:
			b.since, b.began = now, n
		}
	}
}

// WatchTail looks at the bodies on their way until the function that it returns is called.
func (d *Dispatcher) WatchTail(now func() time.Time) (end func()) {
	return timed.Every(tailLook, func() {
		at := now()
		d.Tail.look(d.Front.State(at).Queued == 0, at)
	})
}
