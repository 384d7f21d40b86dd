// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/disk"
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

// LookAtTree looks at what readers see of a site that has a version, without a lock and without its database:
// phm.json and phm.files are there. With files also: phm.files is what phm.json says, and files are there in
// their sizes, all of them or a sample of many. Bytes of files are for Verify.
func LookAtTree(s *State, name string, files bool) (p TreeProblem) {
	current := "sites/" + name + "/" + currentLink
	for range lookTries {
		before, _ := s.root.Readlink(current)
		if p = lookAt(regular.Root{Root: s.root}, current, files); p.Text == "" {
			break
		}
		after, _ := s.root.Readlink(current)
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
	if fi.Size() <= lookBytes {
		return lookAtAll(tree, table, m)
	}
	return lookAtSome(tree, table, fi.Size())
}

func cannotRead(err error) error { return fmt.Errorf("cannot be read: %w", disk.Unreadable(err)) }

// lookAtAll looks at each file that a table names.
func lookAtAll(tree regular.Root, table io.Reader, m *phm.Meta) (file string, err error) {
	lines, err := io.ReadAll(io.LimitReader(table, lookBytes))
	if err != nil {
		return phm.FilesName, cannotRead(err)
	}
	sum := sha256.Sum256(lines)
	if (m.TableSum != "") && (hex.EncodeToString(sum[:]) != m.TableSum) {
		return phm.FilesName, errors.New("is not what was published")
	}
	return lookAtLines(tree, lines)
}

// lookAtSome looks at files of a large table.
func lookAtSome(tree regular.Root, table io.ReaderAt, size int64) (file string, err error) {
	part := make([]byte, 4<<10)
	for i := range int64(lookLines) {
		n, err := table.ReadAt(part, i*(size/lookLines))
		if (err != nil) && (err != io.EOF) {
			return phm.FilesName, cannotRead(err)
		}
		_, rest, begun := bytes.Cut(part[:n], []byte("\n"))
		line, _, ended := bytes.Cut(rest, []byte("\n"))
		if !begun || !ended {
			continue // longer than most, or the last one
		}
		if file, err := lookAtLines(tree, rest[:len(line)+1]); err != nil {
			return file, err
		}
	}
	return "", nil
}

// lookAtLines compares files with their lines.
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
