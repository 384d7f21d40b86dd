// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/store/disk"
)

// Spool is where bodies of unknown digest come in, for all sites of a state: the folder tmp beside the blobs.
// Safe for concurrent use.
type Spool struct {
	dir   *disk.OpenDir // of the blobs
	blobs *Blobs
	seq   atomic.Uint64

	mu      sync.Mutex
	lock    *os.File // shared lock on tmp/.lock while this process may write
	holders int      // who may: open sites, bodies on their way in
}

// tmpLock is held shared by every process that may have bodies on their way in, and alone by the one that
// empties the folder.
const tmpLock = "tmp/.lock"

// Hold says that this process may write blobs until Unhold is called as often. The first process to do so
// removes what killed ones left behind.
func (s *Spool) Hold() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold()
}

func (s *Spool) hold() error {
	if s.holders++; s.lock != nil {
		return nil
	}
	f, err := s.dir.Root.OpenFile(tmpLock, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		s.holders--
		return disk.Err("lock blobs", err)
	}
	if alone, err := disk.Flock(f, true, false); err == nil && alone {
		s.empty()
	}
	if _, err := disk.Flock(f, false, true); err != nil {
		s.holders--
		f.Close()
		return disk.Err("lock blobs", err)
	}
	s.lock = f
	return nil
}

// Held is hold for good, unless an open site holds already.
func (s *Spool) Held() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock != nil {
		return nil
	}
	return s.hold()
}

func (s *Spool) Unhold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders--; s.holders == 0 && s.lock != nil {
		s.lock.Close() // nothing was written to it
		s.lock = nil
	}
}

// Alone keeps everybody else from writing blobs until release is called; ok is false when another process, or
// this one beyond the caller's own open sites, may be writing. Opening a site for writing waits meanwhile.
func (s *Spool) Alone(mine int) (ok bool, release func(), err error) {
	if err := s.Hold(); err != nil {
		return false, nil, err
	}
	s.mu.Lock()
	if s.holders > mine+1 { // the lock is this process's: it does not keep us from ourselves
		s.mu.Unlock()
		s.Unhold()
		return false, nil, nil
	}
	if ok, err = disk.Flock(s.lock, true, false); ok {
		s.empty()
		return true, func() {
			disk.Flock(s.lock, false, true) // from alone to shared: no other process can be in the way
			s.mu.Unlock()
			s.Unhold()
		}, nil
	}
	_, lerr := disk.Flock(s.lock, false, true) // a change of kind that fails may have lost it
	s.mu.Unlock()
	s.Unhold()
	return false, nil, disk.Err("lock blobs", errors.Join(err, lerr))
}

// empty removes all bodies that never became blobs. What cannot be removed is left: names are never used
// twice.
func (s *Spool) empty() {
	d, err := s.dir.Root.Open("tmp")
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
			s.dir.Root.Remove("tmp/" + n)
		}
	}
}

func (s *Spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.lock != nil {
		err = s.lock.Close()
		s.lock = nil
	}
	return err
}

// BlobWriter takes one body of unknown digest. It is not safe for concurrent use.
type BlobWriter struct {
	spool *Spool
	dir   *disk.OpenDir // that name is in
	f     *os.File
	name  string
	h     hash.Hash
	size  int64
	part  *part // nil unless Parts.Keep or Parts.Take was called
}

// Create begins a blob. Commit or Abort must follow.
func (s *Spool) Create() (*BlobWriter, error) {
	if err := s.Held(); err != nil {
		return nil, err
	}
	for {
		name := fmt.Sprintf("tmp/%d-%d", os.Getpid(), s.seq.Add(1))
		f, err := s.dir.Create(name)
		if err == nil {
			return &BlobWriter{
				spool: s,
				dir:   s.dir,
				f:     f,
				name:  name,
				h:     sha256.New(),
			}, nil
		}
		if !errors.Is(err, fs.ErrExist) { // of another process with this number: killed, or in another container
			return nil, disk.Err("create blob", err)
		}
	}
}

// Write appends to the body.
func (w *BlobWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.h.Write(p[:n])
	w.size += int64(n)
	if err == nil && w.IsPart() {
		news := w.size - w.part.size
		if news >= noteBytes || (news > 0 && w.part.of.site.Now().Sub(w.part.noted) >= noteAge) {
			err = w.note()
		}
	}
	return n, disk.Err("write blob", err)
}

func (w *BlobWriter) Size() int64 { return w.size }

func (w *BlobWriter) Digest() (d [32]byte) {
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

func (w *BlobWriter) ReadAt(p []byte, at int64) (int, error) { return w.f.ReadAt(p, at) }

// Load returns what was written, in memory that the collector does not know, so that it neither waits for it
// nor makes room in proportion. free gives it back at once; nothing may refer to it then.
func (w *BlobWriter) Load() (body []byte, free func(), err error) {
	body, free, err = disk.Mapped(int(w.size), true)
	if err != nil {
		return nil, nil, fmt.Errorf("load blob: %w", err)
	}
	if _, err = w.f.ReadAt(body, 0); err != nil {
		free()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, nil, disk.Err("read blob", err)
	}
	return body, free, nil
}

// Commit makes the body a blob and returns its digest and size.
func (w *BlobWriter) Commit(mtime time.Time) (d [32]byte, size int64, err error) {
	d = w.Digest()
	return d, w.size, w.spool.blobs.adopt(w, d, mtime)
}

func (w *BlobWriter) Abort() {
	w.f.Close()
	w.remove()
}

func (w *BlobWriter) remove() {
	w.forget()
	w.dir.Root.Remove(w.name)
}
