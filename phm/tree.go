// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"
)

// A Sink takes the files of a tree. Nothing that it took is a PHM until the operation has returned without an
// error: on an error the caller throws the whole tree away. phm.json is always the last file.
type Sink interface {
	// Create begins the file at path, which has passed CheckPath or is phm.json or phm.files, and is never
	// created twice. Its directories are made as needed. The file is complete when Close has returned nil.
	// modified is zero when nothing is known.
	Create(path string, modified time.Time) (io.WriteCloser, error)
}

// OpenMeta reads phm.json at the root of a tree.
func OpenMeta(fsys fs.FS) (*Meta, error) {
	f, err := OpenRegular(fsys, MetaName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open %s: %w: %w", MetaName, ErrNotPHM, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", MetaName, err)
	}
	defer f.Close()
	return ReadMeta(f)
}

// tableOf yields the files of a tree, and an error for a table that cannot be opened, a bad line, or two
// paths that are one name on some file system.
func tableOf(fsys fs.FS) iter.Seq2[*File, error] {
	return func(yield func(*File, error) bool) {
		r, err := OpenRegular(fsys, FilesName)
		if err != nil {
			yield(nil, fmt.Errorf("open %s: %w", FilesName, err))
			return
		}
		defer r.Close()
		var names Namer
		for f, err := range Files(r) {
			if err == nil {
				if err = names.take(f.Path); err != nil {
					f = nil
				}
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// openChecked is OpenMeta, and returns an error unless phm.files has the digest that phm.json states.
func openChecked(fsys fs.FS) (*Meta, error) {
	m, err := OpenMeta(fsys)
	if err != nil {
		return nil, err
	}
	digest, err := sumOf(fsys, FilesName)
	if err != nil {
		return nil, err
	}
	if m.TableSum != "" && m.TableSum != digest {
		return nil, fmt.Errorf("%s: %w: its SHA-256 is %s, %s states %s", FilesName, ErrDamaged, digest, MetaName,
			abbreviate(m.TableSum))
	}
	return m, nil
}

// checkTable reads phm.json and phm.files and returns an error unless every line is right and the two agree.
// look, if it is not nil, is called for each line.
func checkTable(fsys fs.FS, look func(*File)) (*Meta, error) {
	m, err := openChecked(fsys)
	if err != nil {
		return nil, err
	}
	for f, err := range agreeing(fsys, m) {
		if err != nil {
			return nil, err
		}
		if look != nil {
			look(f)
		}
	}
	return m, nil
}

// agreeing yields the files of a tree as tableOf does, and at the end an error unless phm.json agrees with
// them.
func agreeing(fsys fs.FS, m *Meta) iter.Seq2[*File, error] {
	return func(yield func(*File, error) bool) {
		entry, owned, files, size := false, false, 0, int64(0)
		for f, err := range tableOf(fsys) {
			if err == nil {
				entry = entry || f.Path == m.Entry
				owned = owned || hasOrigin(f.URL, m.Primary)
				files++
				size += f.Size
			}
			if !yield(f, err) {
				return
			}
		}
		var err error
		switch {
		case !entry:
			err = fmt.Errorf("entry point %q: %w: %s does not name it", m.Entry, ErrDamaged, FilesName)
		case m.Files != files || m.Bytes != size:
			err = fmt.Errorf("%s: %w: it states %d files of %d bytes, %s has %d of %d",
				MetaName, ErrDamaged, m.Files, m.Bytes, FilesName, files, size)
		default:
			err = m.checkAddresses(owned)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// sumOf returns the SHA-256 of one file in hex.
func sumOf(fsys fs.FS, path string) (string, error) {
	f, err := OpenRegular(fsys, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, f); err != nil {
		return "", fmt.Errorf("read %q: %w", path, err)
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// Copy copies a PHM from a tree to a sink, each file checked against the table on its way. Files that the
// table does not name are left behind. Nothing is written when the table is not right.
func Copy(fsys fs.FS, sink Sink) (*Meta, error) {
	m, err := checkTable(fsys, nil)
	if err != nil {
		return nil, fmt.Errorf("copy: %w", err)
	}
	buf := make([]byte, 64<<10)
	for f, err := range inReach(fsys) {
		if err != nil {
			return nil, fmt.Errorf("copy: %w", err)
		}
		if err := copyFile(item{fsys, f}, sink, buf); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{FilesName, MetaName} {
		own, err := ownFile(fsys, m, name)
		if err != nil {
			return nil, fmt.Errorf("copy: %w", err)
		}
		if err := copyFile(item{fsys, own}, sink, buf); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func copyFile(it item, sink Sink, buf []byte) error {
	w, err := sink.Create(it.Path, it.Modified)
	if err != nil {
		return fmt.Errorf("create %q: %w", it.Path, err)
	}
	return it.copyInto(w, buf)
}

func writeFile(sink Sink, path string, modified time.Time, body []byte) error {
	w, err := sink.Create(path, modified)
	if err != nil {
		return fmt.Errorf("create %q: %w", path, err)
	}
	_, err = w.Write(body)
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("create %q: %w", path, err)
	}
	return nil
}
