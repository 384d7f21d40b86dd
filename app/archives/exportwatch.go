// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mirrord/app/files"
	"mirrord/archive"
	"mirrord/mirror/result"
	"mirrord/phm"
	"mirrord/store/disk"
)

// watch returns a tree that opens no more files once ctx has ended, and reports how much of it was read.
func (o *exporting) watch(ctx context.Context, tree fs.FS) fs.FS {
	watched := files.Interruptible{FS: tree, Ctx: ctx}
	m, err := phm.OpenMeta(tree)
	if err == nil { // the export reports an error
		shown := &shownBytes{what: o.Job, total: m.Bytes, say: o.app.Note}
		watched.Read = shown.add
	}
	return watched
}

// room returns an error when a folder of files cannot fit where it is to lie. What packed files take is known
// once they are packed: sayRoom says then what to do.
func (o *exporting) room(tree fs.FS) error {
	if !o.form.Folder() || o.how.Mask != nil || len(o.With) > 0 {
		return nil
	}
	if _, err := os.Stat(o.Out); err == nil {
		return nil // only what differs is written
	}
	m, err := phm.OpenMeta(tree)
	if err != nil {
		return nil // the export reports the error
	}
	return roomFor(o.Out, m.Bytes)
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

// roomFor returns an error when a file of so many bytes has no room where it is to lie. What cannot be found
// out is no error.
func roomFor(out string, need int64) error {
	free, err := disk.FreeBytes(filepath.Dir(out))
	if err != nil || free >= need {
		return nil
	}
	return fmt.Errorf("%s: it takes %s at least, and %s are free there; %s", out, result.Bytes(need),
		result.Bytes(free), anotherPlace)
}

// What to do when a disk is full, by what lies there.
const (
	anotherPlace     = "free some space or name another place"
	anotherTemporary = "free some space or set TMPDIR to another place"
)
