// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"testing"
	"time"
)

// Only bodies that come slowly while nothing else is left are given up, and soon.
func TestTail(t *testing.T) {
	for name, c := range map[string]struct {
		rate  int // bytes per second
		alone time.Duration
		want  time.Duration // when it is given up; 0: never
	}{
		"trickles":        {130, 0, 50 * time.Second},
		"trickles beside": {130, 10 * time.Minute, 0},
		"then alone":      {130, 2 * time.Minute, 170 * time.Second},
		"slow":            {1500, 0, 0},
		"header":          {0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var tail Tail
			ctx, b, end := tail.Begin(t.Context())
			defer end()
			start := time.Unix(0, 0)
			got := time.Duration(0)
			for at := tailLook; at <= 5*time.Minute && got == 0; at += tailLook {
				b.Count(c.rate * int(tailLook.Seconds()))
				tail.look(at > c.alone, start.Add(at))
				if ctx.Err() != nil {
					got = at
				}
			}
			if got != c.want {
				t.Errorf("given up after %v, want %v", got, c.want)
			}
			if cause := context.Cause(ctx); got > 0 && cause != ErrTrickles {
				t.Error(cause)
			}
		})
	}
}

// A body without a length that does not end is given up, one with a length is not.
func TestTailEndless(t *testing.T) {
	for _, sized := range []bool{false, true} {
		var tail Tail
		ctx, b, end := tail.Begin(t.Context())
		defer end()
		if sized {
			b.Sized()
		}
		for at := tailLook; at <= 2*time.Hour; at += tailLook {
			b.Count(10_000 * int(tailLook.Seconds()))
			tail.look(true, time.Unix(0, 0).Add(at))
			if early := ctx.Err() != nil && at < tailMost; early {
				t.Errorf("given up after %v", at)
			}
		}
		if got := context.Cause(ctx) == ErrEndless; got == sized {
			t.Errorf("sized %v: given up: %v", sized, got)
		}
	}
}

// Each exchange has a context of its own, of which nothing is left when it is over.
func TestTailContexts(t *testing.T) {
	var tail Tail
	first, _, endFirst := tail.Begin(t.Context())
	second, b, endSecond := tail.Begin(t.Context())
	b.end(ErrTrickles)
	if first.Err() != nil || context.Cause(second) != ErrTrickles {
		t.Errorf("%v, %v", first.Err(), context.Cause(second))
	}
	endFirst()
	endSecond()
	if first.Err() == nil || context.Cause(second) != ErrTrickles || len(tail.bodies) > 0 {
		t.Errorf("%v, %v: a context is left", first.Err(), context.Cause(second))
	}
}
