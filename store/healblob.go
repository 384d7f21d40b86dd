// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"mirrord/internal/regular"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// blob takes the body of a record, which is missing or damaged, from a tree that has it.
func (w *healer) blob(r *record.Resource) (bool, error) {
	if w.good(r) { // by another record
		return true, nil
	}
	if r.Path == "" {
		return false, nil
	}
	trees, err := w.root.Open("trees")
	if err != nil {
		return false, nil
	}
	names, err := trees.Readdirnames(-1)
	if err = errors.Join(err, trees.Close()); err != nil {
		return false, disk.Err("list trees", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if ok, err := w.takeFile(regular.Root{Root: w.root}, "trees/"+name+"/"+r.Path, r); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// copiedBlob takes the body of a record from the copies that the caller knows.
func (w *healer) copiedBlob(r *record.Resource) (bool, error) {
	if w.copies == nil {
		return false, nil
	}
	for c := range w.copies(r) {
		if sha256.Sum256(c.Body) == r.Digest {
			return w.keepBody(r, bytes.NewReader(c.Body), time.Unix(r.Fetched, 0))
		}
	}
	return false, nil
}
