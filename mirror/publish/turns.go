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
	used  int64         // bytes of the documents in memory
	ended chan struct{} // closed when one of them leaves the memory; nil without a waiter
}

// turn waits until a document of so many bytes may be in memory; the caller calls done afterwards.
func (t *turns) turn(size int64) (done func()) {
	if size < takesTurns {
		return func() {}
	}
	for wait := t.take(size); wait != nil; wait = t.take(size) {
		<-wait
	}
	return func() { t.give(size) }
}

// take reserves memory for a document; without any it returns a channel that is closed when to try again.
func (t *turns) take(size int64) (wait <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used > 0 && t.used+size > mostAtOnce {
		if t.ended == nil {
			t.ended = make(chan struct{})
		}
		return t.ended
	}
	t.used += size
	return nil
}

func (t *turns) give(size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.used -= size; t.ended != nil {
		close(t.ended)
		t.ended = nil
	}
}
