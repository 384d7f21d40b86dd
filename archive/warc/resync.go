// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bytes"
	"io"
)

// recordAhead is how many bytes of the beginning of a record show that it is one.
const recordAhead = 4 << 20

// mostTries is how many places of a file are tried that only look like the beginning of a record.
const mostTries = 10_000

// Resync finds a record, or a member that begins with one, from an offset of a file on; -1 for none. What it
// finds may lie within a record that holds others.
func (p *Compression) Resync(file io.ReaderAt, size, from int64) int64 {
	begins := p.begins()
	const window = 1 << 20
	tries := 0
	buf := make([]byte, window+8)
	for at := from; at < size; at += window {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil && err != io.EOF {
			return -1
		}
		part := buf[:n]
		for i := 0; i < min(n, window); i++ {
			j := bytes.Index(part[i:], begins)
			if j < 0 || i+j >= window {
				break
			}
			if i += j; p.isRecord(file, at+int64(i), size) {
				return at + int64(i)
			}
			if tries++; tries == mostTries {
				return -1
			}
		}
	}
	return -1
}

// isRecord reports whether a record begins at an offset.
func (p *Compression) isRecord(file io.ReaderAt, at, size int64) bool {
	r, err := p.NewReader(io.NewSectionReader(file, at, min(size-at, recordAhead)))
	if err != nil {
		return false
	}
	defer r.Close()
	_, err = r.Next()
	return err == nil
}
