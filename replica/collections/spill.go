// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"errors"
	"fmt"
	"io"
)

// Spill makes temporary files for data beyond the memory budget, invisible to others. Calls
// come one after the other.
type Spill interface {
	Create() (SpillFile, error)
}

// SpillFile is a file of a Spill: written from its beginning to its end, and read anywhere, also between
// writes. Close gives its room back.
type SpillFile interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// writeRun writes all of b.
func writeRun(r SpillFile, b []byte) error {
	n, err := r.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// readRun reads all of b.
func readRun(r SpillFile, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// pile is bytes that are only ever added to: the last ones, limit at most, in memory, the others on disk.
type pile struct {
	spill Spill
	limit int
	chunk int // bytes of a piece of mem, of which all but the last are full

	run  SpillFile
	at   int64 // bytes in run
	mem  [][]byte
	held int // bytes in mem
}

func newPile(spill Spill, limit int) pile {
	return pile{spill: spill, limit: limit, chunk: min(max(limit/16, 512), 1<<20)}
}

func (p *pile) add(b []byte) error {
	for len(b) > 0 {
		last := p.held / p.chunk
		if last == len(p.mem) {
			if p.held >= p.limit {
				if err := p.shed(); err != nil {
					return err
				}
				last--
			} else {
				p.mem = append(p.mem, make([]byte, p.chunk))
			}
		}
		n := copy(p.mem[last][p.held%p.chunk:], b)
		p.held += n
		b = b[n:]
	}
	return nil
}

// shed writes the first piece, whose room is then that of the last.
func (p *pile) shed() error {
	if p.run == nil {
		run, err := p.spill.Create()
		if err != nil {
			return fmt.Errorf("keep pages on disk: %w", err)
		}
		p.run = run
	}
	first := p.mem[0]
	n := min(p.chunk, p.held)
	if err := writeRun(p.run, first[:n]); err != nil {
		return fmt.Errorf("keep pages on disk: %w", err)
	}
	p.at, p.held = p.at+int64(n), p.held-n
	copy(p.mem, p.mem[1:])
	p.mem[len(p.mem)-1] = first
	return nil
}

// settle makes room when there is something on disk already: the rest goes there too. Nothing can be added
// after that.
func (p *pile) settle() error {
	if p.run == nil {
		return nil
	}
	for p.held > 0 {
		if err := p.shed(); err != nil {
			return err
		}
	}
	p.mem = nil
	return nil
}

func (p *pile) len() int64 { return p.at + int64(p.held) }

// ReadAt reads what was added; it is an io.ReaderAt.
func (p *pile) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	if off < p.at {
		n = int(min(int64(len(b)), p.at-off))
		if err := readRun(p.run, b[:n], off); err != nil {
			return 0, fmt.Errorf("pages on disk: %w", err)
		}
	}
	for n < len(b) {
		at := int(off + int64(n) - p.at)
		if at >= p.held {
			return n, io.EOF
		}
		n += copy(b[n:], p.mem[at/p.chunk][at%p.chunk:min(p.chunk, p.held-at/p.chunk*p.chunk)])
	}
	return n, nil
}

func (p *pile) close() error {
	p.mem, p.held, p.at = nil, 0, 0
	if p.run == nil {
		return nil
	}
	err := p.run.Close()
	p.run = nil
	return err
}
