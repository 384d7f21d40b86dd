// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mirrord/internal/regular"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Blobs is the folder of bodies that are published as they came, by the SHA-256 of their bytes, for all sites
// of a state. A body is missing or whole: one that is being put is not visible. Safe for concurrent use.
type Blobs struct {
	dir     *disk.OpenDir
	spool   *Spool
	durable bool // Sync has something to do
	away    func([32]byte) (*LeftBody, error)
	mu      sync.Mutex
	fresh   map[string]struct{} // names put since the last sync; where nothing is synced, of some that came
	newDirs bool                // a two-digit folder was made since the last sync
	failed  error               // of the first sync that failed: later ones would take lost bodies for kept

	// held during a sync, so that a second site does not return before what it relies on is on disk
	syncing sync.Mutex
}

// LeftBody is a body that is not here and can be fetched.
type LeftBody struct {
	Stat  disk.FileStat
	Open  func() (io.ReadCloser, error)
	Wrong func(error) error // makes an error of Open, or of the bytes, one that says where the body is
}

// Open opens a folder of blobs. away says where a body is that is not here; fs.ErrNotExist when no depot is
// known to have it.
func Open(dir *disk.OpenDir, durable bool, away func([32]byte) (*LeftBody, error)) *Blobs {
	b := &Blobs{dir: dir, durable: durable, away: away}
	b.spool = &Spool{dir: dir, blobs: b}
	return b
}

// Spool is where bodies come in.
func (b *Blobs) Spool() *Spool { return b.spool }

func (b *Blobs) Close() error {
	err := b.spool.close()
	b.dir.Close()
	return err
}

// latelyBlobs is how many blobs a one-off mirror has that are not read again when they come once more: the
// styles and scripts of a generator lie in each folder.
const latelyBlobs = 2048

// settled notes a blob that a record may refer to now, so that the next sync covers it.
func (b *Blobs) settled(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fresh == nil || (!b.durable && len(b.fresh) == latelyBlobs) {
		b.fresh = map[string]struct{}{}
	}
	b.fresh[name] = struct{}{}
}

// unsettle notes that a blob is removed: the next sync would look for it.
func (b *Blobs) unsettle(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.fresh, name)
}

// IsThere reports whether a body is there and right. What a loss of power left may have its name and size,
// and other bytes; so may what a bad disk did. So it is read, unless it came or was read since the last sync.
// One that another process may not have synced yet is settled here too.
func (b *Blobs) IsThere(d [32]byte, size int64) bool {
	name := blobName(d)
	if st, err := b.dir.Stat(name); err != nil || st.Size != size || !st.Regular {
		return false
	}
	b.mu.Lock()
	_, known := b.fresh[name]
	b.mu.Unlock()
	if known {
		return true
	}
	f, err := b.dir.Root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	all := io.LimitReader(f, size+1) // of so many bytes io.Copy makes no larger a buffer
	if right, err := HasDigest(all, d); (err != nil) || !right {
		return false
	}
	if st, err := f.Stat(); err != nil || !b.durable || time.Since(disk.Changed(st)) < syncedAfter {
		b.settled(name)
	}
	return true
}

// Stat says how long a body is and when it was modified; fs.ErrNotExist when it is missing. One that another
// process may not have synced yet is covered by the next Sync. One that a depot has is there.
func (b *Blobs) Stat(d [32]byte) (disk.FileStat, error) {
	fi, err := b.look(d)
	if errors.Is(err, fs.ErrNotExist) {
		if left, err := b.away(d); err == nil {
			return left.Stat, nil
		}
	}
	if err != nil {
		return disk.FileStat{}, err
	}
	return disk.StatOf(fi), nil
}

// Here reports whether a body lies on this machine.
func (b *Blobs) Here(d [32]byte) bool {
	_, err := b.look(d)
	return err == nil
}

func (b *Blobs) look(d [32]byte) (fs.FileInfo, error) {
	name := blobName(d)
	fi, err := b.dir.Root.Lstat(name)
	if err == nil && b.durable && time.Since(disk.Changed(fi)) < syncedAfter {
		b.settled(name)
	}
	return fi, err
}

// syncedAfter is how long after its making a blob may still wait for the sync of its batch.
const syncedAfter = 2 * time.Minute

func blobName(d [32]byte) string {
	h := record.HexOf(d)
	return h[:2] + "/" + h
}

func (b *Blobs) mkdir(d [32]byte) error {
	err := b.dir.Root.Mkdir(hex.EncodeToString(d[:1]), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.newDirs = true
	}
	return err
}

// Put keeps a body, whose digest the caller has computed, with a modification time. One that is there is left
// as it is.
func (b *Blobs) Put(d [32]byte, body []byte, mtime time.Time) error {
	if b.IsThere(d, int64(len(body))) {
		return nil
	}
	return b.write(d, mtime, func(w *BlobWriter) error {
		n, err := w.f.Write(body) // no digest is made again
		w.size = int64(n)
		return disk.Err("store blob", err)
	})
}

// write makes a blob of what fill writes.
func (b *Blobs) write(d [32]byte, mtime time.Time, fill func(*BlobWriter) error) error {
	w, err := b.spool.Create()
	if err != nil {
		return err
	}
	if err := fill(w); err != nil {
		w.Abort()
		return err
	}
	return b.adopt(w, d, mtime)
}

// adopt makes a body of the spool a blob by a rename.
func (b *Blobs) adopt(w *BlobWriter, d [32]byte, mtime time.Time) error {
	var err error
	if w.IsPart() { // one that is written again keeps its last byte until now
		err = w.f.Truncate(w.size)
	}
	if err = w.dir.Finish(w.f, w.name, mtime, err); err == nil {
		err = b.mkdir(d)
	}
	if err == nil {
		name := blobName(d)
		if b.IsThere(d, w.size) {
			w.remove()
			return nil
		}
		if err = disk.Renameat(w.dir, w.name, b.dir, name); err == nil {
			w.forget()
			b.settled(name)
			return nil
		}
	}
	if !w.IsPart() { // which can be taken again
		w.remove()
	}
	return disk.Err("store blob", err)
}

// PutFile is Put for a file below a folder, which the caller has checked: the body becomes another name of
// it, or a copy where there are no links.
func (b *Blobs) PutFile(d [32]byte, dir regular.Root, path string) error {
	fi, err := dir.Lstat(path)
	if (err == nil) && b.IsThere(d, fi.Size()) {
		return nil
	}
	if err == nil {
		err = b.mkdir(d)
	}
	name := blobName(d)
	if err == nil {
		err = os.Link(filepath.Join(dir.Name(), path), filepath.Join(b.dir.Root.Name(), name))
	}
	if err == nil || (errors.Is(err, fs.ErrExist) && b.IsThere(d, fi.Size())) {
		b.settled(name)
		return nil
	}
	f, err := dir.Open(path)
	if err != nil {
		return disk.Err("store blob", err)
	}
	defer f.Close()
	return b.write(d, fi.ModTime(), func(w *BlobWriter) error {
		_, err := io.Copy(w, f)
		return disk.ReadErr("store blob", err)
	})
}

// Open returns the first n bytes of a body, fewer when it ends before; n < 0 is all of it. fs.ErrNotExist
// when it is missing. The caller closes it.
func (b *Blobs) Open(d [32]byte, n int64) (io.ReadCloser, error) {
	f, err := b.OpenFile(d)
	if err != nil || n < 0 {
		return f, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(f, n), f}, nil
}

// AsFile opens a body, which must not be written to; fs.ErrNotExist when it is missing. It fetches one that
// is in a depot first.
func (b *Blobs) AsFile(d [32]byte) (f *os.File, err error) {
	f, err = b.dir.Root.Open(blobName(d))
	if errors.Is(err, fs.ErrNotExist) {
		if err = b.Bring(d, err); err == nil {
			f, err = b.dir.Root.Open(blobName(d))
		}
	}
	return f, disk.Unreadable(err)
}

// Delete removes a body, which may be missing. Readers that have it open may read on.
func (b *Blobs) Delete(d [32]byte) error {
	name := blobName(d)
	if err := b.dir.Root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return disk.Err("remove blob", err)
	}
	b.unsettle(name)
	return nil
}

// manyFresh is how many blobs are synced one by one; more are synced by one call for the whole file system.
const manyFresh = 8

// Sync makes the bodies that were put, or seen by Stat, since the last call survive loss of power.
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
	cause := b.syncAll(fresh, newDirs)
	err := disk.Err("sync blobs", cause)
	if err == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !errors.Is(cause, errNotOpened) {
		b.failed = err
		return err
	}
	if b.newDirs = b.newDirs || newDirs; b.fresh == nil { // nothing is lost: for the next call
		b.fresh = map[string]struct{}{}
	}
	maps.Copy(b.fresh, fresh)
	return err
}

// errNotOpened says that a blob could not be opened, as when the process has too many files open.
var errNotOpened = errors.New("not synced yet")

func (b *Blobs) syncAll(fresh map[string]struct{}, newDirs bool) error {
	if len(fresh) > manyFresh {
		return disk.SyncFS(b.dir.FD)
	}
	names := map[string]bool{}
	for name := range fresh {
		names[name], names[name[:2]] = true, true
	}
	if newDirs {
		names["."] = true
	}
	for name := range names {
		f, err := b.dir.Root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errNotOpened, err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Bring fetches a body that is not here; missing is the error when no depot is known to have it.
func (b *Blobs) Bring(d [32]byte, missing error) error {
	left, err := b.away(d)
	if errors.Is(err, fs.ErrNotExist) {
		return missing
	}
	if err != nil {
		return err
	}
	if err := b.spool.Hold(); err != nil {
		return err
	}
	defer b.spool.Unhold()
	from, err := left.Open()
	if err != nil {
		return left.Wrong(err)
	}
	defer from.Close()
	return b.write(d, left.Stat.Time, func(w *BlobWriter) error {
		_, err := io.Copy(w, from)
		if _, here := errors.AsType[*disk.DiskError](err); here {
			return err
		}
		if err == nil && w.Digest() != d {
			err = errors.New("it has other bytes there")
		}
		if err != nil {
			return left.Wrong(err)
		}
		return nil
	})
}
