// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"io"
	"strings"
	"testing"
)

// zeros is a file of nothing but zeros.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// A file that is read says now and then how far, and never more than there is.
func TestShownAt(t *testing.T) {
	const size = 3 * shownEvery
	var said []string
	f := ShownAt(zeros{}, size, func(line string) { said = append(said, line) })
	for range 2 {
		if _, err := io.Copy(io.Discard, io.NewSectionReader(f, 0, size)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(said); n < 3 || n > 6 || !strings.HasPrefix(said[0], "reading: ") || said[n-1] != said[n-2] {
		t.Errorf("%q", said)
	}
}
