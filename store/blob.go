// SPDX-License-Identifier: Apache-2.0

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

// Blobs is the folder of bodies that are published as they came, for all sites of a state: the Bodies of one machine. Bodies of unknown digest come
// in through it too when they are kept elsewhere. Safe for concurrent use.
type Blobs struct {
	dir     *folder
	kept    Bodies // where BlobWriter.Commit puts them: this one unless Options.Bodies says another
	durable bool   // Sync has something to do
	seq     atomic.Uint64
	dirs    [256]atomic.Bool // two-digit folders known to exist

	mu      sync.Mutex
	lock    *os.File            // shared lock on tmp/.lock while this process may write
	holders int                 // who may: open sites, bodies on their way in
	fresh   map[string]struct{} // names put since the last sync
	newDirs bool                // a two-digit folder was made since the last sync
	failed  error               // of the first sync that failed: later ones would take lost bodies for kept

	syncing sync.Mutex // held during a sync, so that a second site does not return before what it relies on is on disk
}

// tmpLock is held shared by every process that may have bodies on their way in, and alone by the one that empties the folder.
const tmpLock = "tmp/.lock"

// hold says that this process may write blobs until unhold is called as often. The first process to do so removes what killed ones left
// behind.
func (b *Blobs) hold() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holders++; b.lock != nil {
		return nil
	}
	f, err := b.dir.root.OpenFile(tmpLock, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		b.holders--
		return diskErr("lock blobs", err)
	}
	if alone, err := flock(f, true, false); err == nil && alone {
		b.empty()
	}
	if _, err := flock(f, false, true); err != nil {
		b.holders--
		f.Close()
		return diskErr("lock blobs", err)
	}
	b.lock = f
	return nil
}

// held is hold for good, unless an open site holds already.
func (b *Blobs) held() error {
	b.mu.Lock()
	held := b.lock != nil
	b.mu.Unlock()
	if held {
		return nil
	}
	return b.hold()
}

func (b *Blobs) unhold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holders--; b.holders == 0 && b.lock != nil {
		b.lock.Close() // nothing was written to it
		b.lock = nil
	}
}

// empty removes all bodies that never became blobs. What cannot be removed is left: names are never used twice.
func (b *Blobs) empty() {
	d, err := b.dir.root.Open("tmp")
	if err != nil {
		return
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return
	}
	for _, n := range names {
		if n != ".lock" {
			b.dir.root.Remove("tmp/" + n)
		}
	}
}

func (b *Blobs) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if b.lock != nil {
		err = b.lock.Close()
		b.lock = nil
	}
	b.dir.close()
	return err
}

// settled notes a blob that a record may refer to now, so that the next sync covers it.
func (b *Blobs) settled(name string) {
	if !b.durable {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fresh == nil {
		b.fresh = map[string]struct{}{}
	}
	b.fresh[name] = struct{}{}
}

// has reports whether a blob is there with the right size. One that another process may not have synced yet is settled here too.
func (b *Blobs) has(name string, size int64) bool {
	st, err := b.dir.root.Lstat(name)
	if err != nil || st.Size() != size || !st.Mode().IsRegular() {
		return false
	}
	if b.durable && changedWithin(st, syncedAfter) {
		b.settled(name)
	}
	return true
}

// Stat implements Bodies. A body that another process may not have synced yet is covered by the next Sync.
func (b *Blobs) Stat(d [32]byte) (FileStat, error) {
	name := blobName(d)
	fi, err := b.dir.root.Lstat(name)
	if err != nil {
		return FileStat{}, err
	}
	if b.durable && changedWithin(fi, syncedAfter) {
		b.settled(name)
	}
	return FileStat{Size: fi.Size(), Time: fi.ModTime(), Regular: fi.Mode().IsRegular()}, nil
}

// syncedAfter is how long after its making a blob may still wait for the sync of the batch that brought it.
const syncedAfter = 2 * time.Minute

func blobName(d [32]byte) string {
	h := hex.EncodeToString(d[:])
	return h[:2] + "/" + h
}

func (b *Blobs) mkdir(d [32]byte) error {
	if b.dirs[d[0]].Load() {
		return nil
	}
	switch err := b.dir.root.Mkdir(hex.EncodeToString(d[:1]), 0o755); {
	case err == nil:
		b.mu.Lock()
		b.newDirs = true
		b.mu.Unlock()
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	b.dirs[d[0]].Store(true)
	return nil
}

// Put implements Bodies.
func (b *Blobs) Put(d [32]byte, body []byte, mtime time.Time) error {
	if b.has(blobName(d), int64(len(body))) {
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
	dir  *folder // that name is in
	f    *os.File
	name string
	h    hash.Hash
	size int64
	part *part // nil unless KeepPart or TakePart was called
}

// Create begins a blob. Commit or Abort must follow.
func (b *Blobs) Create() (*BlobWriter, error) {
	if err := b.held(); err != nil {
		return nil, err
	}
	for {
		name := fmt.Sprintf("tmp/%d-%d", os.Getpid(), b.seq.Add(1))
		f, err := b.dir.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue // of another process with this number: killed, or in another container
		}
		if err != nil {
			return nil, diskErr("create blob", err)
		}
		return &BlobWriter{b: b, dir: b.dir, f: f, name: name}, nil
	}
}

// Write appends to the body.
func (w *BlobWriter) Write(p []byte) (int, error) {
	if w.h == nil {
		w.h = sha256.New()
	}
	n, err := w.f.Write(p)
	w.h.Write(p[:n])
	w.size += int64(n)
	if err == nil {
		err = w.grown()
	}
	return n, diskErr("write blob", err)
}

// Size is the number of bytes written.
func (w *BlobWriter) Size() int64 { return w.size }

// Digest is the SHA-256 of what was written.
func (w *BlobWriter) Digest() (d [32]byte) {
	if w.h == nil {
		return sha256.Sum256(nil)
	}
	w.h.Sum(d[:0])
	return d
}

// Head returns up to n first bytes of what was written.
func (w *BlobWriter) Head(n int) []byte {
	buf := make([]byte, n)
	n, err := w.f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return buf[:n]
}

// Load returns what was written, in memory that the collector does not know, so that it neither waits for it nor makes room in proportion.
// free gives it back at once; nothing may refer to it then.
func (w *BlobWriter) Load() (body []byte, free func(), err error) {
	body, free, err = mapped(int(w.size))
	if err != nil {
		return nil, nil, fmt.Errorf("load blob: %w", err)
	}
	if _, err = w.f.ReadAt(body, 0); err != nil {
		free()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, nil, diskErr("read blob", err)
	}
	return body, free, nil
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
	var err error
	if w.IsPart() {
		err = w.f.Truncate(w.size)
	}
	if w.b.kept != Bodies(w.b) {
		return w.commitTo(w.b.kept, d, mtime, err)
	}
	err = errors.Join(err, w.f.Close())
	if err == nil {
		err = w.dir.root.Chtimes(w.name, mtime, mtime)
	}
	if err == nil {
		err = w.b.mkdir(d)
	}
	if err == nil {
		name := blobName(d)
		if w.b.has(name, w.size) {
			w.remove()
			return nil
		}
		if err = renameat(w.dir, w.name, w.b.dir, name); err == nil {
			w.forget()
			w.b.settled(name)
			return nil
		}
	}
	if !w.IsPart() { // which can be taken again
		w.remove()
	}
	return diskErr("store blob", err)
}

// commitTo puts the body where others keep it. err is what went wrong before.
func (w *BlobWriter) commitTo(kept Bodies, d [32]byte, mtime time.Time, err error) error {
	if err == nil {
		var body []byte
		var free func()
		if body, free, err = mappedFile(w.f, int(w.size)); err == nil {
			err = kept.Put(d, body, mtime)
			free()
		}
	}
	err = errors.Join(err, w.f.Close())
	if err == nil || !w.IsPart() { // a part can be taken again
		w.remove()
	}
	return diskErr("store blob", err)
}

// Abort drops the body.
func (w *BlobWriter) Abort() {
	w.f.Close()
	w.remove()
}

func (w *BlobWriter) remove() {
	w.forget()
	w.dir.root.Remove(w.name)
}

// Open implements Bodies.
func (b *Blobs) Open(d [32]byte, from, n int64) (io.ReadCloser, error) {
	f, err := b.AsFile(d)
	if err != nil {
		return nil, err
	}
	if from > 0 {
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			f.Close()
			return nil, err
		}
	}
	if n < 0 {
		return f, nil
	}
	return &fileRange{io.LimitedReader{R: f, N: n}, f}, nil
}

// fileRange is a part of a file.
type fileRange struct {
	io.LimitedReader
	io.Closer
}

// AsFile implements BodyFiler.
func (b *Blobs) AsFile(d [32]byte) (*os.File, error) { return b.dir.root.Open(blobName(d)) }

// LinkTo implements BodyLinker.
func (b *Blobs) LinkTo(d [32]byte, dir int, name string) error {
	return linkat(b.dir.fd, blobName(d), dir, name)
}

// Delete implements Bodies.
func (b *Blobs) Delete(d [32]byte) error {
	name := blobName(d)
	if err := b.dir.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskErr("remove blob", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.fresh, name) // the next sync would look for it
	return nil
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

// manyFresh is how many blobs are synced one by one; more are synced by one call for the whole file system.
const manyFresh = 8

// Sync implements BodySyncer: the blobs that were settled since the last call survive loss of power.
func (b *Blobs) Sync() error {
	if !b.durable {
		return nil
	}
	b.syncing.Lock()
	defer b.syncing.Unlock()
	b.mu.Lock()
	fresh, newDirs, failed := b.fresh, b.newDirs, b.failed
	b.fresh, b.newDirs = nil, false
	b.mu.Unlock()
	if len(fresh) == 0 || failed != nil {
		return failed
	}
	err := diskErr("sync blobs", b.syncAll(fresh, newDirs))
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.failed = err
	}
	return err
}

func (b *Blobs) syncAll(fresh map[string]struct{}, newDirs bool) error {
	if len(fresh) > manyFresh {
		return syncFS(b.dir.fd)
	}
	names := map[string]bool{}
	for name := range fresh {
		names[name], names[name[:2]] = true, true
	}
	if newDirs {
		names["."] = true
	}
	for name := range names {
		f, err := b.dir.root.Open(name)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
