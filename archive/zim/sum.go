// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"hash"
	"io"
)

// fileSum is the MD5 of a file that is being written. The header is the first that it is of, and known when
// nearly all clusters are written: so those are read beside the caller, who writes what follows.
type fileSum struct {
	head []byte
	md5  hash.Hash
	n    uint64        // bytes of the file that are in md5
	ends chan uint64   // up to where the file is written
	done chan struct{} // closed when what follows is set
	err  error
}

func (w *Writer) sumOf(h *header) *fileSum {
	var head bytes.Buffer
	err := binary.Write(&head, binary.LittleEndian, h)
	s := &fileSum{
		head: head.Bytes(),
		md5:  md5.New(),
		n:    headerSize,
		ends: make(chan uint64, 1),
		done: make(chan struct{}),
		err:  err,
	}
	s.md5.Write(s.head)
	if w.Go == nil {
		close(s.done)
		return s
	}
	s.ends <- w.out.n
	w.Go(func() {
		for end := range s.ends {
			if s.err == nil {
				s.err = s.upTo(w.out.File, end)
			}
		}
		close(s.done)
	})
	return s
}

// more says that more is written.
func (s *fileSum) more(end uint64) {
	select {
	case s.ends <- end:
	default: // it has enough to do
	}
}

// upTo reads the written file up to an offset.
func (s *fileSum) upTo(f io.ReaderAt, end uint64) error {
	left := int64(end - s.n)
	got, err := io.CopyBuffer(s.md5, onlyReader{io.NewSectionReader(f, int64(s.n), left)}, make([]byte, 1<<20))
	if (err == nil) && got < left {
		err = io.ErrUnexpectedEOF
	}
	s.n = end
	return err
}

// end waits for what runs beside the caller. If all is written, header and MD5 are, too.
func (s *fileSum) end(w *Writer, whole bool) error {
	close(s.ends)
	<-s.done
	if s.err != nil || !whole {
		return s.err
	}
	if err := s.upTo(w.out, w.out.n); err != nil {
		return err
	}
	if _, err := w.out.WriteAt(s.head, 0); err != nil {
		return err
	}
	_, err := w.out.Write(s.md5.Sum(nil))
	return err
}

// sumOf returns the MD5 of the first n bytes.
func sumOf(r io.ReaderAt, n int64) ([]byte, error) {
	s := fileSum{md5: md5.New()}
	err := s.upTo(r, uint64(n))
	return s.md5.Sum(nil), err
}

// onlyReader hides WriterTo, so that a copy uses the buffer it is given.
type onlyReader struct{ io.Reader }
