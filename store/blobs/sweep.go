// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"encoding/hex"
	"errors"
	"io/fs"

	"mirrord/store/disk"
)

// BlobsFreed says what CollectBlobs did, or would do.
type BlobsFreed struct {
	Blobs int   `json:"blobs"` // that are removed
	Freed int64 `json:"freed"` // bytes; a blob that a tree still links to frees nothing yet
	Kept  int   `json:"kept"`  // that something refers to
	// removed ones that still stand in a tree; the space is free when the tree changes
	Linked int `json:"linked"`
}

// Sweep deletes the blobs that are not used. may is called between two folders: its error
// ends the sweep. Unless dry, the caller must be the only writer of blobs.
func (b *Blobs) Sweep(used func(digest []byte) bool, may func() error, dry bool) (f BlobsFreed, err error) {
	for n := range 256 {
		if err := may(); err != nil {
			return f, err
		}
		dir := hex.EncodeToString([]byte{byte(n)})
		names, err := fs.ReadDir(b.dir.Root.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return f, disk.Err("list blobs", err)
		}
		for _, e := range names {
			d, err := hex.DecodeString(e.Name())
			if err != nil || len(d) != 32 || int(d[0]) != n || !e.Type().IsRegular() {
				continue // not ours
			}
			if used(d) {
				f.Kept++
				continue
			}
			if err := b.sweepOne(dir+"/"+e.Name(), dry, &f); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

func (b *Blobs) sweepOne(name string, dry bool, f *BlobsFreed) error {
	fi, err := b.dir.Root.Lstat(name)
	if err == nil && !dry {
		err = b.dir.Root.Remove(name)
		b.unsettle(name)
	}
	if err != nil {
		return disk.Err("remove blob", err)
	}
	f.Blobs++
	if disk.Links(fi) > 1 {
		f.Linked++
	} else {
		f.Freed += fi.Size()
	}
	return nil
}
