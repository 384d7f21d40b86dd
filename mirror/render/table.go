// SPDX-License-Identifier: Apache-2.0

package render

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
	"mirrord/store/record"
	"mirrord/store/trees"
)

// The file table of the published version is in the tree. The database has its digest, in the phm.json
// that is kept with each version, so a table that is missing or damaged is noticed, and can be made again
// of the records and the stored bodies.

// MetaOf reads the phm.json that is kept with a version; nil without one, as after a rebuild by
// older versions of mirrord.
func MetaOf(v *record.Version) *phm.Meta {
	m, err := phm.ReadMeta(bytes.NewReader(v.Meta))
	if err != nil {
		return nil
	}
	return m
}

// ScanTable calls f for each line of the file table of a tree, and then compares the whole with what
// phm.json says of it: what f got counts only when the error is nil. A table that is missing, wrong, or lost
// by the disk is store.ErrDamaged.
func ScanTable(tree regular.Root, m *phm.Meta, f func(*phm.File) error) error {
	file, err := tree.Open(phm.FilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w: it is missing", phm.FilesName, disk.ErrDamaged)
	}
	if err != nil {
		return disk.Unreadable(err)
	}
	defer file.Close()
	digest := sha256.New()
	files, size := 0, int64(0)
	for line, err := range phm.Files(io.TeeReader(file, digest)) {
		var bad *phm.LineError
		if errors.As(err, &bad) {
			return fmt.Errorf("%w: %w", disk.ErrDamaged, err)
		}
		if err != nil {
			return disk.Unreadable(err)
		}
		files++
		size += line.Size
		if err := f(line); err != nil {
			return err
		}
	}
	if m == nil {
		return nil
	}
	got := hex.EncodeToString(digest.Sum(nil))
	if (m.TableSum != "") && m.TableSum != got {
		return fmt.Errorf("%s: %w: its SHA-256 is %s, not %s", phm.FilesName, disk.ErrDamaged, got, m.TableSum)
	}
	if m.Files != files || m.Bytes != size {
		return fmt.Errorf("%s: %w: it has %d files of %d bytes, not %d of %d",
			phm.FilesName, disk.ErrDamaged, files, size, m.Files, m.Bytes)
	}
	return nil
}

// PublishedRepairs reads the repaired links of the published version, by path. What cannot be read of it
// has none.
func PublishedRepairs(t *trees.SiteTrees) (map[string][]RepairedLink, error) {
	out := map[string][]RepairedLink{}
	live, err := t.Current()
	if errors.Is(err, record.ErrNoVersion) || errors.Is(err, disk.ErrDamaged) {
		return out, nil
	} else if err != nil {
		return nil, err
	}
	defer live.Close()
	table, err := live.Open(phm.FilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	} else if err != nil {
		return nil, disk.Unreadable(err)
	}
	defer table.Close()
	for f, err := range phm.Files(table) {
		if err != nil {
			continue // the file is published again
		}
		links, err := RepairsOf(f)
		if err != nil {
			continue
		}
		if len(links) > 0 {
			out[f.Path] = links
		}
	}
	return out, nil
}
