// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mirrord/store/disk"
)

// A part is the beginning of a large body that has not come whole: it outlives the exchange, the run and the
// process, so that the next exchange can ask for the rest. It is in the site's folder:
//
//	parts/NAME.body  the bytes that have come; a blob on its way in, and made one by a rename
//	parts/NAME.json  about them; written aside and renamed
//
// NAME is made of the URL's digest. What the note says is what counts: bytes behind its size came after it
// and are cut off, and those before it are read again and held against its digest before anything is built on
// them, so that nothing depends on what a crash left of the file. A part whose bytes are not those is
// deleted.

// partNote is NAME.json.
type partNote struct {
	URL    string          `json:"url"`
	Size   int64           `json:"size"`
	Digest string          `json:"sha256"` // of the first Size bytes
	About  json.RawMessage `json:"about"`  // the caller's
	Noted  time.Time       `json:"noted"`
}

const (
	PartsDir  = "parts"
	partBody  = ".body"
	partJSON  = ".json"
	partAside = ".new" // a note on its way in

	noteBytes = 8 << 20         // that a part grows before it is noted again: what a kill can cost,
	noteAge   = 2 * time.Second // or how old its note gets, when bytes have come
)

// PartsOf is the site of parts.
type PartsOf struct {
	Root     *os.Root // its folder
	Volatile bool     // nothing is synced
	Now      func() time.Time
	Owned    func() error // reports that another process may write the site
}

// Parts is the parts of one site. Safe for concurrent use.
type Parts struct {
	site  PartsOf
	spool *Spool

	mu     sync.Mutex
	looked bool
	folder *disk.OpenDir // nil before looked, and as long as there is no folder
}

func OpenParts(spool *Spool, of PartsOf) *Parts { return &Parts{site: of, spool: spool} }

func (s *Parts) Close() { s.folder.Close() }

func partName(url string) string {
	d := sha256.Sum256([]byte(url))
	return hex.EncodeToString(d[:16])
}

// openParts opens the folder, which it makes if create is set, and removes what a crash left there that is no
// part. The caller holds mu.
func (s *Parts) openParts(create bool) error {
	if s.folder != nil || (s.looked && !create) {
		return nil
	}
	if create {
		if err := s.site.Root.Mkdir(PartsDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return disk.Err("make folder of parts", err)
		}
	}
	s.looked = true
	r, err := s.site.Root.OpenRoot(PartsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return disk.Err("open parts", err)
	}
	d, err := disk.NewOpenDir(r)
	if err != nil {
		return disk.Err("open parts", err)
	}
	err = eachPart(r, func(name string, n *partNote) error {
		if n == nil {
			return r.Remove(name)
		}
		return nil
	})
	if err != nil {
		d.Close()
		return disk.Err("read parts", err)
	}
	s.folder = d
	return nil
}

// eachPart calls f for every note of a folder of parts, and with nil for every file that is not of a part.
func eachPart(r *os.Root, f func(name string, n *partNote) error) error {
	es, err := fs.ReadDir(r.FS(), ".")
	if err != nil {
		return err
	}
	files := map[string]*partNote{}
	for _, e := range es {
		if !e.IsDir() {
			files[e.Name()] = nil
		}
	}
	for _, e := range es {
		base, isBody := strings.CutSuffix(e.Name(), partBody)
		if _, noted := files[base+partJSON]; !isBody || !noted || !e.Type().IsRegular() {
			continue
		}
		n, err := readNote(r, base+partJSON)
		if err != nil {
			return err
		}
		if n != nil && partName(n.URL) == base {
			files[base+partJSON], files[e.Name()] = n, n
		}
	}
	for name, n := range files {
		if n != nil && strings.HasSuffix(name, partBody) {
			continue
		}
		if err := f(name, n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// mostNote is the size of a note at most; one is a few hundred bytes and what the caller says.
const mostNote = 1 << 20

// readNote returns nil for a file that is no note.
func readNote(r *os.Root, name string) (*partNote, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostNote))
	if err != nil {
		return nil, err
	}
	var n partNote
	if json.Unmarshal(b, &n) != nil || n.URL == "" || n.Size < 0 || len(n.Digest) != 2*sha256.Size {
		return nil, nil
	}
	return &n, nil
}

// Keep makes a body on its way in the part of a URL, in place of an older one: it survives the process from
// now on. about is JSON and comes back with Take. Where blobs and sites lie on different file systems nothing
// happens: the body stays what it is.
func (s *Parts) Keep(w *BlobWriter, url string, about []byte) error {
	if w.part != nil {
		return nil
	}
	s.mu.Lock()
	err := s.openParts(true)
	if err == nil {
		name := partName(url)
		s.folder.Root.Remove(name + partJSON) // of an older body; its note must not outlive it
		err = disk.Renameat(w.dir, w.name, s.folder, name+partBody)
		if errors.Is(err, unix.EXDEV) {
			err, w.part = nil, &part{}
		} else if err == nil {
			w.dir, w.name, w.part = s.folder, name+partBody, &part{of: s, url: url, about: about}
		}
	}
	s.mu.Unlock()
	if err != nil || w.part.of == nil {
		return disk.Err("keep part", err)
	}
	return w.note()
}

// part is what a BlobWriter knows of being one; nil without Parts.
type part struct {
	of    *Parts
	url   string
	about json.RawMessage
	size  int64 // as last noted
	noted time.Time
}

// IsPart reports whether the body is in the folder of parts.
func (w *BlobWriter) IsPart() bool { return w.part != nil && w.part.of != nil }

func (w *BlobWriter) note() error {
	p := w.part
	if !p.of.site.Volatile { // else the note is worth nothing after a loss of power; the digest would tell
		if err := w.f.Sync(); err != nil {
			return disk.Err("sync part", err)
		}
	}
	now := p.of.site.Now()
	n := partNote{
		URL:    p.url,
		Size:   w.size,
		Digest: hex.EncodeToString(w.h.Sum(nil)),
		About:  p.about,
		Noted:  now,
	}
	b, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("note part of %s: %w", p.url, err)
	}
	name := partName(p.url) + partJSON
	if err = w.dir.Root.WriteFile(name+partAside, b, 0o644); err == nil {
		err = w.dir.Root.Rename(name+partAside, name)
	}
	if err == nil && !p.of.site.Volatile && p.noted.IsZero() {
		err = w.dir.F.Sync()
	}
	p.size, p.noted = w.size, now
	return disk.Err("note part", err)
}

// Leave lets go of a body that has not come whole: a part stays for Take, any other body is dropped.
func (w *BlobWriter) Leave() error {
	if !w.IsPart() {
		w.Abort()
		return nil
	}
	var err error
	if w.size > w.part.size {
		err = w.note()
	}
	return errors.Join(err, disk.Err("close part", w.f.Close()))
}

func (w *BlobWriter) forget() {
	if w.IsPart() {
		w.dir.Root.Remove(partName(w.part.url) + partJSON)
	}
}

// Take returns the beginning of a URL's body that was left, ready for what follows, and what Keep was told of
// it; nil when nothing was left. It reads all of it. Its last byte is left out, so that the rest is never
// nothing: no server has a range for that. One whose bytes are not what they were is deleted.
func (s *Parts) Take(ctx context.Context, url string) (w *BlobWriter, about []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openParts(false); err != nil || s.folder == nil {
		return nil, nil, err
	}
	name := partName(url)
	n, err := readNote(s.folder.Root.Root, name+partJSON)
	if err == nil && n != nil && n.URL == url && n.Size > 1 {
		s.mu.Unlock() // it may take a while
		w, err = s.reopenPart(ctx, s.folder, name+partBody, n)
		s.mu.Lock()
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, nil, disk.Err("take part", err)
	case w == nil:
		return nil, nil, s.dropPart(url)
	}
	w.part = &part{
		of:    s,
		url:   url,
		about: n.About,
		size:  n.Size,
		noted: n.Noted,
	}
	return w, n.About, nil
}

// reopenPart reads a part again; nil when its bytes are not what they were, or are lost. The file keeps its
// last byte until it is written again, so that a kill now leaves the part that the note speaks of.
func (s *Parts) reopenPart(
	ctx context.Context, dir *disk.OpenDir, name string, n *partNote,
) (*BlobWriter, error) {
	f, err := dir.Root.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	size := n.Size - 1
	read, err := io.Copy(h, io.LimitReader(UntilDone(ctx, f), size))
	var last [1]byte
	if err == nil {
		_, err = f.ReadAt(last[:], size)
	}
	if errors.Is(err, io.EOF) || (read < size && err == nil) {
		f.Close()
		return nil, nil // shorter than noted
	}
	var whole hash.Cloner
	if err == nil {
		whole, err = h.(hash.Cloner).Clone() // the standard library's are
	}
	if err == nil {
		if whole.Write(last[:]); hex.EncodeToString(whole.Sum(nil)) == n.Digest {
			if err = f.Truncate(n.Size); err == nil { // what came after the note
				return &BlobWriter{
					spool: s.spool,
					dir:   dir,
					f:     f,
					name:  name,
					h:     h,
					size:  size,
				}, nil
			}
		}
	}
	f.Close()
	if errors.Is(disk.Unreadable(err), disk.ErrDamaged) { // the disk has lost it
		return nil, nil
	}
	return nil, err
}

// dropPart deletes a part, which may be missing.
func (s *Parts) dropPart(url string) error {
	dir, name := s.folder.Root.Root, partName(url)
	err := errors.Join(disk.RemoveIn(dir, name+partJSON), disk.RemoveIn(dir, name+partBody))
	return disk.Err("drop part", err)
}

// PartsFreed says what Parts.Collect did, or would do.
type PartsFreed struct {
	Parts int   `json:"parts"` // that are removed
	Freed int64 `json:"freed"` // bytes
	Kept  int   `json:"kept"`
}

// Collect deletes the parts that drop names, given the URL of each and when it last grew, and what a crash
// left beside them. With dry it only says what it would do. No run may be under way.
func (s *Parts) Collect(dry bool, drop func(url string, grown time.Time) bool) (f PartsFreed, err error) {
	if !dry {
		if err := s.site.Owned(); err != nil {
			return f, err
		}
	}
	r, err := s.site.Root.OpenRoot(PartsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, disk.Err("open parts", err)
	}
	defer r.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	err = eachPart(r, func(name string, n *partNote) error {
		names := []string{name}
		if n != nil {
			if !drop(n.URL, n.Noted) {
				f.Kept++
				return nil
			}
			f.Parts++
			names = append(names, strings.TrimSuffix(name, partJSON)+partBody)
		}
		for _, name := range names {
			fi, err := r.Lstat(name)
			if err == nil && !dry {
				err = r.Remove(name)
			}
			if err != nil {
				return err
			}
			f.Freed += fi.Size()
		}
		return nil
	})
	return f, disk.Err("collect parts", err)
}
