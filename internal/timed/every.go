// SPDX-License-Identifier: Apache-2.0

package timed

import (
	"sync"
	"time"
)

// Every calls f again and again after d, never twice at a time, until the function that it returns is called,
// which waits for a call that is under way.
func Every(d time.Duration, f func()) (end func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				f()
			case <-stop:
				return
			}
		}
	})
	return func() {
		close(stop)
		wg.Wait()
	}
}
