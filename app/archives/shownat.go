// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"fmt"
	"io"
	"sync"

	"mirrord/mirror/result"
)

// shownBytes says now and then how many bytes of how many are done. It is safe for concurrent use.
type shownBytes struct {
	what  string // "reading"
	total int64
	say   func(line string) // nil: no line is wanted

	mu         sync.Mutex // guards what follows, and calls of say
	done, said int64
}

// shownEvery is after how many bytes the next line comes.
const shownEvery = 4 << 20

// add takes in that further bytes are done.
func (s *shownBytes) add(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += n
	ends := s.done >= s.total && s.said < s.total
	if s.say != nil && (ends || s.done-s.said > shownEvery) {
		s.said = s.done
		s.say(fmt.Sprintf("%s: %s of %s", s.what, result.Bytes(min(s.done, s.total)), result.Bytes(s.total)))
	}
}

// ShownAt returns a file that says on the way how many of its bytes were read. It is safe for concurrent use.
func ShownAt(file io.ReaderAt, size int64, say func(line string)) io.ReaderAt {
	return &shownAt{file, shownBytes{what: "reading", total: size, say: say}}
}

type shownAt struct {
	io.ReaderAt
	shown shownBytes
}

func (s *shownAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(p, off)
	s.shown.add(int64(n))
	return n, err
}

// shownWriter says how many bytes were written.
type shownWriter struct {
	io.Writer
	shown *shownBytes
}

func (w shownWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.shown.add(int64(n))
	return n, err
}
