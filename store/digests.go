// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"mirrord/replica/text"
)

// The digests of a site's pages lie beside its database, so that who looks for replicas need not read the
// pages again:
//
//	head    16 bytes: "mDg1", then the form of the digests (text.DigestForm), 4 bytes little endian, then zeros
//	entries 176 bytes each: number of the URL 4, Resource.TextSum 8 (big endian), run 4, place 4 + 8 + 4 (pack,
//	        offset, length; zero for a blob),
//	        words 8 + 4 (text.ContentDigest: Text and Words), sketch 128, crc32c of all this 4; other integers
//	        little endian
//
// Of the entries of a URL the last one counts, and only while the URL's record has that sum. Nothing else
// depends on the file: it is not synced, entries that a crash spoilt are passed over, a file of another form
// is begun again, and missing entries are made again from the pages.

const (
	digestsName  = DigestsFile
	digestsAside = "digests.new" // on its way in
	digestsMagic = "mDg1"
	digestsHead  = 16
	digestEntry  = 4 + 8 + 4 + 16 + 8 + 4 + text.Bins + 4
	digestsTail  = 64 << 10 // bytes of entries that are written at once
)

// PageDigest is what a body of a page says.
type PageDigest struct {
	ID   uint32 // number of the URL
	Body uint64 // Resource.TextSum of the body
	Run  int    // that made it
	// of the body when that run stored it; documents move between runs. Zero for URLs without a document
	At     Place
	Digest text.ContentDigest
}

// TextSum is by what digests know a body: the beginning of its SHA-256, with what else decides which words it
// has: the same bytes say something else under another type or encoding.
func (r *Resource) TextSum() uint64 {
	kind := crc32.ChecksumIEEE([]byte(r.MIME + "\x00" + r.Charset))
	return binary.BigEndian.Uint64(r.Digest[:]) ^ uint64(kind)
}

// Digests are the digests of a site. Safe for concurrent use by one process; when another one writes
// meanwhile, entries may be lost, which costs making them again.
type Digests struct {
	site     *home
	f        *os.File // nil: missing, and it cannot be created
	readOnly bool

	mu   sync.Mutex
	n    uint32
	tail []byte            // the last entries, which are not in the file yet
	one  [digestEntry]byte // an entry that is read or written by itself
}

// Digests opens the digests. A site that is open for reading has them for writing too, unless it was being
// written when it was opened, or the file cannot be written: what a reader had to make is worth keeping. The
// caller closes them, before the site.
func (s *Site) Digests() (*Digests, error) {
	d := &Digests{site: s.home}
	var f *os.File
	err := fs.ErrPermission
	if !s.Busy() {
		f, err = s.root.OpenFile(digestsName, os.O_RDWR|os.O_CREATE, 0o644)
	}
	// made by another user's search for replicas
	if errors.Is(err, fs.ErrPermission) && !s.readOnly && s.root.Remove(digestsName) == nil {
		f, err = s.root.OpenFile(digestsName, os.O_RDWR|os.O_CREATE, 0o644)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		d.readOnly = true
		if f, err = s.root.Open(digestsName); errors.Is(err, fs.ErrNotExist) {
			return d, nil
		}
	}
	if err != nil {
		return nil, diskErr("open digests", err)
	}
	d.f = f
	head := make([]byte, digestsHead)
	switch _, err := f.ReadAt(head, 0); {
	case err != nil && !errors.Is(err, io.EOF) && !isLoss(err):
		return nil, errors.Join(diskErr("read digests", err), f.Close())
	case bytes.Equal(head, digestsHeader()):
		fi, err := f.Stat()
		if err != nil {
			return nil, errors.Join(diskErr("read digests", err), f.Close())
		}
		// the end of an entry that a crash cut off is written over
		d.n = uint32((fi.Size() - digestsHead) / digestEntry)
	case !d.readOnly:
		if err := f.Truncate(0); err != nil {
			return nil, errors.Join(diskErr("write digests", err), f.Close())
		}
		if _, err := f.WriteAt(digestsHeader(), 0); err != nil {
			return nil, errors.Join(diskErr("write digests", err), f.Close())
		}
	}
	return d, nil
}

// DigestsFile is the name of the file of digests in the folder of a site.
const DigestsFile = "digests"

// ReadDigests reads the digests in the first bytes of a file, which the caller closes. A file of another form
// has none that are whole.
func ReadDigests(f *os.File, size int64) *Digests {
	d := &Digests{f: f, readOnly: true}
	head := make([]byte, digestsHead)
	if _, err := f.ReadAt(head, 0); err == nil && bytes.Equal(head, digestsHeader()) {
		d.n = uint32(max(0, size-digestsHead) / digestEntry)
	}
	return d
}

func digestsHeader() []byte {
	head := make([]byte, digestsHead)
	copy(head, digestsMagic)
	binary.LittleEndian.PutUint32(head[4:], text.DigestForm)
	return head
}

// Len is how many entries there are, spoilt ones included.
func (d *Digests) Len() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// Append adds an entry and returns its number. It is written with those that follow.
func (d *Digests) Append(p *PageDigest) (uint32, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readOnly {
		return 0, diskErr("write digests", fs.ErrPermission)
	}
	d.tail = p.append(d.tail)
	d.n++
	if len(d.tail) < digestsTail {
		return d.n - 1, nil
	}
	return d.n - 1, d.writeTail()
}

// Set replaces an entry.
func (d *Digests) Set(n uint32, p *PageDigest) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readOnly {
		return diskErr("write digests", fs.ErrPermission)
	}
	if e := d.waiting(n); e != nil {
		p.append(e[:0])
		return nil
	}
	_, err := d.f.WriteAt(p.append(d.one[:0]), d.offset(n))
	return diskErr("write digests", err)
}

func (d *Digests) offset(n uint32) int64 { return digestsHead + int64(n)*digestEntry }

// waiting returns an entry that is not in the file yet, nil for any other. The caller holds mu.
func (d *Digests) waiting(n uint32) []byte {
	if first := d.n - uint32(len(d.tail)/digestEntry); n >= first && n < d.n {
		return d.tail[(n-first)*digestEntry:][:digestEntry]
	}
	return nil
}

// writeTail appends the entries that are not in the file yet. The caller holds mu.
func (d *Digests) writeTail() error {
	if len(d.tail) == 0 {
		return nil
	}
	_, err := d.f.WriteAt(d.tail, d.offset(d.n)-int64(len(d.tail)))
	d.tail = d.tail[:0]
	return diskErr("write digests", err)
}

func (d *Digests) flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writeTail()
}

// At returns an entry; ok is false for one that is spoilt.
func (d *Digests) At(n uint32) (p PageDigest, ok bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.f == nil {
		return p, false, nil
	}
	if e := d.waiting(n); e != nil {
		ok = p.decode(e)
		return p, ok, nil
	}
	if _, err := d.f.ReadAt(d.one[:], d.offset(n)); errors.Is(err, io.EOF) || isLoss(err) {
		return p, false, nil
	} else if err != nil {
		return p, false, diskErr("read digests", err)
	}
	ok = p.decode(d.one[:])
	return p, ok, nil
}

// All yields the entries of the file that are not spoilt, by their numbers. The entry is valid until the next
// one. After an error it ends.
func (d *Digests) All() iter.Seq2[uint32, *PageDigest] {
	return func(yield func(uint32, *PageDigest) bool) {
		n := d.Len()
		if d.f == nil || d.flush() != nil {
			return
		}
		r := bufio.NewReaderSize(io.NewSectionReader(d.f, digestsHead, int64(n)*digestEntry), 64<<10)
		var buf [digestEntry]byte
		var p PageDigest
		for i := range n {
			if _, err := io.ReadFull(r, buf[:]); err != nil {
				return
			}
			if p.decode(buf[:]) && !yield(i, &p) {
				return
			}
		}
	}
}

// Keep writes the file again with the entries that keep wants. Their numbers change.
func (d *Digests) Keep(keep func(n uint32, p *PageDigest) bool) (err error) {
	if d.readOnly {
		return nil
	}
	if err := d.flush(); err != nil {
		return err
	}
	f, err := d.site.root.OpenFile(digestsAside, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return diskErr("write digests", err)
	}
	w := bufio.NewWriterSize(f, 64<<10)
	w.Write(digestsHeader()) // the first error stays in w
	kept := uint32(0)
	var buf [digestEntry]byte
	for n, p := range d.All() {
		if keep(n, p) {
			kept++
			w.Write(p.append(buf[:0]))
		}
	}
	if err = w.Flush(); err == nil {
		err = d.site.root.Rename(digestsAside, digestsName)
	}
	if err != nil { // what there is stays
		return errors.Join(diskErr("write digests", err), f.Close(),
			diskErr("remove "+digestsAside, d.site.root.Remove(digestsAside)))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.f
	d.f, d.n = f, kept
	return diskErr("close digests", old.Close())
}

// Scratch makes a file without a name on the disk of the digests. The caller closes it, and it is gone.
func (d *Digests) Scratch() (*os.File, error) {
	return d.site.Scratch()
}

// Close lets go of the file.
func (d *Digests) Close() error {
	if d.f == nil {
		return nil
	}
	return errors.Join(d.flush(), diskErr("close digests", d.f.Close()))
}

func (p *PageDigest) append(b []byte) []byte {
	le, start := binary.LittleEndian, len(b)
	b = le.AppendUint32(b, p.ID)
	b = binary.BigEndian.AppendUint64(b, p.Body)
	b = le.AppendUint32(b, uint32(p.Run))
	b = le.AppendUint32(b, p.At.Pack)
	b = le.AppendUint64(b, uint64(p.At.Off))
	b = le.AppendUint32(b, p.At.Len)
	b = le.AppendUint64(b, p.Digest.Text)
	b = le.AppendUint32(b, p.Digest.Words)
	b = append(b, p.Digest.Sketch[:]...)
	return le.AppendUint32(b, crc32.Update(digestsSeed, castagnoli, b[start:]))
}

// digestsSeed makes the checksum of zeros, which holes of files are, something else than zero.
const digestsSeed = 1

// decode reads an entry; false says that it is spoilt.
func (p *PageDigest) decode(b []byte) bool {
	le, end := binary.LittleEndian, digestEntry-4
	if crc32.Update(digestsSeed, castagnoli, b[:end]) != le.Uint32(b[end:]) {
		return false
	}
	*p = PageDigest{
		ID:     le.Uint32(b),
		Body:   binary.BigEndian.Uint64(b[4:]),
		Run:    int(le.Uint32(b[12:])),
		At:     Place{Pack: le.Uint32(b[16:]), Off: int64(le.Uint64(b[20:])), Len: le.Uint32(b[28:])},
		Digest: text.ContentDigest{Text: le.Uint64(b[32:]), Words: le.Uint32(b[40:])},
	}
	copy(p.Digest.Sketch[:], b[44:end])
	p.Digest.Site = p.ID
	return true
}
