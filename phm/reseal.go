// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"io"
	"io/fs"
)

// Reseal writes the table and phm.json of a directory whose files a program has changed: with the sizes and
// digests that they have now. table is the one before, all of whose files must be there. Each that was
// changed declares an edit of a kind.
func Reseal(fsys fs.FS, table io.Reader, m Meta, sink Sink, kind string) error {
	var failed error
	err := writeTable(sink, &m, func(yield func(*File) bool) {
		for f, err := range Files(table) {
			sum := ""
			if err == nil {
				sum, err = sumOf(fsys, f.Path)
			}
			if err == nil && sum != f.SHA256 {
				f.SHA256 = sum
				f.Edits = append(f.Edits, DeclaredEdit{Kind: kind})
				var fi fs.FileInfo
				if fi, err = fs.Stat(fsys, f.Path); err == nil {
					f.Size = fi.Size()
				}
			}
			if failed = err; err != nil || !yield(f) {
				return
			}
		}
	})
	if failed != nil {
		return failed
	}
	return err
}
