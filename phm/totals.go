// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"fmt"
	"io/fs"
)

// CheckTotals holds what a tree that is packed into so many bytes unpacks to, by its table, against the
// limits. Forms that state no sizes of their own need it before anything else is read.
func CheckTotals(fsys fs.FS, packed int64, l Limits) error {
	l = l.withDefaults()
	info, err := fs.Stat(fsys, FilesName)
	if err != nil {
		return err
	}
	over := func(n int64) error {
		if n <= l.Total && (n <= ratioFrom || n/l.Ratio <= packed) {
			return nil
		}
		return fmt.Errorf("%w: %d bytes unpack to %d or more, over %d to one or %d in all", ErrUnsafe, packed, n,
			l.Ratio, l.Total)
	}
	if err := over(info.Size()); err != nil {
		return fmt.Errorf("%s: %w", FilesName, err)
	}
	files, total := 0, info.Size()
	for f, err := range tableOf(fsys) {
		if err != nil {
			continue // reported by readers of the files
		}
		files++
		if files > l.Entries || f.Size > l.File {
			return fmt.Errorf("%q: %w: a file of %d bytes, the %dth", abbreviate(f.Path), ErrUnsafe, f.Size, files)
		}
		total += f.Size
		if err := over(total); err != nil {
			return fmt.Errorf("%q: %w", abbreviate(f.Path), err)
		}
	}
	return nil
}
