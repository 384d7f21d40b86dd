// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Waits are the URLs that asked to wait for longer than a run waits, with the time until which they are not
// requested. They outlive the run. Safe for concurrent use; the zero value is ready.
type Waits struct {
	mu    sync.Mutex
	until map[uint32]int64 // Unix seconds, by number
	dirty bool
}

// WaitsFact is where a site keeps its Waits.
const WaitsFact = "waits"

const (
	longestWait = 30 * 24 * time.Hour // what asks for more is requested again after it
	mostWaits   = 100_000             // of a site; further ones are requested by every run
)

var errWaits = errors.New("list of URLs that wait cannot be decoded")

// Set notes that a URL is not to be requested before a time.
func (w *Waits) Set(id uint32, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == nil {
		w.until = map[uint32]int64{}
	}
	if len(w.until) < mostWaits {
		w.until[id], w.dirty = until.Unix(), true
	}
}

// Forget notes that a URL was answered.
func (w *Waits) Forget(id uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.until[id]; ok {
		delete(w.until, id)
		w.dirty = true
	}
}

// ForgetOf notes that the URLs of a host are no longer to wait.
func (w *Waits) ForgetOf(is func(id uint32) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.until)
	maps.DeleteFunc(w.until, func(id uint32, _ int64) bool { return is(id) })
	w.dirty = w.dirty || len(w.until) < n
}

// IDs returns the numbers of the URLs that are not to be requested yet, in their order.
func (w *Waits) IDs(now time.Time) (ids []uint32) {
	w.mu.Lock()
	all := slices.Sorted(maps.Keys(w.until))
	w.mu.Unlock()
	return slices.DeleteFunc(all, func(id uint32) bool {
		_, waits := w.Until(id, now)
		return !waits
	})
}

// Until reports whether a URL is not to be requested yet, and until when.
func (w *Waits) Until(id uint32, now time.Time) (until time.Time, waits bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.until[id]
	until = time.Unix(at, 0)
	soon := until.Sub(now) <= longestWait // else the clock was wrong, or the site says too much
	return until, ok && soon && until.After(now)
}

// Due reports whether a URL asked to wait and has waited.
func (w *Waits) Due(id uint32, now time.Time) bool {
	w.mu.Lock()
	_, ok := w.until[id]
	w.mu.Unlock()
	_, waits := w.Until(id, now)
	return ok && !waits
}

// Decode takes what Encode returned in an earlier run.
func (w *Waits) Decode(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until, w.dirty = map[uint32]int64{}, false
	id := uint64(0)
	for len(b) > 0 {
		step, n := binary.Uvarint(b)
		at, m := binary.Varint(b[max(n, 0):])
		if n <= 0 || m <= 0 || id+step >= 1<<32 {
			clear(w.until)
			return errWaits
		}
		id += step
		w.until[uint32(id)] = at
		b = b[n+m:]
	}
	return nil
}

// Encode returns the waits for Decode, nil for none, and whether they changed since Decode.
func (w *Waits) Encode() (b []byte, changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := uint32(0)
	for _, id := range slices.Sorted(maps.Keys(w.until)) {
		b = binary.AppendUvarint(b, uint64(id-last))
		b = binary.AppendVarint(b, w.until[id])
		last = id
	}
	return b, w.dirty
}
