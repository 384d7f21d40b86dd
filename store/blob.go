package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Blobs keeps bodies that are published as they came, by SHA-256, for all sites of a state. Safe for concurrent use.
type Blobs struct {
	root     *os.Root
	f        *os.File // the same folder
	volatile bool     // never synced
	seq      atomic.Uint64
	pid      int
	dirs     [256]atomic.Bool // two-digit folders known to exist

	mu    sync.Mutex
	fresh []string // names put since the last Sync
}

func blobName(d [32]byte) string {
	h := hex.EncodeToString(d[:])
	return h[:2] + "/" + h
}

func (b *Blobs) mkdir(d [32]byte) error {
	if b.dirs[d[0]].Load() {
		return nil
	}
	if err := b.root.Mkdir(hex.EncodeToString(d[:1]), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	b.dirs[d[0]].Store(true)
	return nil
}

// Put stores a body that is in memory, with the given modification time when it is new. The digest must be the body's.
func (b *Blobs) Put(d [32]byte, body []byte, mtime time.Time) error {
	name := blobName(d)
	if st, err := b.root.Lstat(name); err == nil && st.Size() == int64(len(body)) {
		return nil
	}
	w, err := b.Create()
	if err != nil {
		return err
	}
	if _, err := w.Write(body); err != nil {
		w.Abort()
		return err
	}
	return w.commit(d, mtime)
}

// BlobWriter takes one body of unknown digest. It is not safe for concurrent use.
type BlobWriter struct {
	b    *Blobs
	f    *os.File
	name string
	h    hash.Hash
	size int64
}

// Create begins a blob. Commit or Abort must follow.
func (b *Blobs) Create() (*BlobWriter, error) {
	name := fmt.Sprintf("tmp/%d-%d", b.pid, b.seq.Add(1))
	f, err := b.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, diskErr("create blob", err)
	}
	return &BlobWriter{b: b, f: f, name: name}, nil
}

// Write appends to the body.
func (w *BlobWriter) Write(p []byte) (int, error) {
	if w.h == nil {
		w.h = sha256.New()
	}
	n, err := w.f.Write(p)
	w.h.Write(p[:n])
	w.size += int64(n)
	return n, diskErr("write blob", err)
}

// Size is the number of bytes written.
func (w *BlobWriter) Size() int64 { return w.size }

// Head returns up to n first bytes of what was written.
func (w *BlobWriter) Head(n int) []byte {
	buf := make([]byte, n)
	n, err := w.f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return buf[:n]
}

// ReadAll fills p, which has Size bytes, with what was written.
func (w *BlobWriter) ReadAll(p []byte) error {
	_, err := w.f.ReadAt(p, 0)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return diskErr("read blob", err)
}

// Reset drops everything that was written.
func (w *BlobWriter) Reset() error {
	if err := w.f.Truncate(0); err != nil {
		return diskErr("reset blob", err)
	}
	if _, err := w.f.Seek(0, io.SeekStart); err != nil {
		return diskErr("reset blob", err)
	}
	w.h, w.size = nil, 0
	return nil
}

// Commit makes the body a blob and returns its digest and size.
func (w *BlobWriter) Commit(mtime time.Time) (d [32]byte, size int64, err error) {
	if w.h == nil {
		w.h = sha256.New()
	}
	w.h.Sum(d[:0])
	return d, w.size, w.commit(d, mtime)
}

func (w *BlobWriter) commit(d [32]byte, mtime time.Time) error {
	err := w.f.Close()
	if err == nil {
		err = w.b.root.Chtimes(w.name, mtime, mtime)
	}
	if err == nil {
		err = w.b.mkdir(d)
	}
	if err == nil {
		name := blobName(d)
		if st, serr := w.b.root.Lstat(name); serr == nil && st.Size() == w.size {
			w.b.root.Remove(w.name)
			return nil
		}
		err = w.b.root.Rename(w.name, name)
		if err == nil {
			if !w.b.volatile {
				w.b.mu.Lock()
				w.b.fresh = append(w.b.fresh, name)
				w.b.mu.Unlock()
			}
			return nil
		}
	}
	w.b.root.Remove(w.name)
	return diskErr("store blob", err)
}

// Abort drops the body.
func (w *BlobWriter) Abort() {
	w.f.Close()
	w.b.root.Remove(w.name)
}

// Open opens a blob for reading.
func (b *Blobs) Open(d [32]byte) (*os.File, error) { return b.root.Open(blobName(d)) }

// link makes name within a folder another name of a blob. When the file system will not link any more the blob is copied.
func (b *Blobs) link(d [32]byte, dir *folder, name string) error {
	err := linkat(b.f, blobName(d), dir.f, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob %x: %w: it is missing", d[:6], ErrDamaged)
	}
	src, oerr := b.Open(d)
	if oerr != nil {
		return err
	}
	defer src.Close()
	st, serr := src.Stat()
	if serr != nil {
		return err
	}
	return copyInto(dir.root, name, src, st.ModTime())
}

func copyInto(dir *os.Root, name string, src io.Reader, mtime time.Time) error {
	dst, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	err = errors.Join(err, dst.Close())
	if err == nil {
		err = dir.Chtimes(name, mtime, mtime)
	}
	return err
}

// sync makes the blobs that were put since the last call survive loss of power.
func (b *Blobs) sync() error {
	b.mu.Lock()
	fresh := b.fresh
	b.fresh = nil
	b.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	if len(fresh) > 8 {
		return diskErr("sync blobs", syncFS(b.f))
	}
	seen := map[string]bool{}
	for _, name := range fresh {
		for _, n := range []string{name, name[:2]} {
			if seen[n] {
				continue
			}
			seen[n] = true
			f, err := b.root.Open(n)
			if err != nil {
				return diskErr("sync blobs", err)
			}
			err = f.Sync()
			f.Close()
			if err != nil {
				return diskErr("sync blobs", err)
			}
		}
	}
	return nil
}
