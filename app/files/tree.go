// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"mirrord/archive"
	"mirrord/internal/lines"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/replica/collections"
)

// VersionTree is the tree of a version.
type VersionTree interface {
	fs.FS
	io.Closer
}

// Unpack copies a PHM in any form to a sink.
func Unpack(ctx context.Context, name string, sink phm.Sink) (*phm.Meta, error) {
	f, fi, err := regular.OpenInfo(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !fi.IsDir() {
		return archive.Unpack(regular.UntilAt(ctx, f), fi.Size(), sink)
	}
	root, err := regular.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return phm.Copy(regular.Until(ctx, root.FS()), sink)
}

// TreeSink writes the files of a PHM below a root.
type TreeSink struct{ Root *os.Root }

func (t TreeSink) Create(name string, modified time.Time) (io.WriteCloser, error) {
	if d := path.Dir(name); d != "." {
		if err := t.Root.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	f, err := t.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &timedFile{f, t.Root, name, modified}, nil
}

// timedFile gets its modification time when it is closed.
type timedFile struct {
	*os.File
	root     *os.Root
	name     string
	modified time.Time
}

func (f *timedFile) Close() error {
	err := f.File.Close()
	if err == nil && !f.modified.IsZero() {
		err = f.root.Chtimes(f.name, f.modified, f.modified)
	}
	return err
}

// FileSpill makes files without a name: they are removed with the process, even if it is killed.
type FileSpill struct {
	Root *os.Root
	made int
}

// Create makes a file.
func (s *FileSpill) Create() (collections.SpillFile, error) {
	for {
		s.made++
		name := fmt.Sprintf("replicas-%d-%d.tmp", os.Getpid(), s.made)
		f, err := s.Root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := s.Root.Remove(name); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

func (s *FileSpill) Scratch() (lines.Scratch, error) { return s.Create() }
