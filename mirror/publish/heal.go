// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"slices"
	"sync"

	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// BodiesError says that a version cannot be made because stored bodies are damaged. It is a store.ErrDamaged.
type BodiesError struct {
	IDs   []uint32 // of the resources, ascending
	First error    // that was found
}

func (e *BodiesError) Error() string { return e.First.Error() }
func (e *BodiesError) Unwrap() error { return e.First }

// damagedBodies gathers the resources whose stored bodies turn out to be damaged. Safe for concurrent use;
// the zero value is ready.
type damagedBodies struct {
	mu    sync.Mutex
	ids   []uint32
	first error
}

// note keeps a resource whose body is damaged.
func (d *damagedBodies) note(id uint32, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first == nil {
		d.first = err
	}
	d.ids = append(d.ids, id)
}

// explain returns the error of a build: a *BodiesError when damaged bodies are why.
func (d *damagedBodies) explain(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ids) == 0 || !errors.Is(err, disk.ErrDamaged) {
		return err
	}
	slices.Sort(d.ids)
	return &BodiesError{IDs: d.ids, First: d.first}
}

// LoseBody changes a record whose stored body is damaged, so that the next run requests it. Without
// validators and digest the answer is a body, and is stored even if it is the one that was lost.
func LoseBody(rec *record.Resource) {
	rec.ETag, rec.LastModified, rec.Digest = "", "", [32]byte{}
	rec.Outcome, rec.Reason = site.Failed, lostReason
}

const lostReason = "its stored body is damaged"

// IsRefused reports whether a run requested a URL whose stored body is damaged, and did not get it.
func IsRefused(rec *record.Resource, run int) bool {
	return rec.Outcome == site.Failed && rec.Run == run && rec.Reason != lostReason
}
