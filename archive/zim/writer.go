// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"errors"
	"fmt"
	"io"
)

// A File is what a ZIM file is written to: its header is known last, and its MD5 is that of all the rest.
// What was written is read before that.
type File interface {
	io.Writer // appends
	io.WriterAt
	io.ReaderAt
}

// Options are the choices of a Writer.
type Options struct {
	UUID     [16]byte
	Types    []string // MIME types of all entries that will be added
	MainPage string   // path of a content entry; "" for none
	Cluster  int      // bytes of blobs in a cluster, before compression; default 2 MiB, as that of libzim

	// Go runs a function beside the caller, so that clusters are compressed on several cores. Nil: nothing
	// runs beside the caller.
	Go func(func())
}

// An Entry is what a ZIM file says of one of its blobs.
type Entry struct {
	Namespace byte
	Path      string
	Title     string // "" is the path
	Type      string // MIME type
	Front     bool   // a page that readers find by its title
	Plain     bool   // compressing the blob is no use
}

// ErrEntry says that an entry cannot stand in a ZIM file.
var ErrEntry = errors.New("not a ZIM entry")

// Writer writes a ZIM file. It holds the blobs of a few clusters, and about 30 bytes and its names for each
// entry. The first error ends it: every later call returns the same one. It is not safe for concurrent use.
type Writer struct {
	Options
	out appender
	err error

	dir     *directory
	packed  *OpenCluster // for compressed blobs; nil when it is not begun
	plain   *OpenCluster
	opened  uint32
	sealed  []uint32       // number of a cluster by the order in which it was opened
	offsets []uint64       // where clusters begin, by number
	pending []*OpenCluster // compressed now, oldest first

	shared map[[16]byte]blobRef // by digest, see OpenCluster.Hold
}

// blobRef is where a blob lies. cluster counts by opening.
type blobRef struct{ cluster, blob uint32 }

// appender counts the bytes appended.
type appender struct {
	File
	n uint64
}

func (a *appender) Write(p []byte) (int, error) {
	n, err := a.File.Write(p)
	a.n += uint64(n)
	return n, err
}

const (
	defaultCluster = 2 << 20
	maxEntries     = 1 << 31
)

// NewWriter begins a ZIM file at the beginning of f, which is empty.
func NewWriter(f File, o Options) (*Writer, error) {
	if o.Cluster <= 0 {
		o.Cluster = defaultCluster
	}
	w := &Writer{
		Options: o,
		out:     appender{File: f},
		shared:  map[[16]byte]blobRef{},
	}
	if err := w.start(); err != nil {
		return nil, fmt.Errorf("begin ZIM file: %w", err)
	}
	return w, nil
}

func (w *Writer) start() (err error) {
	if w.dir, err = newDirectory(w.Types); err != nil {
		return err
	}
	head := make([]byte, headerSize, headerSize+1024)
	for _, t := range w.dir.types {
		head = append(append(head, t...), 0)
	}
	_, err = w.out.Write(append(head, 0))
	return err
}

// Add adds an entry with its blob, which may be changed afterwards.
func (w *Writer) Add(e Entry, blob []byte) error {
	if w.err != nil {
		return w.err
	}
	return w.note(w.add(e, blob))
}

func (w *Writer) add(e Entry, blob []byte) error {
	rec, err := w.dir.check(e)
	if err != nil {
		return err
	}
	at := &w.packed
	if e.Plain {
		at = &w.plain
	}
	if c := *at; c != nil && (len(c.data)-headRoom+len(blob) > w.Cluster || len(c.sizes) >= maxBlobs) {
		if err := w.seal(at); err != nil {
			return err
		}
	}
	if *at == nil {
		*at = w.NewCluster(e.Plain, len(blob))
		(*at).id = w.open()
	}
	c := *at
	rec.cluster, rec.blob = c.id, uint32(len(c.sizes))
	c.add(blob)
	w.dir.add(e, rec)
	return nil
}

// Stream adds an entry with a blob of so many bytes in a cluster of its own, which is written to what it
// returns and not held in memory. Nothing else may be added before that is closed.
func (w *Writer) Stream(e Entry, size int64) (io.WriteCloser, error) {
	if w.err != nil {
		return nil, w.err
	}
	s, err := w.stream(e, uint64(size))
	if err != nil {
		return nil, w.note(err)
	}
	return s, nil
}

func (w *Writer) stream(e Entry, size uint64) (*stream, error) {
	rec, err := w.dir.check(e)
	if err != nil {
		return nil, err
	}
	if err := w.flush(0); err != nil { // clusters follow one another
		return nil, err
	}
	rec.cluster = w.open()
	w.place(rec.cluster)
	s, err := newStream(w, e.Plain, size)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", e.Path, err)
	}
	w.dir.add(e, rec)
	return s, nil
}

// Redirect adds an entry that redirects to the content entry at a path, which may be added later.
func (w *Writer) Redirect(e Entry, target string) error {
	if w.err != nil {
		return w.err
	}
	e.Type = textType // any
	rec, err := w.dir.check(e)
	if err != nil {
		return w.note(err)
	}
	w.dir.redirect(e, rec, target)
	return nil
}

func (w *Writer) note(err error) error {
	if err != nil {
		w.err = fmt.Errorf("write ZIM file: %w", err)
	}
	return w.err
}

// open begins a cluster and returns its place among those that were opened.
func (w *Writer) open() uint32 {
	w.opened++
	w.sealed = append(w.sealed, noIndex)
	return w.opened - 1
}

// place says that a cluster begins here.
func (w *Writer) place(id uint32) {
	w.sealed[id] = uint32(len(w.offsets))
	w.offsets = append(w.offsets, w.out.n)
}
