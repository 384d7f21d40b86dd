package replica

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Spill makes room outside memory: files that nobody else sees. Calls come one after the other.
type Spill interface {
	Create() (Run, error)
}

// Run is a file of a Spill: written from its beginning to its end, and read anywhere, also between writes. Close gives its room back.
type Run interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// order says how records of one kind are sorted, measured, written and read.
type order[R any] struct {
	sort func([]R) []R // the result may lie elsewhere, until the next call
	less func(a, b R) bool
	size int // bytes of a record in memory; 0 when they differ: then sizeOf is asked

	sizeOf func(R) int
	write  func([]byte, R) []byte // appends it
	read   func(*bufio.Reader) (R, error)
}

// sorter is an external merge sort: records that are more than limit bytes are sorted piece by piece, written to one file and merged.
type sorter[R any] struct {
	order[R]
	spill Spill
	limit int

	held  []R
	bytes int // of held
	run   Run
	ends  []int64 // of the sorted pieces in run
}

func (s *sorter[R]) add(r R) error {
	s.held = append(s.held, r)
	if s.size > 0 {
		s.bytes += s.size
	} else {
		s.bytes += s.sizeOf(r)
	}
	if s.bytes >= s.limit {
		return s.flush()
	}
	return nil
}

// flush writes what is held as one more sorted piece.
func (s *sorter[R]) flush() error {
	if len(s.held) == 0 {
		return nil
	}
	at := int64(0)
	if s.run == nil {
		run, err := s.spill.Create()
		if err != nil {
			return fmt.Errorf("sort on disk: %w", err)
		}
		s.run = run
	} else {
		at = s.ends[len(s.ends)-1]
	}
	const block = 64 << 10
	buf := make([]byte, 0, block+4096)
	for _, r := range s.sort(s.held) {
		if buf = s.write(buf, r); len(buf) >= block {
			if _, err := s.run.Write(buf); err != nil {
				return fmt.Errorf("sort on disk: %w", err)
			}
			at, buf = at+int64(len(buf)), buf[:0]
		}
	}
	if _, err := s.run.Write(buf); err != nil {
		return fmt.Errorf("sort on disk: %w", err)
	}
	s.ends = append(s.ends, at+int64(len(buf)))
	clear(s.held)
	s.held, s.bytes = s.held[:0], 0
	return nil
}

// settle makes room when there are pieces on disk already: what is held goes there too.
func (s *sorter[R]) settle() error {
	if s.run == nil {
		return nil
	}
	err := s.flush()
	s.held = nil
	return err
}

// all yields all records in order, once. It ends with the first error.
func (s *sorter[R]) all() iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		if err := s.settle(); err != nil {
			yield(none, err)
			return
		}
		if s.run == nil {
			for _, r := range s.sort(s.held) {
				if !yield(r, nil) {
					return
				}
			}
			return
		}
		if err := s.merge(yield); err != nil {
			yield(none, fmt.Errorf("sort on disk: %w", err))
		}
	}
}

// source is one sorted piece while it is merged.
type source[R any] struct {
	next R
	in   *bufio.Reader
}

// merge yields the records of all pieces, by a heap of their next ones.
func (s *sorter[R]) merge(yield func(R, error) bool) error {
	heap := make([]source[R], 0, len(s.ends))
	buffer := min(max(s.limit/len(s.ends), 512), 64<<10)
	from := int64(0)
	for _, end := range s.ends {
		src := source[R]{in: bufio.NewReaderSize(io.NewSectionReader(s.run, from, end-from), buffer)}
		var err error
		if src.next, err = s.read(src.in); err != nil {
			return err
		}
		heap = append(heap, src)
		from = end
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		s.sink(heap, i)
	}
	for len(heap) > 0 {
		if !yield(heap[0].next, nil) {
			return nil
		}
		next, err := s.read(heap[0].in)
		switch {
		case errors.Is(err, io.EOF):
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		case err != nil:
			return err
		default:
			heap[0].next = next
		}
		s.sink(heap, 0)
	}
	return nil
}

func (s *sorter[R]) sink(heap []source[R], i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && s.less(heap[child+1].next, heap[child].next) {
			child++
		}
		if !s.less(heap[child].next, heap[i].next) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

func (s *sorter[R]) close() error {
	s.held, s.bytes, s.ends = nil, 0, nil
	if s.run == nil {
		return nil
	}
	err := s.run.Close()
	s.run = nil
	return err
}

// pile is bytes that are only ever added to: the last ones in memory, the others on disk once they are more than limit.
type pile struct {
	spill Spill
	limit int

	run Run
	at  int64 // bytes in run
	mem []byte
}

func (p *pile) add(b []byte) error {
	p.mem = append(p.mem, b...)
	if len(p.mem) < p.limit {
		return nil
	}
	if p.run == nil {
		run, err := p.spill.Create()
		if err != nil {
			return fmt.Errorf("keep pages on disk: %w", err)
		}
		p.run = run
	}
	if _, err := p.run.Write(p.mem); err != nil {
		return fmt.Errorf("keep pages on disk: %w", err)
	}
	p.at, p.mem = p.at+int64(len(p.mem)), p.mem[:0]
	return nil
}

func (p *pile) len() int64 { return p.at + int64(len(p.mem)) }

// ReadAt reads what was added; it is an io.ReaderAt.
func (p *pile) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	if off < p.at {
		m, err := p.run.ReadAt(b[:min(int64(len(b)), p.at-off)], off)
		if n = m; err != nil && !errors.Is(err, io.EOF) {
			return n, fmt.Errorf("pages on disk: %w", err)
		}
		if off += int64(m); off < p.at && n < len(b) {
			return n, io.ErrUnexpectedEOF
		}
	}
	if n < len(b) && off-p.at < int64(len(p.mem)) {
		n += copy(b[n:], p.mem[off-p.at:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (p *pile) close() error {
	p.mem = nil
	if p.run == nil {
		return nil
	}
	err := p.run.Close()
	p.run = nil
	return err
}
