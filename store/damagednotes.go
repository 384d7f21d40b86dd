// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// damagedName is the file of a site's folder that names what Verify found damaged: one URL a line. It is a
// file, because Verify has the database open for reading only.
const damagedName = "damaged.urls"

// Damaged returns the URLs whose stored bodies NoteDamaged named.
func (s *SiteNotes) Damaged() ([]string, error) {
	b, err := s.root.ReadFile(damagedName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diskErr("read the list of damage", err)
	}
	return strings.Fields(string(b)), nil
}

// NoteDamaged keeps the URLs whose stored bodies are damaged for the next run, in place of those of the last
// call; none forgets them.
func (s *SiteNotes) NoteDamaged(urls []string) error {
	var b bytes.Buffer
	for _, u := range slices.Compact(slices.Sorted(slices.Values(urls))) {
		fmt.Fprintln(&b, u)
	}
	return diskErr("note damage", s.noteFile(damagedName, b.Bytes()))
}

// wrongName is the file of a site's folder that names what Verify found wrong in the published tree: one
// quoted path a line. Like damagedName it is a file because Verify has the database open for reading only.
const wrongName = "damaged.files"

// WrongFiles returns the paths that NoteWrongFiles named.
func (s *SiteNotes) WrongFiles() ([]string, error) {
	b, err := s.root.ReadFile(wrongName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diskErr("read which files are wrong", err)
	}
	var out []string
	for line := range bytes.Lines(b) {
		if p, err := strconv.Unquote(strings.TrimSuffix(string(line), "\n")); err == nil {
			out = append(out, p)
		}
	}
	return out, nil
}

// AllFiles among the paths of NoteWrongFiles stands for more paths than are listed.
const AllFiles = "*"

// NoteWrongFiles keeps the paths of files of the published tree that are not what the file table says, or
// that it does not name, in place of those of the last call; none forgets them.
func (s *SiteNotes) NoteWrongFiles(paths []string) error {
	var b bytes.Buffer
	for _, p := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		fmt.Fprintln(&b, strconv.Quote(p))
	}
	return diskErr("note which files are wrong", s.noteFile(wrongName, b.Bytes()))
}
