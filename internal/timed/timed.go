// SPDX-License-Identifier: Apache-2.0

// Package timed waits for a time that a context can end, and does something again and again.
package timed

import (
	"context"
	"time"
)

// Wait waits for d, or until ctx ends, and then returns its error.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
