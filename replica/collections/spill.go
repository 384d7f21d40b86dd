// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"mirrord/internal/lines"
)

// Spill makes temporary files for data beyond the memory budget, invisible to others. Calls
// come one after the other.
type Spill interface {
	Create() (SpillFile, error)
}

// SpillFile is a file of a Spill.
type SpillFile = lines.Scratch

// pile is bytes that are only ever added to: in memory until they are more than limit, then in a file.
type pile struct {
	spill Spill
	limit int
	run   SpillFile // nil while all is in memory
	at    int64     // bytes in it
	buf   []byte    // those after them
}

func (p *pile) add(b []byte) error {
	if len(p.buf) > 0 && len(p.buf)+len(b) > p.limit {
		if err := p.shed(); err != nil {
			return err
		}
	}
	p.buf = append(p.buf, b...)
	return nil
}

// shed writes the bytes in memory.
func (p *pile) shed() (err error) {
	if len(p.buf) == 0 {
		return nil
	}
	if p.run == nil {
		if p.run, err = p.spill.Create(); err != nil {
			p.run = nil
			return fmt.Errorf("keep pages on disk: %w", err)
		}
	}
	n, err := p.run.Write(p.buf)
	if err == nil && n < len(p.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("keep pages on disk: %w", err)
	}
	p.at, p.buf = p.at+int64(n), p.buf[:0]
	return nil
}

// settle makes room when there is something on disk already: the rest goes there too. Nothing is added after
// that.
func (p *pile) settle() error {
	if p.run == nil {
		return nil
	}
	err := p.shed()
	p.buf = nil
	return err
}

func (p *pile) len() int64 { return p.at + int64(len(p.buf)) }

// ReadAt reads what was added; it is an io.ReaderAt.
func (p *pile) ReadAt(b []byte, off int64) (n int, err error) {
	if off < p.at {
		n, err = p.run.ReadAt(b[:min(int64(len(b)), p.at-off)], off)
		if int64(n) < min(int64(len(b)), p.at-off) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, fmt.Errorf("pages on disk: %w", err)
		}
	}
	if at := off + int64(n) - p.at; n < len(b) && at < int64(len(p.buf)) {
		n += copy(b[n:], p.buf[at:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// reader reads all of it.
func (p *pile) reader() *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(p, 0, p.len()), 64<<10)
}

func (p *pile) close() error {
	p.buf, p.at = nil, 0
	if p.run == nil {
		return nil
	}
	err := p.run.Close()
	p.run = nil
	return err
}

// take returns the next n bytes until the next call. io.EOF at the end, io.ErrUnexpectedEOF within a record.
func take(r *bufio.Reader, n int) ([]byte, error) {
	b, err := r.Peek(n)
	if errors.Is(err, bufio.ErrBufferFull) {
		b = make([]byte, n)
		_, err = io.ReadFull(r, b)
		return b, err
	}
	if err != nil {
		if len(b) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	_, err = r.Discard(n)
	return b, err
}
