// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// TreeWriter changes files of a tree. One goroutine uses it; work in path order is fastest.
type TreeWriter struct {
	t    *Tree
	dst  folders
	live folders
}

// Writer returns a writer. The caller closes it.
func (t *Tree) Writer() *TreeWriter {
	return &TreeWriter{
		t:    t,
		dst:  writerFolders(t.Root),
		live: folders{root: t.Live},
	}
}

// Close lets go of the writer's folders.
func (w *TreeWriter) Close() {
	w.dst.close()
	if w.t.Live.Root != nil {
		w.live.close()
	}
}

// Stat looks at the file at a mirror path of the tree that is built.
func (w *TreeWriter) Stat(path string) (FileStat, error) {
	d, name, err := w.dst.of(path)
	if err != nil {
		return FileStat{}, err
	}
	return statAt(d, name)
}

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
	w.t.changes.file(path)
	d, f, err := w.dst.create(path)
	if d != nil && errors.Is(err, fs.ErrExist) {
		if err = d.root.RemoveAll(f.name); err == nil {
			f, err = createNew(d, f.name)
		}
	}
	if err != nil {
		return diskErr("publish "+path, err)
	}
	return diskErr("publish "+path, f.finish(mtime, write(f)))
}

// LinkBlob makes the file at a mirror path another name of a stored body, or a copy of it where there are no
// links.
func (w *TreeWriter) LinkBlob(path string, digest [32]byte) error {
	w.t.changes.file(path)
	d, name, err := w.dst.of(path)
	if err != nil {
		return diskErr("publish "+path, err)
	}
	err = w.t.s.bodies.place(digest, d, name)
	if errors.Is(err, fs.ErrExist) {
		if err = d.root.RemoveAll(name); err == nil {
			err = w.t.s.bodies.place(digest, d, name)
		}
	}
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("publish %s: %w", path, err)
	}
	return diskErr("publish "+path, err)
}

// CheckBlob reads a stored body that is to be at a mirror path. One whose bytes have another digest, that is
// missing, or that the disk does not give back, is ErrDamaged. When ctx ends, so does the reading.
func (w *TreeWriter) CheckBlob(ctx context.Context, path string, digest [32]byte) error {
	f, err := OpenBody(w.t.s.bodies.kept, digest)
	right := false
	if err == nil {
		right, err = hasDigest(untilDone{ctx, f}, digest)
		f.Close()
	}
	if (err == nil && !right) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("publish %s: blob %x: %w", path, digest[:6], ErrDamaged)
	}
	return readErr("publish "+path, err)
}

// LiveHas reports whether the file at a mirror path of the live tree has the bytes of a SHA-256 in
// hexadecimal digits. A file that is missing, or that the disk does not give back, has not. When ctx ends, so
// does the reading.
func (w *TreeWriter) LiveHas(ctx context.Context, path, digest string) (bool, error) {
	d, name, err := w.live.of(path)
	if err != nil {
		return false, diskErr("publish "+path, err)
	}
	want, err := hex.DecodeString(digest)
	if err != nil || len(want) != sha256.Size {
		return false, nil
	}
	f, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, readErr("publish "+path, err)
	}
	defer f.Close()
	right, err := hasDigest(untilDone{ctx, f}, [32]byte(want))
	return right, readErr("publish "+path, err)
}

// LinkLive makes the file at a mirror path another name of the same file of the live tree.
func (w *TreeWriter) LinkLive(path string) error {
	w.t.changes.file(path)
	d, name, err := w.dst.of(path)
	if err != nil {
		return diskErr("publish "+path, err)
	}
	src, _, err := w.live.of(path)
	if err != nil {
		return diskErr("publish "+path, err)
	}
	err = linkat(src.fd, name, d.fd, name)
	if errors.Is(err, fs.ErrExist) {
		if err = d.root.RemoveAll(name); err == nil {
			err = linkat(src.fd, name, d.fd, name)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("publish %s: %w: the file is missing in the published tree", path, ErrDamaged)
	}
	if err != nil { // too many links, or a file system without them
		f, oerr := src.root.Open(name)
		if oerr != nil {
			return diskErr("publish "+path, err)
		}
		defer f.Close()
		st, serr := f.Stat()
		if serr != nil {
			return diskErr("publish "+path, serr)
		}
		err = copyInto(d.root.Root, name, f, st.ModTime())
	}
	return diskErr("publish "+path, err)
}
