// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mirrord/store/disk"
)

// Files of a site's folder that name what Verify found damaged, a quoted line each but for URLs, which need
// no quotes. They are files because Verify has the database open for reading only.
const (
	damagedName = "damaged.urls"  // whose stored bodies are damaged
	wrongName   = "damaged.files" // paths of the published tree
)

// AllFiles among the paths of NoteWrongFiles stands for more paths than are listed.
const AllFiles = "*"

// Damaged returns the URLs whose stored bodies NoteDamaged named.
func (s *SiteNotes) Damaged() ([]string, error) { return s.namedIn(damagedName) }

// NoteDamaged keeps the URLs whose stored bodies are damaged for the next run, in place of those of the last
// call; none forgets them.
func (s *SiteNotes) NoteDamaged(urls []string) error {
	return s.nameIn(damagedName, urls, func(u string) string { return u })
}

// WrongFiles returns the paths that NoteWrongFiles named.
func (s *SiteNotes) WrongFiles() ([]string, error) { return s.namedIn(wrongName) }

// NoteWrongFiles keeps the paths of files of the published tree that are not what the file table says, or
// that it does not name, in place of those of the last call; none forgets them.
func (s *SiteNotes) NoteWrongFiles(paths []string) error {
	return s.nameIn(wrongName, paths, strconv.Quote)
}

// nameIn writes lines, sorted, each once.
func (s *SiteNotes) nameIn(file string, lines []string, as func(string) string) error {
	var b bytes.Buffer
	for _, l := range slices.Compact(slices.Sorted(slices.Values(lines))) {
		fmt.Fprintln(&b, as(l))
	}
	return disk.Err("note damage", disk.Replace(s.root, file, b.Bytes(), 0o644, false))
}

// namedIn reads what nameIn wrote.
func (s *SiteNotes) namedIn(file string) (out []string, err error) {
	b, err := s.root.ReadFile(file)
	if err != nil {
		return nil, disk.Err("read the list of damage", disk.UnlessGone(err))
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if p, err := strconv.Unquote(line); err == nil {
			line = p
		} else if file == wrongName {
			continue
		}
		out = append(out, line)
	}
	return out, nil
}
