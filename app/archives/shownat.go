// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"fmt"
	"io"
	"sync"

	"mirrord/mirror"
)

// ShownAt returns a file that says on the way how many of its bytes were read. It is safe for concurrent use.
func ShownAt(file io.ReaderAt, size int64, say func(line string)) io.ReaderAt {
	if say == nil {
		return file
	}
	return &shownAt{ReaderAt: file, size: size, say: say}
}

type shownAt struct {
	io.ReaderAt
	size int64
	say  func(string)

	mu          sync.Mutex // guards what follows, and calls of say
	done, shown int64
}

func (s *shownAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(p, off)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += int64(n)
	if s.done-s.shown > noteEvery {
		s.shown = s.done
		s.say(fmt.Sprintf("reading: %s of %s", mirror.Bytes(min(s.done, s.size)), mirror.Bytes(s.size)))
	}
	return n, err
}
