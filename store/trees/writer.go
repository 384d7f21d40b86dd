// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"mirrord/store/blobs"
	"mirrord/store/disk"
)

// TreeWriter changes files of a tree. One goroutine uses it; work in path order is fastest.
type TreeWriter struct {
	t    *Tree
	dst  disk.OpenDirs
	live disk.OpenDirs
}

// Writer returns a writer. The caller closes it.
func (t *Tree) Writer() *TreeWriter {
	return &TreeWriter{
		t:    t,
		dst:  disk.OpenDirs{Root: t.Root},
		live: disk.OpenDirs{Root: t.Live},
	}
}

func (w *TreeWriter) Close() {
	w.dst.Close()
	if w.t.Live.Root != nil {
		w.live.Close()
	}
}

// Stat looks at the file at a mirror path of the tree that is built.
func (w *TreeWriter) Stat(path string) (disk.FileStat, error) { return w.dst.Stat(path) }

// Write makes the file at a mirror path again, with the given bytes and modification time. A file that stands
// there is replaced, never written into: it may be shared with the live tree.
func (w *TreeWriter) Write(path string, data []byte, mtime time.Time) error {
	return w.Stream(path, mtime, func(f io.Writer) error {
		_, err := f.Write(data)
		return err
	})
}

// Stream is Write for a file that write makes in pieces.
func (w *TreeWriter) Stream(path string, mtime time.Time, write func(io.Writer) error) error {
	name := filepath.Base(path)
	d, f, err := w.dst.Create(path)
	if d != nil && errors.Is(err, fs.ErrExist) {
		if err = d.Root.RemoveAll(name); err == nil {
			f, err = d.Create(name)
		}
	}
	if err == nil {
		err = d.Finish(f, name, mtime, write(f))
	}
	return disk.Err("publish "+path, err)
}

// LinkBlob makes the file at a mirror path another name of a stored body, or a copy of it where there are no
// links.
func (w *TreeWriter) LinkBlob(path string, digest [32]byte) error {
	d, name, err := w.dst.Of(path)
	if err != nil {
		return disk.Err("publish "+path, err)
	}
	err = inPlace(d, name, func() error { return w.t.s.bodies.Place(digest, d, name) })
	if errors.Is(err, disk.ErrDamaged) {
		return fmt.Errorf("publish %s: %w", path, err)
	}
	return disk.Err("publish "+path, err)
}

// inPlace makes a name in a folder by link, in place of what has it.
func inPlace(d *disk.OpenDir, name string, link func() error) error {
	err := link()
	if errors.Is(err, fs.ErrExist) {
		if err = d.Root.RemoveAll(name); err == nil {
			err = link()
		}
	}
	return err
}

// CheckBlob reads a stored body that is to be at a mirror path. One whose bytes have another digest, that is
// missing, or that the disk does not give back, is ErrDamaged. When ctx ends, so does the reading.
func (w *TreeWriter) CheckBlob(ctx context.Context, path string, digest [32]byte) error {
	until := func(r io.Reader) io.Reader { return blobs.UntilDone(ctx, r) }
	right, err := w.t.s.bodies.IsRight(digest, until)
	if (err == nil && !right) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("publish %s: blob %x: %w", path, digest[:6], disk.ErrDamaged)
	}
	return disk.ReadErr("publish "+path, err)
}

// LiveHas reports whether the file at a mirror path of the live tree has the bytes of a SHA-256 in
// hexadecimal digits. A file that is missing, or that the disk does not give back, has not. When ctx ends, so
// does the reading.
func (w *TreeWriter) LiveHas(ctx context.Context, path, digest string) (bool, error) {
	d, name, err := w.live.Of(path)
	if err != nil {
		return false, disk.Err("publish "+path, err)
	}
	want, err := hex.DecodeString(digest)
	if err != nil || len(want) != sha256.Size {
		return false, nil
	}
	f, err := d.Root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, disk.ReadErr("publish "+path, err)
	}
	defer f.Close()
	right, err := blobs.HasDigest(blobs.UntilDone(ctx, f), [32]byte(want))
	return right, disk.ReadErr("publish "+path, err)
}

// LinkLive makes the file at a mirror path another name of the same file of the live tree.
func (w *TreeWriter) LinkLive(path string) error {
	d, name, err := w.dst.Of(path)
	if err != nil {
		return disk.Err("publish "+path, err)
	}
	src, _, err := w.live.Of(path)
	if err != nil {
		return disk.Err("publish "+path, err)
	}
	err = inPlace(d, name, func() error { return disk.LinkOrCopy(src, name, d, name) })
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("publish %s: %w: the file is missing in the published tree", path, disk.ErrDamaged)
	}
	return disk.Err("publish "+path, err)
}

// sync makes the whole tree survive loss of power, with its name and those of the links to trees, by one call
// for their file system.
func (t *Tree) sync() error {
	if t.s.Volatile {
		return nil
	}
	return disk.Err("sync tree", disk.SyncFS(int(t.dir.Fd())))
}
