// SPDX-License-Identifier: Apache-2.0

package publish

import "sync"

// takesTurns is the size in bytes from which on a document takes turns with others: it needs memory of three
// times that.
const takesTurns = 256 << 10

// mostAtOnce is how many bytes documents that take turns have together that are in memory at once. One that
// has more is alone.
const mostAtOnce = 3 << 20

// turns lets documents wait for each other. The zero value is ready; it is safe for concurrent use.
type turns struct {
	mu    sync.Mutex
	ended sync.Cond // one of them has left the memory
	used  int64     // bytes of the documents in memory
}

// turn waits until a document of so many bytes may be in memory; the caller calls done afterwards.
func (t *turns) turn(size int64) (done func()) {
	if size < takesTurns {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.ended.L = &t.mu; t.used > 0 && t.used+size > mostAtOnce; {
		t.ended.Wait()
	}
	t.used += size
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.used -= size
		t.ended.Broadcast()
	}
}
