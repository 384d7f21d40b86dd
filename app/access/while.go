// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"time"

	"mirrord/internal/timed"
)

// againAfter is how often the role of a client is checked again during a long response.
const againAfter = 2 * time.Second

// While returns a context of ctx for a long answer. It ends when may returns an error, which is its cause
// then. One goroutine calls may every two seconds, until end is called, which waits for it.
func While(ctx context.Context, may func() error) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for timed.Wait(ctx, againAfter) == nil {
			if err := may(); err != nil {
				cancel(err)
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-over
	}
}
