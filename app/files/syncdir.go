// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"mirrord/internal/regular"
	"mirrord/phm"
)

// syncDir updates a PHM directory to the tree of a version, or makes it. Only files that differ
// are written, each aside and then renamed; files that left the mirror are removed; phm.files and phm.json
// come last. Files that are no part of the mirror that stood there are left alone. The tree's file table is
// compared with its phm.json before a file of it is copied.
func syncDir(src fs.FS, out string) error {
	if err := CheckOutput(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	there, err := regular.OpenRoot(out)
	if err != nil {
		return err
	}
	defer there.Close()
	dst := there.Root
	old, err := TableOf(there.FS())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the mirror at %s: %w", out, err)
	}
	if _, err := dst.Lstat(phm.MetaName); errors.Is(err, fs.ErrNotExist) {
		if err := dst.WriteFile(unfinishedName, nil, 0o644); err != nil {
			return err
		}
	}
	now := map[string]bool{}
	var own []*phm.File
	_, err = phm.Visit(src, phm.Visitor{
		Look: func(f *phm.File) { now[f.Path] = true },
		Begin: func(*phm.Meta) error {
			for p := range old {
				if now[p] {
					continue
				}
				if err := removeFile(dst, p); err != nil {
					return err
				}
			}
			return nil
		},
		Own: func(f *phm.File) error {
			own = append(own, f)
			return nil
		},
		File: func(f *phm.File) error {
			if o, ok := old[f.Path]; ok && o == (content{f.Size, f.SHA256}) && SameFile(src, dst, f.Path) {
				return nil
			}
			return CopyFile(src, dst, f.Path, f.SHA256)
		},
	})
	for _, f := range own {
		if err == nil {
			err = CopyFile(src, dst, f.Path, f.SHA256)
		}
	}
	if err != nil {
		return fmt.Errorf("export to %s: %w", out, err)
	}
	if err := dst.Remove(unfinishedName); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unfinishedName marks a directory to which a first export has not finished, so that the same command can go
// on. No mirror path looks like it.
const unfinishedName = ".mirrord-unfinished"

// content is what tells two files of one path apart.
type content struct {
	size   int64
	sha256 string
}

// TableOf reads the file table of a PHM directory.
func TableOf(fsys fs.FS) (map[string]content, error) {
	f, err := fsys.Open(phm.FilesName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]content{}
	for e, err := range phm.Files(f) {
		if err != nil {
			return nil, err
		}
		if err := phm.CheckPath(e.Path); err != nil {
			return nil, err
		}
		out[e.Path] = content{e.Size, e.SHA256}
	}
	return out, nil
}

// SameFile reports whether the copy looks untouched since it was made: a regular file of the same size and
// time.
func SameFile(src fs.FS, dst *os.Root, p string) bool {
	a, err := fs.Stat(src, p)
	if err != nil {
		return false
	}
	b, err := dst.Lstat(p)
	return err == nil && b.Mode().IsRegular() && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// removeFile deletes a file and the directories above it that are empty then.
func removeFile(dst *os.Root, p string) error {
	if err := dst.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for d := path.Dir(p); d != "."; d = path.Dir(d) {
		if dst.Remove(d) != nil {
			return nil // not empty, or gone already
		}
	}
	return nil
}

// tempName is the name of a file that is not whole yet; no mirror path looks like it (a leading dot is
// escaped in those).
const tempName = ".mirrord-part"

// CopyFile copies one file, checks it against its digest ("" is unknown), and reads it back before it takes
// the place of an older one.
func CopyFile(src fs.FS, dst *os.Root, p, want string) error {
	in, err := src.Open(p)
	if err != nil {
		return err
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return err
	}
	if d := path.Dir(p); d != "." {
		if err := dst.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	// No sync for each file: after a loss of power the same command sees sizes and times that differ and copies
	// again.
	aside := path.Join(path.Dir(p), tempName)
	if err := writeChecked(dst, aside, in, want); err != nil {
		_ = dst.Remove(aside) // it may not even be there
		return fmt.Errorf("%s: %w", p, err)
	}
	if err := dst.Rename(aside, p); err != nil {
		return errors.Join(err, dst.Remove(aside))
	}
	return dst.Chtimes(p, fi.ModTime(), fi.ModTime())
}

// writeChecked writes a file whose bytes have the digest want, unless that is "", and reads it back.
func writeChecked(dst *os.Root, name string, in io.Reader, want string) error {
	f, err := dst.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer f.Close() // closed below with its error seen, unless something else is wrong
	digest, again := sha256.New(), sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, digest), in); err != nil {
		return err
	}
	if sum := hex.EncodeToString(digest.Sum(nil)); want != "" && sum != want {
		return fmt.Errorf("%w: its SHA-256 is %s, not %s", phm.ErrDamaged, sum, want)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(again, f); err != nil {
		return err
	}
	if !bytes.Equal(again.Sum(nil), digest.Sum(nil)) {
		return fmt.Errorf("%w: what was written does not read back", phm.ErrDamaged)
	}
	return f.Close()
}
