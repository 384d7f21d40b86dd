// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"mirrord/app/files"
	"mirrord/archive"
	"mirrord/archive/crawls"
	"mirrord/internal/regular"
	"mirrord/phm"
)

// history takes the history of a PHM in any form as files of records, if wanted; taken is false for anything
// else.
func (in *importInputs) history(ctx context.Context, name string, wanted bool) (taken bool, err error) {
	fi, err := os.Stat(name)
	if err != nil || !wanted {
		return false, err
	}
	var tree fs.FS
	if fi.IsDir() {
		root, err := regular.OpenRoot(name)
		if err != nil {
			return false, err
		}
		defer root.Close()
		tree = regular.Until(ctx, root.FS())
	} else {
		f, err := regular.Open(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		if tree, err = archive.Open(regular.UntilAt(ctx, f), fi.Size(), phm.Limits{}); err != nil {
			return false, nil // the import of the tree reports the error
		}
	}
	m, err := phm.OpenMeta(tree)
	if err != nil {
		return false, nil
	}
	paths, err := packedHistory(m)
	if err != nil || len(paths) == 0 {
		return false, err
	}
	lines, err := historyLines(tree, paths)
	if err != nil {
		return false, err
	}
	for _, line := range lines {
		if err := in.historyFile(name, tree, line); err != nil {
			return false, err
		}
	}
	return true, nil
}

// OpenHistory opens the older versions that the first file holds as a PHM; without any there are no files.
func (r *ImportRequest) OpenHistory(ctx context.Context) (in *importInputs, err error) {
	in = &importInputs{spill: &files.FileSpill{}}
	if in.spill.Root, err = openTemporary(); err == nil {
		_, err = in.history(ctx, r.Files[0], true)
	}
	return in, err
}

// historyFile copies a file of history to where it can be read at places, and checks it.
func (in *importInputs) historyFile(name string, tree fs.FS, line *phm.File) error {
	f, err := phm.OpenRegular(tree, line.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	to, err := in.scratch()
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(f, line.Size+1))
	switch {
	case err != nil:
		return err
	case n != line.Size, hex.EncodeToString(sum.Sum(nil)) != line.SHA256:
		return fmt.Errorf("%s: %w", line.Path, errors.Join(phm.ErrDamaged,
			errors.New("it has another size or digest than the file table says")))
	}
	in.Files = append(in.Files, crawls.RecordFile{Name: name + ": " + line.Path, R: to, Size: n})
	in.Size += n
	return nil
}
