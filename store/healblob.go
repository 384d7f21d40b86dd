// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"time"

	"mirrord/internal/regular"
	"mirrord/store/blobs"
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

// takeFile makes a file below a folder the body of a record, when it is.
func (s *Site) takeFile(root regular.Root, name string, r *record.Resource) (bool, error) {
	f, err := root.Open(name)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() != r.Size {
		return false, nil
	}
	if right, err := blobs.HasDigest(f, r.Digest); !right || err != nil {
		return false, nil
	}
	if _, err := f.Seek(0, 0); err != nil {
		return false, disk.Err("read tree", err)
	}
	return s.keepBody(r, f, fi.ModTime())
}

// keepBody makes what from has the body of a record, instead of the damaged one.
func (s *Site) keepBody(r *record.Resource, from io.WriterTo, modified time.Time) (bool, error) {
	if missing, err := blobs.DiscardBody(s.kept.Kept, r.Digest); !missing || err != nil {
		return err == nil, err
	}
	to, err := s.spool.Create()
	if err != nil {
		return false, err
	}
	if _, err := from.WriteTo(to); err != nil {
		to.Abort()
		return false, disk.Err("copy body", err)
	}
	got, _, err := to.Commit(modified)
	if err == nil {
		err = s.kept.Sync()
	}
	return got == r.Digest, err
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
