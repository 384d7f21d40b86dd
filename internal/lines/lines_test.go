// SPDX-License-Identifier: Apache-2.0

package lines_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mirrord/internal/lines"
)

// scratch is a scratch file in memory.
type scratch struct {
	bytes.Buffer
	closed *int
}

func (h *scratch) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(h.Bytes()).ReadAt(p, off)
}

func (h *scratch) Close() error { *h.closed++; return nil }

// Lines come back in order, from any number of scratch files.
func TestLines(t *testing.T) {
	for _, limit := range []int{1 << 20, 1000, 1} {
		for _, sorted := range []bool{false, true} {
			closed := 0
			l := lines.Lines{Limit: limit}
			if sorted {
				l.Compare = bytes.Compare
			}
			l.Room = func() (lines.Scratch, error) { return &scratch{closed: &closed}, nil }
			rng := rand.New(rand.NewPCG(1, uint64(limit)))
			var want []string
			for range 500 {
				line := fmt.Sprintf("%d%s\n", rng.IntN(100), strings.Repeat("x", rng.IntN(200)))
				want = append(want, line)
				if err := l.Add([]byte(line)); err != nil {
					t.Fatal(err)
				}
			}
			if sorted {
				slices.Sort(want)
			}
			var got []string
			if err := l.Each(func(line []byte) error { got = append(got, string(line)); return nil }); err != nil ||
				!slices.Equal(got, want) {
				t.Errorf("limit %d, sorted %v: %d lines, %v", limit, sorted, len(got), err)
			}
			if err := l.Close(); err != nil || (closed == 1) != (limit < 1<<20) {
				t.Errorf("limit %d: closed %d times, %v", limit, closed, err)
			}
		}
	}
	full := errors.New("no room")
	l := lines.Lines{Limit: 1, Room: func() (lines.Scratch, error) { return nil, full }}
	if err := l.Add([]byte("x\n")); !errors.Is(err, full) {
		t.Errorf("without room: %v", err)
	}
}

// Records of any bytes come back whole, and a scratch file that lost some is an error.
func TestLinesOfAnyBytes(t *testing.T) {
	want := []string{strings.Repeat("\xff", 900), "b\nb", "b\n", "b", "\n", "\x00\n", ""}
	for _, lost := range []int{0, 1, 700} {
		closed := 0
		file := scratch{closed: &closed}
		l := lines.Lines{Limit: 1, Compare: func(a, b []byte) int { return bytes.Compare(b, a) }}
		l.Room = func() (lines.Scratch, error) { return &file, nil }
		for _, i := range rand.Perm(len(want)) {
			if err := l.Add([]byte(want[i])); err != nil {
				t.Fatal(err)
			}
		}
		file.Truncate(file.Len() - lost)
		var got []string
		err := l.Each(func(line []byte) error { got = append(got, string(line)); return nil })
		if lost == 0 && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%q, %v", got, err)
		}
		if lost > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes lost: %v", lost, err)
		}
	}
}
