// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/archive"
	"mirrord/archive/crawls"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/serve"
)

// OpenFiles opens archives to be served, each under a name made of its own.
func OpenFiles(ctx context.Context, a *env.App, names []string) (_ *serve.Files, err error) {
	files := new(serve.Files)
	defer func() {
		if err != nil {
			files.Close()
		}
	}()
	for _, name := range names {
		err := addRecorded(ctx, a, files, name)
		if errors.Is(err, errNoRecords) {
			err = addFile(ctx, a, files, name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return files, nil
}

var errNoRecords = errors.New("it holds no records of crawls")

// addRecorded serves a web archive, a directory of them or a project of HTTrack; errNoRecords for all else.
func addRecorded(ctx context.Context, a *env.App, files *serve.Files, name string) error {
	r := archives.ImportRequest{Files: []string{name}, Indexed: true}
	in, err := r.OpenInputs(ctx)
	if err == nil && len(in.Files) == 0 {
		err = errNoRecords
	}
	var arch *crawls.Recordings
	if err == nil {
		arch, err = r.Read(ctx, a, in)
	}
	if err != nil {
		in.CloseAll()
		return err
	}
	return files.AddRecorded(ctx, servedName(name), formOf(name), arch, in)
}

// formOf is how people call the form of a file.
func formOf(name string) string {
	f, fi, err := regular.OpenInfo(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if fi.IsDir() {
		return "folder"
	}
	form, err := archive.FormOf(f, fi.Size())
	if err != nil {
		return ""
	}
	return strings.ToUpper(strings.TrimSuffix(form.Name, ".gz"))
}

// openedTree is a tree with the file that it is read from.
type openedTree struct {
	fs.FS
	io.Closer
}

// addFile serves an archive, or a directory. The end of the context ends the opening, and no request that is
// under way later on.
func addFile(ctx context.Context, a *env.App, files *serve.Files, name string) error {
	opening, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, cancel)()
	f, fi, err := regular.OpenInfo(name)
	if err != nil {
		return err
	}
	if fi.IsDir() {
		root, err := regular.OpenRoot(name)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		past, err := pastOf(ctx, a, name)
		if err != nil {
			return errors.Join(err, root.Close())
		}
		tree := openedTree{regular.Until(opening, root.FS()), root}
		return files.Add(ctx, servedName(name), formOf(name), tree, past)
	}
	in := regular.UntilAt(opening, f)
	form, err := archive.FormOf(in, fi.Size())
	switch {
	case err != nil:
	case form.Browse != nil:
		b, err := form.Browse(in, fi.Size())
		if err != nil {
			return errors.Join(err, f.Close())
		}
		return files.AddZIM(servedName(name), b, fi.Size(), f)
	case form.Open == nil:
		err = fmt.Errorf("it is %s, which has no tree to browse: import it", form.Doc)
	case !form.Seeks:
		err = fmt.Errorf("it is %s, which is read from its beginning only: import it, or unpack it", form.Doc)
	}
	var tree fs.FS
	if err == nil {
		tree, err = form.Open(in, fi.Size(), phm.Limits{})
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	past, err := pastOf(ctx, a, name)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return files.Add(ctx, servedName(name), formOf(name), openedTree{&readAtOnce{tree: tree}, f}, past)
}

// pastOf opens the older versions that a PHM holds; nil for none.
func pastOf(ctx context.Context, a *env.App, name string) (*serve.FilePast, error) {
	r := archives.ImportRequest{Files: []string{name}}
	in, err := r.OpenHistory(ctx)
	if err != nil || len(in.Files) == 0 {
		in.CloseAll()
		return nil, err
	}
	past, err := r.Read(ctx, a, in)
	if err != nil {
		in.CloseAll()
		return nil, err
	}
	return &serve.FilePast{Recordings: past, Closer: in}, nil
}

// readAtOnce is a tree that may not be safe for concurrent use: its files are read whole, one at a time.
type readAtOnce struct {
	mu   sync.Mutex
	tree fs.FS
}

// Open reads a file.
func (t *readAtOnce) Open(name string) (fs.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := t.tree.Open(name)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	var b []byte
	if err == nil && fi.Mode().IsRegular() {
		b, err = io.ReadAll(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return &wholeFile{bytes.NewReader(b), fi}, nil
}

// wholeFile is a file in memory.
type wholeFile struct {
	*bytes.Reader
	info fs.FileInfo
}

// Stat describes the file.
func (f *wholeFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close does nothing.
func (f *wholeFile) Close() error { return nil }

// servedName makes a name for a host of that of a file.
func servedName(name string) string {
	base := strings.ToLower(filepath.Base(filepath.Clean(name)))
	inner := strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".zst") // a tar or web archive
	for _, f := range archive.Forms() {
		if rest, ok := f.Cut(inner); ok && rest != "" {
			base = rest
			break
		}
	}
	base = strings.Map(func(c rune) rune {
		if (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') {
			return c
		}
		return '-'
	}, base)
	if base = strings.Trim(base[:min(len(base), 60)], "-"); base == "" {
		return "mirror"
	}
	return base
}
