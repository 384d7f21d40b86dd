// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"

	"mirrord/internal/regular"
	"mirrord/store/disk"
)

// holdTries is how many times hold looks for a published tree that is not about to be changed. Each time
// after the first one a publish must have come between.
const holdTries = 10

// HeldTree is the published tree as it was when it was opened: it stays that version until Close, or until
// the process ends. Only a take-down removes it before.
type HeldTree struct {
	regular.Root
	lock *os.File
}

// Close lets a publish bring the tree forward again.
func (t *HeldTree) Close() error {
	err := t.Root.Close()
	if t.lock != nil {
		err = errors.Join(err, unlock(t.lock))
	}
	return err
}

// Hold opens the published tree and holds it; ErrNoVersion without one. The caller closes it.
func (s *Trees) Hold() (*HeldTree, error) {
	if s.pin == nil {
		p := s.hold()
		if p.tree.Root != nil {
			return &HeldTree{Root: p.tree, lock: p.lock}, nil
		}
		root, err := s.Current() // reports the error
		if err != nil {
			return nil, err
		}
		return &HeldTree{Root: root}, nil
	}
	root, err := s.Current()
	if err != nil {
		return nil, err
	}
	t := &HeldTree{Root: root}
	if s.pin.lock == nil {
		return t, nil
	}
	if t.lock, err = root.Open("."); err != nil {
		return nil, errors.Join(disk.Err("hold tree", err), root.Close())
	}
	if ok, err := disk.Flock(t.lock, false, false); !ok { // the view holds it already
		return nil, errors.Join(disk.Err("hold tree", err), fmt.Errorf("hold tree: %w", ErrBusy), t.Close())
	}
	return t, nil
}

// hold opens the published tree and keeps it from being reused, where folders can be locked.
func (s *Trees) hold() *pinned {
	p := &pinned{}
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
			p.tree = tree
			return p
		}
		ok, err := disk.Flock(lock, false, false)
		if ok && s.stands(p.name, lock) {
			p.tree, p.lock = tree, lock
			return p
		}
		lock.Close()
		if (err != nil) || try == holdTries { // folders cannot be locked: grace alone protects the reader
			p.tree = tree
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

// close lets go of the tree of a view.
func (p *pinned) close() {
	if p == nil {
		return
	}
	if p.tree.Root != nil {
		p.tree.Close() // read only: nothing can be lost
	}
	if p.lock != nil {
		unlock(p.lock) // likewise
	}
}

// unlock gives the lock of a folder back at once: a process that is being started may have the file too,
// until its program begins.
func unlock(f *os.File) error {
	_ = disk.Funlock(f) // it fails where folders cannot be locked
	return f.Close()
}
