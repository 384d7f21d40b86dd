// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"encoding/binary"
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
}

// waitsFact is where a site keeps its Waits.
const waitsFact = "waits"

const (
	longestWait = 30 * 24 * time.Hour // what asks for more is requested again after it
	mostWaits   = 100_000             // of a site; further ones are requested by every run
)

// Set notes that a URL is not to be requested before a time.
func (w *Waits) Set(id uint32, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.until == nil {
		w.until = map[uint32]int64{}
	}
	if len(w.until) < mostWaits {
		w.until[id] = until.Unix()
	}
}

// Forget notes that a URL was answered.
func (w *Waits) Forget(id uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.until, id)
}

// ForgetOf notes that the URLs of a host are no longer to wait.
func (w *Waits) ForgetOf(is func(id uint32) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.until, func(id uint32, _ int64) bool { return is(id) })
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

// Load takes what Keep stored in an earlier run. What cannot be decoded begins again.
func (w *Waits) Load(f Facts) error {
	b, err := f.Fact(waitsFact)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = map[uint32]int64{}
	id := uint64(0)
	for len(b) > 0 {
		step, n := binary.Uvarint(b)
		at, m := binary.Varint(b[max(n, 0):])
		if n <= 0 || m <= 0 || id+step >= 1<<32 {
			clear(w.until)
			break
		}
		id += step
		w.until[uint32(id)] = at
		b = b[n+m:]
	}
	return err
}

// Keep stores the waits for the next run.
func (w *Waits) Keep(f Facts) error { return KeepFact(f, waitsFact, w.encode) }

func (w *Waits) encode() (b []byte, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := uint32(0)
	for _, id := range slices.Sorted(maps.Keys(w.until)) {
		b = binary.AppendUvarint(b, uint64(id-last))
		b = binary.AppendVarint(b, w.until[id])
		last = id
	}
	return b, nil
}
