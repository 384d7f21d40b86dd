// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"mirrord/store/disk"
)

// knownFile is a body that is a file. What the disk has lost of it is damage. It hides how *os.File copies
// itself, which would call it an error of writing.
type knownFile struct{ f *os.File }

func (k knownFile) Read(p []byte) (int, error) {
	n, err := k.f.Read(p)
	return n, disk.Unreadable(err)
}

func (k knownFile) Seek(offset int64, whence int) (int64, error) { return k.f.Seek(offset, whence) }
func (k knownFile) Stat() (fs.FileInfo, error)                   { return k.f.Stat() }
func (k knownFile) Close() error                                 { return k.f.Close() }

// OpenFile opens a body; fs.ErrNotExist when it is missing. The caller closes it.
func (b *Blobs) OpenFile(digest [32]byte) (fs.File, error) {
	f, err := b.AsFile(digest)
	if err != nil {
		return nil, err
	}
	return knownFile{f}, nil
}

// Discard removes a body whose bytes are not those of its digest, so that it can be put again, and reports
// whether it is missing now. Trees that it is linked into keep it; Relink follows. A body that is right is
// left.
func (b *Blobs) Discard(digest [32]byte) (missing bool, err error) {
	right, err := b.IsRight(digest, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case errors.Is(err, ErrAway):
		return false, err
	case right:
		return false, nil
	}
	err = b.Delete(digest)
	return err == nil, err
}

// IsRight reads a body, by what through makes of it if not nil, and reports whether it has its digest.
// fs.ErrNotExist when it is missing.
func (b *Blobs) IsRight(digest [32]byte, through func(io.Reader) io.Reader) (bool, error) {
	f, err := b.OpenFile(digest)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if through == nil {
		return HasDigest(f, digest)
	}
	return HasDigest(through(f), digest)
}

// HasDigest reads everything and reports whether it has the digest.
func HasDigest(r io.Reader, digest [32]byte) (bool, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return err == nil && [32]byte(h.Sum(nil)) == digest, err
}

// UntilDone makes a reader end in the error of a context that is done: a file may be as large as a disk.
func UntilDone(ctx context.Context, r io.Reader) io.Reader { return stopped{ctx, r} }

type stopped struct {
	ctx context.Context
	r   io.Reader
}

func (u stopped) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

// Place makes name within a folder a file with a body: another name of it, or a copy where that is not
// possible. fs.ErrExist when the name is taken.
func (b *Blobs) Place(digest [32]byte, dir *disk.OpenDir, name string) error {
	err := disk.LinkOrCopy(b.dir, blobName(digest), dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = b.Bring(digest, err); err == nil {
			err = disk.LinkOrCopy(b.dir, blobName(digest), dir, name)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob %x: %w: it is missing", digest[:6], disk.ErrDamaged)
	}
	return disk.Unreadable(err)
}

// Is reports whether a file is a body under another name.
func (b *Blobs) Is(fi fs.FileInfo, digest [32]byte) (bool, error) {
	f, err := b.AsFile(digest)
	if err != nil {
		return false, err
	}
	defer f.Close()
	body, err := f.Stat()
	return err == nil && os.SameFile(fi, body), err
}

// ErrAway reports that something is in a depot and cannot be fetched. It is not damaged.
var ErrAway = errors.New("only the depot has it")

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
