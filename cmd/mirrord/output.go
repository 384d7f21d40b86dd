package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"

	"mirrord/phm"
	"mirrord/store"
)

// The forms in which a mirror leaves the state directory.
const (
	formatPHM = "phm"
	formatDir = "dir"
	formatTar = "tar.zst"
)

// formatOf tells the form from a name.
func formatOf(name string) string {
	switch {
	case strings.HasSuffix(name, ".phm"):
		return formatPHM
	case strings.HasSuffix(name, ".tar.zst"):
		return formatTar
	}
	return formatDir
}

// exportTree writes the tree of a version to out. Files appear whole or not at all; a directory is brought up to date in place.
func exportTree(tree fs.FS, out, format string) error {
	if format == formatDir {
		return syncDir(tree, out)
	}
	if err := replaceable(out, format); err != nil {
		return err
	}
	f, err := renameio.NewPendingFile(out, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer f.Cleanup() // nothing to do once it is in place
	if err := pack(f, tree, format, strings.TrimSuffix(filepath.Base(out), "."+format)); err != nil {
		return fmt.Errorf("export to %s: %w", out, err)
	}
	return f.CloseAtomicallyReplace()
}

// pack writes a tree as one file.
func pack(w io.Writer, fsys fs.FS, format, name string) error {
	if format == formatPHM {
		_, err := phm.Pack(w, fsys, phm.PackOptions{})
		return err
	}
	z, err := zstd.NewWriter(w)
	if err != nil {
		return err
	}
	if _, err := phm.PackTar(z, fsys, phm.PackOptions{Prefix: name + "/"}); err != nil {
		return errors.Join(err, z.Close())
	}
	return z.Close()
}

// replaceable refuses to write over a file that is no archive of ours.
func replaceable(out, format string) error {
	fi, err := os.Stat(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("%s is there and is no file", out)
	}
	if format != formatPHM || fi.Size() == 0 {
		return nil
	}
	z, err := zip.OpenReader(out)
	if err != nil {
		return fmt.Errorf("%s is there and is no PHM archive; choose another name or remove it", out)
	}
	defer z.Close()
	if _, err := z.Open(phm.MetaName); err != nil {
		return fmt.Errorf("%s is there and is no PHM archive; choose another name or remove it", out)
	}
	return nil
}

// place moves the published tree of a one-off site to its place: a directory by one rename, an archive by packing. The site must not be
// used for more than closing afterwards.
func place(s *store.Site, out string) error {
	if format := formatOf(out); format != formatDir {
		root, err := s.Current()
		if err != nil {
			return err
		}
		defer root.Close()
		return exportTree(root.FS(), out, format)
	}
	tree, err := filepath.EvalSymlinks(filepath.Join(s.Dir(), "current"))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(out); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(tree, out)
	}
	// What stood there is a mirror or an empty directory (checkOutput); it goes away with the work folder.
	return exchange(tree, out)
}
