// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"mirrord/internal/zst"
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

// Writer writes a ZIM file. It holds about 30 bytes and its names for each entry. The first error ends it:
// every later call returns the same one. It is not safe for concurrent use.
type Writer struct {
	Options
	out appender
	err error

	packer  *zstd.Encoder // of all clusters
	dir     *directory
	offsets []uint64             // where clusters begin, by number
	shared  map[[16]byte]blobRef // by digest, see OpenCluster.Hold
}

// blobRef is where a blob lies.
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

const maxEntries = 1 << 31

// NewWriter begins a ZIM file at the beginning of f, which is empty.
func NewWriter(f File, o Options) (*Writer, error) {
	w := &Writer{
		Options: o,
		out:     appender{File: f},
		packer:  zst.NewEncoder(window, zstd.WithEncoderConcurrency(0)),
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

// Add adds an entry with its blob, in a cluster of its own.
func (w *Writer) Add(e Entry, blob []byte) error {
	c := w.NewCluster(e.Plain, len(blob))
	c.Add(e, blob)
	c.Pack()
	return w.Take(c)
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
	rec.cluster = w.begin()
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
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write ZIM file: %w", err)
	}
	return w.err
}

// begin says that a cluster begins here, and returns its number.
func (w *Writer) begin() uint32 {
	w.offsets = append(w.offsets, w.out.n)
	return uint32(len(w.offsets) - 1)
}
