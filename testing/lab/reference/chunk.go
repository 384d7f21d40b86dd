// SPDX-License-Identifier: Apache-2.0

// Package reference has what papers define and the program does otherwise: chunks of lines, sketches as they
// are defined, candidate pairs, and the counts of two sets of directories. The rooms of
// replica, evolution and replay are held against them.
package reference

import (
	"strings"

	"mirrord/replica/hash"
)

// Chunking says how the lines of a page are cut into chunks (Cho, Shivakumar, Garcia-Molina, section 4.1).
type Chunking struct {
	Lines int // lines of a chunk; 0 means 4
	// a chunk ends where its line says so, after Lines on average and 4*Lines at most: a line more on top moves
	// nothing
	ContentDefined bool
}

// Chunks returns the fingerprints, of 32 bits, of a page's chunks: H of their lines joined by line ends.
func Chunks(lines []string, c Chunking) hash.Set {
	n := c.Lines
	if n <= 0 {
		n = 4
	}
	var out []uint64
	emit := func(chunk []string) { out = append(out, hash.H(strings.Join(chunk, "\n"))&0xffffffff) }
	from := 0
	for i, line := range lines {
		size := i + 1 - from
		if (!c.ContentDefined && size == n) || (c.ContentDefined && (hash.H(line)%uint64(n) == 0 || size == 4*n)) {
			emit(lines[from : i+1])
			from = i + 1
		}
	}
	if from < len(lines) {
		emit(lines[from:])
	}
	return hash.NewSet(out)
}
