// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mirrord/app/env"
	"mirrord/archive"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/mirror/report"
	"mirrord/phm"
	"mirrord/store"
)

// NotALink is the error of a publish.dir that is taken by something else.
func NotALink(link string) error {
	return fmt.Errorf("publish.dir: %s exists and is not a symbolic link; move it away", link)
}

// InterruptibleWriter takes nothing more once its context has ended.
type InterruptibleWriter struct {
	io.Writer
	Ctx context.Context
}

func (w InterruptibleWriter) Write(p []byte) (int, error) {
	if err := w.Ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// Interruptible opens no more files of a tree once its context has ended: who reads the tree ends too.
type Interruptible struct {
	fs.FS
	Ctx  context.Context
	Read func(n int64) // called with how many bytes of a file were read; may be nil
}

// Open opens a file, or a folder. Bytes of the tree's description do not count.
func (t Interruptible) Open(name string) (fs.File, error) {
	if err := t.Ctx.Err(); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f, err := t.FS.Open(name)
	if err != nil || t.Read == nil || name == phm.MetaName || name == phm.FilesName {
		return f, err
	}
	return toldFile{f, t.Read}, nil
}

// Sub opens a folder of the tree, as a file system to close.
func (t Interruptible) Sub(dir string) (fs.FS, error) {
	sub, err := fs.Sub(t.FS, dir)
	if err != nil {
		return nil, err
	}
	t.FS = sub
	return t, nil
}

// Close closes the tree.
func (t Interruptible) Close() error {
	if c, ok := t.FS.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type toldFile struct {
	fs.File
	read func(n int64)
}

func (f toldFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.read(int64(n))
	return n, err
}

// ExportTree writes the tree of a version to out. A file is read back and checked before it takes the place
// of an older one; a directory is updated in place, file by file.
func ExportTree(ctx context.Context, tree fs.FS, out string, form archive.Form) error {
	return ExportRedirecting(ctx, tree, out, form, nil)
}

func ExportRedirecting(
	ctx context.Context, tree fs.FS, out string, form archive.Form, redirects []archive.Redirect,
) error {
	if form.Folder() {
		return syncDir(tree, out)
	}
	name := strings.TrimSuffix(filepath.Base(out), "."+form.Name)
	_, err := WriteOutput(ctx, out, form, func(to *Output) error {
		_, err := form.Pack(to, tree, Packing(name, redirects))
		return err
	})
	return err
}

// WriteOutput has a file written aside, reads it back and puts it in its place. It returns its size.
func WriteOutput(
	ctx context.Context, out string, form archive.Form, write func(to *Output) error,
) (size int64, err error) {
	if err := Replaceable(out, form); err != nil {
		return 0, err
	}
	f, err := PendingOutput(out)
	if err != nil {
		return 0, err
	}
	defer f.Cleanup() // nothing to do once it is in place
	to := NewOutput(ctx, f.File)
	if err = write(to); err == nil {
		err = to.ReadBack(form)
	}
	if err != nil {
		return 0, fmt.Errorf("export to %s: %w", out, err)
	}
	return to.size, f.CloseAtomicallyReplace()
}

// Packing is how mirrors are packed: on all cores.
func Packing(name string, redirects []archive.Redirect) archive.Packing {
	return archive.Packing{Name: name, Crew: report.AllCores(), Redirects: redirects}
}

// PackStream writes a tree as one file to a stream. A form that is not written from front to end is written
// to a temporary file first.
func PackStream(
	ctx context.Context, w io.Writer, tree fs.FS, form archive.Form, how archive.Packing,
) (err error) {
	if !form.Placed {
		_, err := form.Pack(w, tree, how)
		return err
	}
	f, err := os.CreateTemp("", "mirrord-export-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := form.Pack(InterruptibleFile{f, ctx}, tree, how); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sendFile(ctx, w, f)
	_, err = io.Copy(InterruptibleWriter{w, ctx}, f) // the rest
	return err
}

// InterruptibleFile is a file that is written, and read for its sum, no more once its context has ended.
type InterruptibleFile struct {
	*os.File
	Ctx context.Context
}

func (f InterruptibleFile) Write(p []byte) (int, error) {
	return InterruptibleWriter{f.File, f.Ctx}.Write(p)
}

func (f InterruptibleFile) ReadAt(p []byte, off int64) (int, error) {
	return regular.UntilAt(f.Ctx, f.File).ReadAt(p, off)
}

// Replaceable refuses to write over a file that is no archive of ours.
func Replaceable(out string, form archive.Form) error {
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
	if form.Replaceable == nil {
		return nil
	}
	f, err := regular.Open(out)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := form.Replaceable(f, fi.Size()); err != nil {
		return fmt.Errorf("%s is there and is no %s archive; choose another name or remove it", out,
			strings.ToUpper(form.Name))
	}
	return nil
}

// Place moves the published tree of a one-off site to its place: a directory by one rename, an archive by
// packing. The site must not be used for more than closing afterwards.
func Place(ctx context.Context, s *store.Site, out string) error {
	if form := archive.Named(out); !form.Folder() {
		root, err := s.Trees.Current()
		if err != nil {
			return err
		}
		defer root.Close()
		var redirects []archive.Redirect
		if form.Leads {
			if redirects, err = RedirectsIn(s, 0); err != nil {
				return err
			}
		}
		return ExportRedirecting(ctx, root.FS(), out, form, redirects)
	}
	tree, err := filepath.EvalSymlinks(filepath.Join(s.Dir, "current"))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(out); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(tree, out)
	}
	// What stood there is a mirror or an empty directory (checkOutput); it goes away with the work folder.
	if err := exchange(tree, out); err != nil {
		return err
	}
	return keepForeign(tree, out)
}

// keepForeign moves the files that are no part of an old mirror into the new one that took its place: they
// are a user's notes. A name that the new mirror has is the mirror's.
func keepForeign(old, out string) error {
	src, err := regular.OpenRoot(old)
	if err != nil {
		return nil // it was a symbolic link, which goes
	}
	defer src.Close()
	part, err := TableOf(src.FS())
	if err != nil {
		return nil // its own files are not known
	}
	return fs.WalkDir(src.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		_, known := part[p]
		if known || p == phm.MetaName || p == phm.FilesName {
			return nil
		}
		to := filepath.Join(out, p)
		if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return os.Rename(filepath.Join(old, p), to)
	})
}

// CheckOutput refuses a place where something else stands than a mirror.
func CheckOutput(out string) error {
	if strings.HasSuffix(out, string(filepath.Separator)) &&
		!archive.Named(strings.TrimRight(out, "/")).Folder() {
		return env.Usagef("-o %s: an archive's name has no slash at its end", out)
	}
	if archive.Named(out).Captures != nil {
		return env.Usagef("-o %s: a web archive is made of a mirror that is kept: export that of a job", out)
	}
	abs, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if filepath.Dir(abs) == abs {
		return env.Usagef("-o %s: that is the root of the file system", out)
	}
	fi, err := os.Stat(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(filepath.Dir(abs), 0o755)
	}
	if err != nil {
		return err
	}
	if here, err := os.Stat("."); err == nil && os.SameFile(fi, here) {
		return env.Usagef("-o %s: the mirror cannot replace the directory that you are in; name a new one", out)
	}
	if form := archive.Named(abs); !form.Folder() {
		return Replaceable(out, form)
	}
	if !fi.IsDir() {
		return fmt.Errorf("-o %s: a file stands there; name a directory, or a file that ends in .phm", out)
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	for _, name := range []string{phm.MetaName, unfinishedName} {
		if _, err := os.Stat(filepath.Join(abs, name)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("-o %s: the directory is not empty and holds no mirror; choose another one or empty it",
		out)
}

// LinkPublished makes publish.dir a link to the current version. What stands there and is no symbolic link is
// left alone.
func LinkPublished(j *job.Job, s *store.Site) error {
	link := j.Publish.Dir
	if link == "" {
		return nil
	}
	target := filepath.Join(s.Dir, "current")
	switch fi, err := os.Lstat(link); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("publish.dir: %w", err)
	case fi.Mode()&fs.ModeSymlink == 0:
		return NotALink(link)
	}
	if old, err := os.Readlink(link); err == nil && old == target {
		return nil
	}
	if err := ReplaceLink(target, link); err != nil {
		return fmt.Errorf("publish.dir: %w", err)
	}
	return nil
}

// ReplaceLink makes link a symbolic link to target, at once. What a killed process leaves has a fixed name,
// and the next one takes it over.
func ReplaceLink(target, link string) error {
	made := filepath.Join(filepath.Dir(link), "."+filepath.Base(link)+".mirrord-link")
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, made); err != nil {
		return err
	}
	return os.Rename(made, link)
}
