// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bufio"
	"bytes"
	"cmp"
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
	names []hashedName // sorted
}

// hashedName is the hash of a URL or path and the offset of its line.
type hashedName struct {
	sum uint64
	at  int64
}

// IndexTable reads a phm.files from its start. A line that breaks the format is left out: verify reports it,
// the rest is served.
func IndexTable(r io.Reader, files int) (*TableIndex, error) {
	files = min(max(files, 0), 1<<20) // what phm.json says is only a hint
	t := &TableIndex{seed: maphash.MakeSeed(), names: make([]hashedName, 0, 2*files)}
	starts := make([]int64, 1, files+1)
	n := 0
	for f, err := range Files(&lineCounter{r: r, ends: &starts}) {
		var bad *LineError
		switch {
		case err == nil:
			for _, name := range append(f.Also(), f.URL, f.Path) {
				t.names = append(t.names, hashedName{maphash.String(t.seed, name), starts[n]})
			}
		case !errors.As(err, &bad):
			return nil, err
		}
		n++
	}
	slices.SortFunc(t.names, func(a, b hashedName) int {
		return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.at, b.at))
	})
	return t, nil
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

// find returns the file that is wanted, nil without one. is decides by the line.
func (t *TableIndex) find(r io.ReaderAt, want string, is func(*File) bool) (*File, error) {
	sum := maphash.String(t.seed, want)
	i, _ := slices.BinarySearchFunc(t.names, sum, func(n hashedName, sum uint64) int {
		return cmp.Compare(n.sum, sum)
	})
	for ; i < len(t.names) && t.names[i].sum == sum; i++ {
		at := t.names[i].at
		line, err := bufio.NewReader(io.NewSectionReader(r, at, maxLine+1)).ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read %s: %w", FilesName, err)
		}
		f, err := parseLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return nil, fmt.Errorf("read %s, from byte %d: %w", FilesName, at, err)
		}
		if is(f) {
			return f, nil
		}
	}
	return nil, nil
}

// ByURL returns the file of a URL, nil without one. r is the table.
func (t *TableIndex) ByURL(r io.ReaderAt, want string) (*File, error) {
	return t.find(r, want, func(f *File) bool { return f.URL == want || slices.Contains(f.Also(), want) })
}

// ByPath returns the file at a mirror path, nil without one. r is the table.
func (t *TableIndex) ByPath(r io.ReaderAt, path string) (*File, error) {
	return t.find(r, path, func(f *File) bool { return f.Path == path })
}
