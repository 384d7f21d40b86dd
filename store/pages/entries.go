// SPDX-License-Identifier: Apache-2.0

// Package pages is the room of package store for two files of a site's folder that say what its pages say.
// They can be deleted, and are made again from the pages.
package pages

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
	"mirrord/store/disk"
)

// Both files have an entry for each page. Of the entries of a URL the last one counts, and only while the
// URL's record has its sum. Nothing else depends on the files: they are not synced, entries that a crash
// spoilt are passed over, a file of another form is begun again, and missing entries are made again from the
// pages. The head is magic, the form, text.DigestForm, 4 bytes, and zeros.
const (
	entryHead = 16
	entryTail = 64 << 10 // bytes of entries that are written at once

	textsMagic  = "mTx1" // a run writes them, to find pages that say the same
	digestMagic = "mDg2" // a search for replicas writes them, to find those pages again
)

// Names of the two files.
const (
	TextsFile   = "texts"
	DigestsFile = "digests"
)

// TextEntry is what a body of a page says.
type TextEntry struct {
	ID   uint32 // number of the URL
	Body uint64 // Resource.TextSum of the body
	text.Said
}

// PageDigest is the digest of a body of a page.
type PageDigest struct {
	ID     uint32 // number of the URL
	Body   uint64 // Resource.TextSum of the body
	Digest text.ContentDigest
}

// Texts says what the pages of a site say.
type Texts = Entries[TextEntry]

// Digests are the digests of a site.
type Digests = Entries[PageDigest]

// Entries are those of a file, by their numbers. Safe for concurrent use by one process; when another one
// writes meanwhile, entries may be lost, which costs making them again.
type Entries[E any] struct {
	name     string
	head     []byte
	size     int // of an entry, in bytes
	root     *os.Root
	f        *os.File // nil: missing, and it cannot be created
	readOnly bool

	mu   sync.Mutex
	n    uint32
	tail []byte // the last entries, which are not in the file yet
	one  []byte // an entry that is read by itself
}

func newEntries[E any](name, magic string) *Entries[E] {
	size := binary.Size(new(E)) + crc32.Size
	head := binary.LittleEndian.AppendUint32([]byte(magic), text.DigestForm)
	return &Entries[E]{
		name: name,
		head: append(head, make([]byte, entryHead-len(head))...),
		size: size,
		one:  make([]byte, size),
	}
}

// PageFiles is a site's folder, and how the site was opened.
type PageFiles struct {
	Root   *os.Root
	Busy   bool // it was being written: its files are only read
	Reader bool // it is open for reading: what another user has made is not removed
}

// Texts opens what the pages say. The caller closes it, before the site.
func (dir PageFiles) Texts() (*Texts, error) {
	t := newEntries[TextEntry](TextsFile, textsMagic)
	return t, t.open(dir)
}

// Digests opens the digests. A site that is open for reading has them for writing too, unless it was being
// written when it was opened, or the file cannot be written: what a reader had to make is worth keeping. The
// caller closes them, before the site.
func (dir PageFiles) Digests() (*Digests, error) {
	d := newEntries[PageDigest](DigestsFile, digestMagic)
	return d, d.open(dir)
}

func (d *Entries[E]) open(dir PageFiles) error {
	d.root = dir.Root
	var f *os.File
	err := fs.ErrPermission
	if !dir.Busy {
		f, err = d.root.OpenFile(d.name, os.O_RDWR|os.O_CREATE, 0o644)
	}
	// made by another user's search for replicas
	if errors.Is(err, fs.ErrPermission) && !dir.Reader && d.root.Remove(d.name) == nil {
		f, err = d.root.OpenFile(d.name, os.O_RDWR|os.O_CREATE, 0o644)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		d.readOnly = true
		if f, err = d.root.Open(d.name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if err != nil {
		return disk.Err("open "+d.name, err)
	}
	fi, err := f.Stat()
	if err == nil {
		err = d.begin(f, fi.Size())
	}
	if err != nil {
		return errors.Join(disk.Err("open "+d.name, err), f.Close())
	}
	d.f = f
	return nil
}

func (d *Entries[E]) begin(f *os.File, size int64) error {
	head := make([]byte, entryHead)
	switch _, err := f.ReadAt(head, 0); {
	case err != nil && !errors.Is(err, io.EOF) && !disk.IsLoss(err):
		return err
	case bytes.Equal(head, d.head): // the end of an entry that a crash cut off is written over
		d.n = uint32(max(0, size-entryHead) / int64(d.size))
		return nil
	case d.readOnly:
		return nil
	}
	err := f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(d.head, 0)
	}
	return err
}

// Len is how many entries there are, spoilt ones included.
func (d *Entries[E]) Len() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// Append adds an entry and returns its number. It is written with those that follow.
func (d *Entries[E]) Append(p *E) (uint32, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readOnly {
		return 0, disk.Err("write "+d.name, fs.ErrPermission)
	}
	d.tail = d.append(d.tail, p)
	d.n++
	if len(d.tail) < entryTail {
		return d.n - 1, nil
	}
	return d.n - 1, d.writeTail()
}

func (d *Entries[E]) offset(n uint32) int64 { return entryHead + int64(n)*int64(d.size) }

// writeTail appends the entries that are not in the file yet. The caller holds mu.
func (d *Entries[E]) writeTail() error {
	if len(d.tail) == 0 {
		return nil
	}
	_, err := d.f.WriteAt(d.tail, d.offset(d.n)-int64(len(d.tail)))
	d.tail = d.tail[:0]
	return disk.Err("write "+d.name, err)
}

// At returns an entry; ok is false for one that is spoilt.
func (d *Entries[E]) At(n uint32) (e E, ok bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.f == nil {
		return e, false, nil
	}
	if first := d.n - uint32(len(d.tail)/d.size); n >= first && n < d.n {
		ok = d.decode(d.tail[int(n-first)*d.size:][:d.size], &e)
		return e, ok, nil
	}
	if _, err := d.f.ReadAt(d.one, d.offset(n)); errors.Is(err, io.EOF) || disk.IsLoss(err) {
		return e, false, nil
	} else if err != nil {
		return e, false, disk.Err("read "+d.name, err)
	}
	ok = d.decode(d.one, &e)
	return e, ok, nil
}

// All yields the entries of the file that are not spoilt, by their numbers. The entry is valid until the next
// one. After an error it ends.
func (d *Entries[E]) All() iter.Seq2[uint32, *E] {
	return func(yield func(uint32, *E) bool) {
		d.mu.Lock()
		n, err := d.n, d.writeTail()
		d.mu.Unlock()
		if d.f == nil || err != nil {
			return
		}
		r := bufio.NewReaderSize(io.NewSectionReader(d.f, entryHead, d.offset(n)-entryHead), 64<<10)
		buf := make([]byte, d.size)
		var e E
		for i := range n {
			if _, err := io.ReadFull(r, buf); err != nil {
				return
			}
			if d.decode(buf, &e) && !yield(i, &e) {
				return
			}
		}
	}
}

// Keep writes the file again with the entries that keep wants. Their numbers change.
func (d *Entries[E]) Keep(keep func(n uint32, p *E) bool) (err error) {
	if d.readOnly {
		return nil
	}
	aside := d.name + ".new"
	f, err := d.root.OpenFile(aside, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return disk.Err("write "+d.name, err)
	}
	w := bufio.NewWriterSize(f, 64<<10)
	w.Write(d.head) // the first error stays in w
	kept := uint32(0)
	var buf []byte
	for n, p := range d.All() {
		if keep(n, p) {
			kept++
			buf = d.append(buf[:0], p)
			w.Write(buf)
		}
	}
	if err = w.Flush(); err == nil {
		err = d.root.Rename(aside, d.name)
	}
	if err != nil { // what there is stays
		return errors.Join(disk.Err("write "+d.name, err), f.Close(),
			disk.Err("remove "+aside, d.root.Remove(aside)))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.f
	d.f, d.n = f, kept
	return disk.Err("close "+d.name, old.Close())
}

func (d *Entries[E]) Close() error {
	if d.f == nil {
		return nil
	}
	return errors.Join(d.writeTail(), disk.Err("close "+d.name, d.f.Close()))
}

// entrySeed makes the checksum of zeros, which holes of files are, something else than zero.
const entrySeed = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (d *Entries[E]) append(b []byte, e *E) []byte {
	start := len(b)
	b, _ = binary.Append(b, binary.LittleEndian, e) // all fields have a size
	return binary.LittleEndian.AppendUint32(b, crc32.Update(entrySeed, castagnoli, b[start:]))
}

// decode reads an entry; false says that it is spoilt.
func (d *Entries[E]) decode(b []byte, e *E) bool {
	end := len(b) - crc32.Size
	if crc32.Update(entrySeed, castagnoli, b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return false
	}
	_, err := binary.Decode(b[:end], binary.LittleEndian, e)
	return err == nil
}
