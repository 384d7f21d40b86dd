// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Scratch makes a file without a name in the first of some folders that takes it. In the last one it has
// a name for a moment where the file system makes none without.
func Scratch(dirs ...string) (f *os.File, err error) {
	for _, dir := range dirs {
		if f, err = os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600); err == nil {
			return f, nil
		}
	}
	if f, err = os.CreateTemp(dirs[len(dirs)-1], ".mirrord-scratch-"); err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
