// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/archive"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/store/disk"
)

// watch returns a tree that opens no more files once ctx has ended, and reports how much of it was read.
func (o *ExportRequest) watch(ctx context.Context, a *env.App, tree fs.FS) fs.FS {
	watched := files.Interruptible{FS: tree, Ctx: ctx}
	m, err := phm.OpenMeta(tree)
	if err == nil { // the export reports an error
		shown := &shownBytes{what: o.Job, total: m.Bytes, say: a.Note}
		watched.Read = shown.add
	}
	return watched
}

// mostShrunk is what text is packed to at the least, a share of its size: pages of real sites shrink to
// between a third and a twelfth, tables and lists to a fortieth, and less where files are packed together.
const mostShrunk = 60

// room returns an error when an export cannot fit where it is to lie, however well it is packed.
func (o *ExportRequest) room(tree fs.FS, form archive.Form, how phm.Derivation) error {
	if o.Out == "-" && !form.Placed {
		return nil
	}
	if _, err := os.Stat(o.Out); err == nil && form.Folder() {
		return nil // only what differs is written
	}
	m, err := phm.OpenMeta(tree)
	if err != nil {
		return nil // the export reports the error
	}
	need := int64(0)
	for _, t := range m.Types {
		if form.Folder() {
			need += t.Bytes
		} else {
			need += leastPacked(t.Type, "", t.Bytes)
		}
	}
	if how.Mask != nil || len(o.With) > 0 {
		need = 0 // the size after that is unknown
	}
	if o.Out == "-" {
		return roomIn(os.TempDir(), os.TempDir(), need, anotherTemporary)
	}
	return roomFor(o.Out, need)
}

// hasPlace returns an error when the directory in which a file is to lie does not exist.
func (o *ExportRequest) hasPlace(form archive.Form) error {
	if o.Out == "" || o.Out == "-" || (form.Folder() && o.Single == "") {
		return nil
	}
	dir := filepath.Dir(o.Out)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export to %s: the directory %s does not exist; create it or name another place", o.Out,
			dir)
	}
	return nil
}

// sayRoom adds to an error of an export what to do when it says that a disk is full.
func (o *ExportRequest) sayRoom(err error) error {
	if !disk.IsFull(err) {
		return err
	}
	if _, state := errors.AsType[*disk.DiskError](err); state { // which says what to do
		return err
	}
	at, named := errors.AsType[*fs.PathError](err)
	switch {
	case o.Out != "-":
		return fmt.Errorf("%w; %s", err, anotherPlace)
	case named && strings.HasPrefix(at.Path, os.TempDir()):
		return fmt.Errorf("%w; %s", err, anotherTemporary)
	}
	return fmt.Errorf("%w; free some space there", err)
}

// leastPacked is what bytes of a type take at the least when they are packed.
func leastPacked(mime, path string, n int64) int64 {
	if phm.Compressible(mime, path) {
		return n / mostShrunk
	}
	return n
}

// roomForDelta returns an error when the bytes that a base does not have cannot fit where a delta is to lie.
func roomForDelta(out string, base, target fs.FS) error {
	has, need := map[[32]byte]bool{}, int64(0)
	err := eachLine(base, func(f *phm.File, sum [32]byte) { has[sum] = true })
	if err == nil {
		err = eachLine(target, func(f *phm.File, sum [32]byte) {
			if !has[sum] {
				has[sum] = true
				need += leastPacked(f.Type, f.Path, f.Size)
			}
		})
	}
	if err != nil {
		return nil // the packer reports the error
	}
	return roomFor(out, need)
}

// eachLine reads a file table.
func eachLine(tree fs.FS, each func(f *phm.File, sum [32]byte)) error {
	table, err := phm.OpenRegular(tree, phm.FilesName)
	if err != nil {
		return err
	}
	defer table.Close()
	for f, err := range phm.Files(table) {
		var sum [32]byte
		if err == nil {
			_, err = hex.Decode(sum[:], []byte(f.SHA256))
		}
		if err != nil {
			return err
		}
		each(f, sum)
	}
	return nil
}

// roomFor returns an error when a file of so many bytes has no room where it is to lie. What cannot be found
// out is no error.
func roomFor(out string, need int64) error {
	return roomIn(filepath.Dir(out), out, need, anotherPlace)
}

// What to do when a disk is full, by what lies there.
const (
	anotherPlace     = "free some space or name another place"
	anotherTemporary = "free some space or set TMPDIR to another place"
)

func roomIn(dir, what string, need int64, remedy string) error {
	free, err := disk.FreeBytes(dir)
	if err != nil || free >= need {
		return nil
	}
	return fmt.Errorf("%s: it takes %s at least, and %s are free there; %s", what, mirror.Bytes(need),
		mirror.Bytes(free), remedy)
}
