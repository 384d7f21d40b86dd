package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"mirrord/phm"
)

// syncDir brings a PHM directory up to date with the tree of a version, or makes it. Only files that differ are written, each aside and
// then renamed; files that left the mirror are removed; phm.files and phm.json come last. Files that are no part of the mirror that
// stood there are left alone.
func syncDir(src fs.FS, out string) error {
	if err := checkOutput(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	dst, err := os.OpenRoot(out)
	if err != nil {
		return err
	}
	defer dst.Close()
	old, err := tableOf(dst.FS())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the mirror at %s: %w", out, err)
	}
	now, err := tableOf(src)
	if err != nil {
		return err
	}
	for p := range old {
		if _, stays := now[p]; !stays {
			if err := removeFile(dst, p); err != nil {
				return err
			}
		}
	}
	for p, f := range now {
		if o, ok := old[p]; ok && o == f && sameFile(src, dst, p) {
			continue
		}
		if err := copyFile(src, dst, p); err != nil {
			return err
		}
	}
	for _, p := range []string{phm.FilesName, phm.MetaName} {
		if err := copyFile(src, dst, p); err != nil {
			return err
		}
	}
	return nil
}

// content is what tells two files of one path apart.
type content struct {
	size   int64
	sha256 string
}

// tableOf reads the file table of a PHM directory.
func tableOf(fsys fs.FS) (map[string]content, error) {
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

// sameFile reports whether the copy looks untouched since it was made: a regular file of the same size and time.
func sameFile(src fs.FS, dst *os.Root, p string) bool {
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

// tempName is the name of a file that is not whole yet; no mirror path looks like it (a leading dot is escaped in those).
const tempName = ".mirrord-part"

func copyFile(src fs.FS, dst *os.Root, p string) error {
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
	// No sync for each file: after a loss of power the same command sees sizes and times that differ and copies again.
	aside := path.Join(path.Dir(p), tempName)
	f, err := dst.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, in); err != nil {
		return errors.Join(err, f.Close(), dst.Remove(aside))
	}
	if err := f.Close(); err != nil {
		return errors.Join(err, dst.Remove(aside))
	}
	if err := dst.Rename(aside, p); err != nil {
		return errors.Join(err, dst.Remove(aside))
	}
	return dst.Chtimes(p, fi.ModTime(), fi.ModTime())
}
