// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"

	"mirrord/internal/regular"
	"mirrord/store/db"
	"mirrord/store/disk"
)

// holdTries is how many times hold looks for a published tree that is not about to be changed. Each time
// after the first one a publish must have come between.
const holdTries = 10

// HeldTree is the published tree as it was when it was opened: it stays that version until Close, or until
// the process ends. Only a take-down removes it before.
type HeldTree struct {
	regular.Root          // the zero value when nothing is published, or it is missing
	lock         *os.File // keeps the tree from being reused; nil: nothing does
	name         string
	err          error // why name is not known
}

// Close lets a publish bring the tree forward again.
func (t *HeldTree) Close() (err error) {
	if t.Root.Root != nil {
		err = t.Root.Close()
	}
	if t.lock != nil {
		err = errors.Join(err, unlock(t.lock))
	}
	return err
}

// Hold opens the published tree and holds it; ErrNoVersion without one. The caller closes it.
func (s *Trees) Hold() (*HeldTree, error) {
	if s.pin == nil {
		if t := s.hold(); t.Root.Root != nil {
			return t, nil
		}
	}
	root, err := s.Current() // the error says why nothing is published
	if err != nil {
		return nil, err
	}
	t := &HeldTree{Root: root}
	if s.pin == nil || s.pin.lock == nil {
		return t, nil
	}
	if t.lock, err = root.Open("."); err != nil {
		return nil, errors.Join(disk.Err("hold tree", err), root.Close())
	}
	if ok, err := disk.Flock(t.lock, false, false); !ok { // the view holds it already
		return nil, errors.Join(disk.Err("hold tree", err), fmt.Errorf("hold tree: %w", db.ErrBusy), t.Close())
	}
	return t, nil
}

// hold opens the published tree and keeps it from being reused, where folders can be locked.
func (s *Trees) hold() *HeldTree {
	p := &HeldTree{}
	for try := 1; ; try++ {
		if p.name, p.err = s.live(); p.name == "" {
			return p
		}
		tree, err := s.openTree(p.name)
		if err != nil { // Current reports the error
			return p
		}
		lock, err := tree.Open(".")
		if err != nil {
			p.Root = tree
			return p
		}
		ok, err := disk.Flock(lock, false, false)
		if ok && s.stands(p.name, lock) {
			p.Root, p.lock = tree, lock
			return p
		}
		lock.Close()
		if (err != nil) || try == holdTries { // folders cannot be locked: grace alone protects the reader
			p.Root = tree
			return p
		}
		tree.Close()
	}
}

// stands reports whether a tree still has its name.
func (s *Trees) stands(name string, tree *os.File) bool {
	opened, err := tree.Stat()
	if err != nil {
		return false
	}
	named, err := s.root.Lstat(treesFolder + "/" + name)
	return err == nil && os.SameFile(opened, named)
}

// unlock gives the lock of a folder back at once: a process that is being started may have the file too,
// until its program begins.
func unlock(f *os.File) error {
	_ = disk.Funlock(f) // it fails where folders cannot be locked
	return f.Close()
}
