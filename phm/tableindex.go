// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
)

// TableIndex finds lines of a phm.files by URL and by path. The lines stay on the disk: a file of the set
// costs 32 bytes of memory. It is read-only once built, and safe for concurrent use.
type TableIndex struct {
	seed  maphash.Seed
	lines []int64 // offset of each line, and the end of the last
	urls  hashed
	paths hashed
}

// hashed is a list of lines, sorted by the hash of the key.
type hashed struct {
	sums  []uint64
	lines []uint32
}

// IndexTable reads a phm.files from its start. A line that breaks the format is left out: verify reports it,
// the rest is served.
func IndexTable(r io.Reader, files int) (*TableIndex, error) {
	t := &TableIndex{seed: maphash.MakeSeed()}
	files = min(max(files, 0), 1<<20) // what phm.json says is only a hint
	t.lines = append(make([]int64, 0, files+1), 0)
	urls, paths := make([]hashLine, 0, files), make([]hashLine, 0, files)
	n := uint32(0)
	for f, err := range Files(&lineCounter{r: r, ends: &t.lines}) {
		var bad *LineError
		switch {
		case err == nil:
			urls = append(urls, hashLine{maphash.String(t.seed, f.URL), n})
			for _, u := range f.Also() {
				urls = append(urls, hashLine{maphash.String(t.seed, u), n})
			}
			paths = append(paths, hashLine{maphash.String(t.seed, f.Path), n})
		case !errors.As(err, &bad):
			return nil, err
		}
		n++
	}
	t.urls, t.paths = sortHashes(urls), sortHashes(paths)
	return t, nil
}

type hashLine struct {
	sum  uint64
	line uint32
}

func sortHashes(all []hashLine) hashed {
	slices.SortFunc(all, func(a, b hashLine) int {
		switch {
		case a.sum < b.sum:
			return -1
		case a.sum > b.sum:
			return 1
		}
		return int(a.line) - int(b.line)
	})
	h := hashed{make([]uint64, len(all)), make([]uint32, len(all))}
	for i, x := range all {
		h.sums[i], h.lines[i] = x.sum, x.line
	}
	return h
}

// lineCounter notes where the lines of its input end.
type lineCounter struct {
	r    io.Reader
	at   int64
	ends *[]int64
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for b := p[:n]; ; {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		b = b[i+1:]
		*c.ends = append(*c.ends, c.at+int64(n-len(b)))
	}
	c.at += int64(n)
	return n, err
}

// tableLine is a line with what package phm needs of it.
type tableLine struct {
	File
	Also []string `json:"mirrord.also"` // AlsoField
}

// find returns the file that is wanted, nil without one. is decides by the line.
func (t *TableIndex) find(r io.ReaderAt, h hashed, want string, is func(*tableLine) bool) (*File, error) {
	sum := maphash.String(t.seed, want)
	i, _ := slices.BinarySearch(h.sums, sum)
	for ; i < len(h.sums) && h.sums[i] == sum; i++ {
		n := int(h.lines[i])
		if n+1 >= len(t.lines) {
			continue // a last line without its end
		}
		b := make([]byte, t.lines[n+1]-t.lines[n])
		if _, err := r.ReadAt(b, t.lines[n]); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", FilesName, err)
		}
		f := new(tableLine)
		if err := json.Unmarshal(b, f); err != nil {
			return nil, fmt.Errorf("read %s, line %d: %w", FilesName, n+1, err)
		}
		if is(f) {
			return &f.File, nil
		}
	}
	return nil, nil
}

// ByURL returns the file of a URL, nil without one. r is the table.
func (t *TableIndex) ByURL(r io.ReaderAt, want string) (*File, error) {
	return t.find(r, t.urls, want, func(f *tableLine) bool {
		return f.URL == want || slices.Contains(f.Also, want)
	})
}

// ByPath returns the file at a mirror path, nil without one. r is the table.
func (t *TableIndex) ByPath(r io.ReaderAt, path string) (*File, error) {
	return t.find(r, t.paths, path, func(f *tableLine) bool { return f.Path == path })
}
