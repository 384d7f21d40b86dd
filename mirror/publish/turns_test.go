// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Small documents never wait, those of some bytes together do not either, and a very large one is alone.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		var large, most atomic.Int64
		made := func(size int64) {
			done := all.turn(size)
			defer done()
			if size >= takesTurns {
				if n := large.Add(size); n > most.Load() {
					most.Store(n)
				}
				defer large.Add(-size)
			}
			time.Sleep(time.Second)
		}
		for _, c := range []struct {
			name  string
			sizes []int64
			most  int64
			takes time.Duration
		}{
			{"small ones", []int64{1, takesTurns - 1, takesTurns - 1}, 0, time.Second},
			{"some", []int64{1 << 20, 1 << 20, 1 << 20}, 3 << 20, time.Second},
			{"too many", []int64{1 << 20, 1 << 20, 1 << 20, 1 << 20}, 3 << 20, 2 * time.Second},
			{"very large ones", []int64{50 << 20, takesTurns, 50 << 20}, 50 << 20, 3 * time.Second},
		} {
			begin, left := time.Now(), make(chan bool, len(c.sizes))
			most.Store(0)
			for _, size := range c.sizes {
				go func() {
					made(size)
					left <- true
				}()
			}
			for range c.sizes {
				<-left
			}
			if took := time.Since(begin); took != c.takes || most.Load() != c.most {
				t.Errorf("%s: %v, wanted %v; %d bytes at once, wanted %d", c.name, took, c.takes, most.Load(), c.most)
			}
		}
	})
}
