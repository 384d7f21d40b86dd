// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Each keeper reads its own copy of a bucket, which may be a moment behind the one that took a write. So what
// a process reads right after it wrote is compared with what it wrote, and read again while it is older.

// What a process wrote counts for ownFor; a read waits for it for staleMost, in steps of staleAgain. It is
// not waited for longer, because another node may have removed the value.
const (
	ownFor     = 5 * time.Second
	staleMost  = time.Second
	staleAgain = 5 * time.Millisecond
)

// ownWrites are what this process wrote of late. The zero value is ready. Safe for concurrent use.
type ownWrites struct {
	mu sync.Mutex // guards of
	of map[string]ownWrite
}

type ownWrite struct {
	revision uint64 // of the value; of one that was removed, of the value before
	gone     bool
	at       time.Time
}

// note takes a write. revision is that of the value, or of the one that was removed.
func (o *ownWrites) note(name string, revision uint64, gone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.of == nil {
		o.of = map[string]ownWrite{}
	}
	for name, w := range o.of {
		if now.Sub(w.at) > ownFor {
			delete(o.of, name)
		}
	}
	o.of[name] = ownWrite{revision, gone, now}
}

// older reports whether a value that was read is older than what was written; revision 0: there was none.
func (o *ownWrites) older(name string, revision uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, ok := o.of[name]
	return ok && w.older(revision)
}

// olderIn is older for all values whose names have a prefix; read are the revisions by name.
func (o *ownWrites) olderIn(prefix string, read map[string]uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, w := range o.of {
		if strings.HasPrefix(name, prefix) && w.older(read[name]) {
			return true
		}
	}
	return false
}

func (w *ownWrite) older(revision uint64) bool {
	switch {
	case time.Since(w.at) > ownFor:
		return false
	case w.gone:
		return revision > 0 && revision <= w.revision
	}
	return revision < w.revision
}

// fresh calls read until what it read is not older, which it reports, or that has taken too long.
func fresh(ctx context.Context, read func() (older bool, err error)) error {
	for late := time.Now().Add(staleMost); ; {
		older, err := read()
		if err != nil || !older || time.Now().After(late) || !pause(ctx, staleAgain) {
			return err
		}
	}
}
