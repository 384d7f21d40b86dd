// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// How much of a published tree a look reads, so that it takes milliseconds for a tree of any size.
const (
	lookBytes = 256 << 10 // of a file table, about 1000 files; one that has more is not read as a whole
	lookLines = 256       // of a larger table, evenly spread
	lookTries = 3         // each time a publish must have come between
)

// TreeProblem is what a look at a published tree found wrong; the zero value when that is nothing.
type TreeProblem struct {
	Text string // for people
	File string // path in the tree; "" when nothing of the tree can be read
}

// LookAt looks at what readers see of a site of a state that has a version, without a lock and without its
// database: phm.json and phm.files are there. With files also: phm.files is what phm.json says, and files are
// there in their sizes, all of them or a sample of many. Bytes of files are for Verify.
func LookAt(state, site string, files bool) (p TreeProblem) {
	root, err := regular.OpenRoot(state)
	if err != nil {
		return gone(err)
	}
	defer root.Close()
	current := "sites/" + site + "/" + CurrentLink
	for range lookTries {
		before, _ := root.Readlink(current)
		if p = lookAt(root, current, files); p.Text == "" {
			break
		}
		after, _ := root.Readlink(current)
		if before == after {
			break
		}
	}
	return p
}

func lookAt(root regular.Root, current string, files bool) TreeProblem {
	tree, err := root.OpenRoot(current)
	if err != nil {
		return gone(err)
	}
	defer tree.Close()
	for _, file := range []string{phm.MetaName, phm.FilesName} {
		switch fi, err := tree.Stat(file); {
		case err != nil:
			return gone(err)
		case !fi.Mode().IsRegular() || fi.Size() == 0:
			return TreeProblem{Text: fmt.Sprintf("the published tree is damaged: %s is empty or not a file", file)}
		}
	}
	if !files {
		return TreeProblem{}
	}
	file, err := lookAtFiles(tree)
	if errors.Is(err, fs.ErrPermission) {
		return gone(err)
	}
	if err != nil {
		return TreeProblem{
			Text: fmt.Sprintf("the published tree is damaged: %s %v", file, err),
			File: file,
		}
	}
	return TreeProblem{}
}

// gone says that a tree cannot be read at all.
func gone(err error) TreeProblem {
	if errors.Is(err, fs.ErrPermission) {
		return TreeProblem{Text: fmt.Sprintf("the published tree cannot be read: %v", err)}
	}
	return TreeProblem{Text: fmt.Sprintf("the published tree is missing or damaged: %v", err)}
}

// lookAtFiles compares a tree with its own description. An error is about the file that it names.
func lookAtFiles(tree regular.Root) (file string, err error) {
	raw, err := tree.ReadFile(phm.MetaName, regular.MaxSmall)
	if err != nil {
		return phm.MetaName, cannotRead(err)
	}
	m, err := phm.ReadMeta(bytes.NewReader(raw))
	if err != nil {
		return phm.MetaName, cannotRead(err)
	}
	table, err := tree.Open(phm.FilesName)
	if err != nil {
		return phm.FilesName, cannotRead(err)
	}
	defer table.Close()
	fi, err := table.Stat()
	if err != nil {
		return phm.FilesName, cannotRead(err)
	}
	if (m.TableBytes > 0) && (m.TableBytes != fi.Size()) {
		return phm.FilesName, fmt.Errorf("has %d bytes, not %d", fi.Size(), m.TableBytes)
	}
	whole := fi.Size() <= lookBytes
	lines, err := linesOf(table, fi.Size(), whole)
	if err != nil {
		return phm.FilesName, cannotRead(err)
	}
	sum := sha256.Sum256(lines)
	if whole && (m.TableSum != "") && (hex.EncodeToString(sum[:]) != m.TableSum) {
		return phm.FilesName, errors.New("is not what was published")
	}
	return lookAtLines(tree, lines)
}

func cannotRead(err error) error { return fmt.Errorf("cannot be read: %w", disk.Unreadable(err)) }

// linesOf reads a file table, as a whole or lines of it that are evenly spread.
func linesOf(table *os.File, size int64, whole bool) (lines []byte, err error) {
	if whole {
		return io.ReadAll(io.LimitReader(table, lookBytes))
	}
	part := make([]byte, 4<<10)
	for i := range int64(lookLines) {
		n, err := table.ReadAt(part, i*(size/lookLines))
		if (err != nil) && (err != io.EOF) {
			return nil, err
		}
		_, rest, begun := bytes.Cut(part[:n], []byte("\n"))
		end := bytes.IndexByte(rest, '\n') + 1
		// else it is longer than most, the last one, or the one before
		if line := rest[:end]; begun && end > 0 && !bytes.HasSuffix(lines, line) {
			lines = append(lines, line...)
		}
	}
	return lines, nil
}

func lookAtLines(tree regular.Root, lines []byte) (file string, err error) {
	for f, err := range phm.Files(bytes.NewReader(lines)) {
		if err != nil {
			return phm.FilesName, errors.New("has an invalid line")
		}
		switch fi, err := tree.Lstat(f.Path); {
		case errors.Is(err, fs.ErrNotExist):
			return f.Path, errors.New("is missing")
		case err != nil:
			return f.Path, cannotRead(err)
		case !fi.Mode().IsRegular():
			return f.Path, errors.New("is not a file")
		case fi.Size() != f.Size:
			return f.Path, fmt.Errorf("has %d bytes, not %d", fi.Size(), f.Size)
		}
	}
	return "", nil
}

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
func (s *SiteTrees) Hold() (*HeldTree, error) {
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
func (s *SiteTrees) hold() *HeldTree {
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
		if ok && stands(s.Root, p.name, lock) {
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

func stands(site *os.Root, name string, tree *os.File) bool {
	opened, err := tree.Stat()
	if err != nil {
		return false
	}
	named, err := site.Lstat(Dir + "/" + name)
	return err == nil && os.SameFile(opened, named)
}

// unlock gives the lock of a folder back at once: a process that is being started may have the file too,
// until its program begins.
func unlock(f *os.File) error {
	_ = disk.Funlock(f) // it fails where folders cannot be locked
	return f.Close()
}

// Pin makes Current the published tree of now for a view that knows versions, also one that was decided on
// and has no link yet. whole is false when it is not the tree of the last of them: another was published
// meanwhile.
func (s *SiteTrees) Pin(vs []record.Version) (whole bool) {
	s.pin = s.hold()
	nothing := (len(vs) == 0) && s.pin.name == ""
	switch {
	case nothing, s.pin.err != nil:
		return true
	case len(vs) == 0, s.pin.Root.Root == nil:
		return !s.DB.Stale()
	}
	meta, err := s.pin.ReadFile(phm.MetaName, regular.MaxSmall)
	return (err == nil && bytes.Equal(meta, vs[len(vs)-1].Meta)) || !s.DB.Stale()
}

// CheckLink returns the defect of the link to the published tree, "" for none: it names a finished tree
// exactly when a version is published.
func (s *SiteTrees) CheckLink(published bool) (wrong string, err error) {
	name, err := s.live()
	if err != nil {
		return err.Error(), nil
	}
	pending, building := false, false
	err = s.DB.View(func(tx *db.Tx) error {
		pending = tx.Meta().Get(home.KeyPublish) != nil
		building = slices.Contains(strings.Fields(string(tx.Meta().Get(home.KeyBuild))), name)
		return nil
	})
	switch {
	case err != nil, name == "" && (pending || !published):
		return "", err
	case name == "":
		return "it is missing, although a version is published", nil
	case building && !pending:
		return "it names a tree that is being changed", nil
	case !published && !pending:
		return fmt.Sprintf("it names tree %s, although no version is published", name), nil
	}
	fi, err := s.Root.Lstat(Dir + "/" + name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("it names tree %s, which is missing", name), nil
	case err == nil && !fi.IsDir():
		return fmt.Sprintf("tree %s is no directory", name), nil
	}
	return "", err
}

// IsBody reports whether a file of a tree is another name of a stored body: a check of the body covers it.
func (s *SiteTrees) IsBody(tree regular.Root, path string, digest [32]byte) bool {
	fi, err := tree.Lstat(path)
	if err != nil {
		return false
	}
	same, err := s.bodies.Is(fi, digest)
	return same && err == nil
}
