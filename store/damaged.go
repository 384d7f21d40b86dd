// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"

	"mirrord/store/disk"
)

// Relink makes the file at a mirror path of the published tree the blob that it should be, when it is another
// file: the tree keeps the damaged bytes of a blob that was discarded. Readers see the one or the other. From
// the other trees no version takes the file over. It reports whether there was something to do. No tree may
// be open for building.
func (s *Trees) Relink(path string, d [32]byte) (done bool, err error) {
	if err := s.owned(); err != nil {
		return false, err
	}
	live, err := s.live()
	if err != nil || live == "" {
		return false, err
	}
	tree, err := s.openTree(live)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, disk.Err("relink "+path, err)
	}
	defer tree.Close()
	fi, err := tree.Lstat(path)
	if err != nil { // not in this tree
		return false, nil
	}
	if whole, err := s.bodies.Is(fi, d); whole || err != nil {
		return false, disk.Err("relink "+path, err)
	}
	t, err := s.Mend()
	if err != nil {
		return true, err
	}
	w := t.Writer()
	err = w.LinkBlob(path, d)
	w.Close()
	if err == nil {
		err = t.Replace([]string{path}, nil)
	}
	return true, errors.Join(err, t.Close(), t.Discard())
}
