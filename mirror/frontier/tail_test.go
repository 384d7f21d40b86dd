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

// A context serves the next exchange unless it was ended; nothing of it is left when the run is over.
func TestTailContexts(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	var tail Tail
	begin := func(in context.Context) (context.Context, *Body, func()) {
		ctx, b, end := tail.Begin(in)
		if ctx.Err() != nil {
			t.Fatalf("a new exchange is ended: %v", context.Cause(ctx))
		}
		return ctx, b, end
	}
	first, _, endFirst := begin(parent)
	second, b, endSecond := begin(parent)
	if first == second {
		t.Fatal("two exchanges have one context")
	}
	endFirst()
	again, _, endAgain := begin(parent)
	if again != first {
		t.Error("a context that was not ended does not serve the next exchange")
	}
	b.end(ErrTrickles)
	endSecond()
	if context.Cause(second) != ErrTrickles {
		t.Errorf("%v", context.Cause(second))
	}
	third, _, endThird := begin(parent)
	if third == second || again.Err() != nil {
		t.Error("an ended context serves an exchange, or ended another one")
	}
	endAgain()
	other, _, endOther := begin(t.Context())
	if other == again {
		t.Error("an exchange has the context of another run")
	}
	endThird()
	endOther()
	tail.drop()
	for _, ctx := range []context.Context{first, third, other} {
		if ctx.Err() == nil {
			t.Error("a context is left")
		}
	}
}
