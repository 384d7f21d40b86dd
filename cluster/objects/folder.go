// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"mirrord/internal/regular"
	"mirrord/store/disk"
)

// Folder is a Store in a directory: one file for each object. The directory may be mounted by several
// machines (NFS 4): a put on a condition holds the lock of a file in it.
type Folder struct {
	dir  string
	root regular.Root
}

// Names of a Folder that are no objects.
const (
	folderTemp = ".tmp"
	folderLock = ".lock"
)

// OpenFolder opens a directory and makes it when it does not exist.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := root.MkdirAll(folderTemp, 0o700); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Folder{dir: dir, root: root}, nil
}

// String implements Store.
func (f *Folder) String() string { return "file://" + f.dir }

// Put implements Store.
func (f *Folder) Put(ctx context.Context, name string, data *io.SectionReader, c Condition) (string, error) {
	temp := folderTemp + "/" + RandomName()
	h := sha256.New()
	if err := f.write(ctx, temp, data, h); err != nil {
		return "", errors.Join(fmt.Errorf("put %s: %w", name, err), f.remove(temp))
	}
	if err := f.place(temp, name, c); err != nil {
		return "", errors.Join(fmt.Errorf("put %s: %w", name, err), f.remove(temp))
	}
	if data.Size() > MaxGet {
		return "", nil
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// write makes a file, which is on the disk then.
func (f *Folder) write(ctx context.Context, temp string, data *io.SectionReader, also io.Writer) error {
	out, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(out, also), withContext{ctx, io.NewSectionReader(data, 0, data.Size())})
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// place gives a file its name if the condition holds.
func (f *Folder) place(temp, name string, c Condition) error {
	dir := path.Dir(name)
	if err := f.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if c.New || c.ETag != "" {
		lock, err := f.lock()
		if err != nil {
			return err
		}
		defer lock.Close()
		etag, err := f.etag(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if c.ETag != "" {
				return ErrCondition
			}
		case err != nil:
			return err
		case c.New || etag != c.ETag:
			return ErrCondition
		}
	}
	if err := f.root.Rename(temp, name); err != nil {
		return err
	}
	return disk.SyncIn(f.root.Root, dir)
}

// lock takes the lock of the folder. It is given back when the file is closed.
func (f *Folder) lock() (*os.File, error) {
	file, err := f.root.OpenFile(folderLock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", folderLock, err), file.Close())
	}
	return file, nil
}

// etag is the digest of an object's bytes; "" for a large one.
func (f *Folder) etag(name string) (string, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return etagOf(file)
}

func etagOf(file *os.File) (string, error) {
	fi, err := file.Stat()
	if err != nil || fi.Size() > MaxGet {
		return "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(file, 0, fi.Size())); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Get implements Store.
func (f *Folder) Get(ctx context.Context, name string, from, n int64) ([]byte, Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, Info{}, err
	}
	file, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Info{}, missing(name)
	}
	if err != nil {
		return nil, Info{}, err
	}
	defer file.Close()
	fi, err := file.Stat()
	if err != nil {
		return nil, Info{}, err
	}
	if !fi.Mode().IsRegular() {
		return nil, Info{}, missing(name)
	}
	b := make([]byte, max(0, min(n, MaxGet, fi.Size()-from)))
	if _, err := file.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, Info{}, fmt.Errorf("get %s: %w", name, err)
	}
	info := Info{Name: name, Size: fi.Size(), Time: fi.ModTime()}
	if from+n >= 0 && fi.Size() <= smallObject { // the digest is for pointers: data has its own
		info.ETag, err = etagOf(file)
	}
	return b, info, err
}

// smallObject is up to which size Get computes an ETag.
const smallObject = 64 << 10

// Delete implements Store.
func (f *Folder) Delete(_ context.Context, name string) error { return f.remove(name) }

func (f *Folder) remove(name string) error {
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List implements Store.
func (f *Folder) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		dir := path.Dir(prefix + "x")
		err := fs.WalkDir(f.root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // it went meanwhile
			case err != nil:
				return err
			case ctx.Err() != nil:
				return ctx.Err()
			case e.IsDir() && name != "." && strings.HasPrefix(name, folderTemp):
				return fs.SkipDir
			case !e.Type().IsRegular() || !strings.HasPrefix(name, prefix) || name == folderLock:
				return nil
			}
			fi, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if !yield(Info{Name: name, Size: fi.Size(), Time: fi.ModTime()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(Info{}, fmt.Errorf("list %s: %w", prefix, err))
		}
	}
}

// Tidy removes what killed processes have left half written.
func (f *Folder) Tidy() error {
	entries, err := fs.ReadDir(f.root.FS(), folderTemp)
	for _, e := range entries {
		if fi, serr := e.Info(); serr == nil && time.Since(fi.ModTime()) > 24*time.Hour {
			err = errors.Join(err, f.remove(folderTemp+"/"+e.Name()))
		}
	}
	return err
}

// withContext is a reader that ends with its context.
type withContext struct {
	ctx context.Context
	io.Reader
}

func (r withContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
