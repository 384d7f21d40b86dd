// SPDX-License-Identifier: Apache-2.0

// Package regular opens and reads files that other users may have put there: an archive to import, a folder
// to serve, a file that a job or a flag names. It opens regular files and folders only, and does not wait for
// the other end of a named pipe. Reading a whole file has a limit, which also holds for a sparse file.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// MaxSmall is how many bytes a file of settings, a secret or a set of certificates has at most.
const MaxSmall = 16 << 20

// ErrNotRegular says that neither a regular file nor a folder has the name.
var ErrNotRegular = errors.New("no regular file")

// flags opens a named pipe at once, so that it can be refused. For a file it changes nothing but that os asks
// and sets the same with four system calls less.
const flags = os.O_RDONLY | syscall.O_NONBLOCK

// Open opens a regular file, or a folder. A descriptor that the caller of the program has handed over, such
// as /dev/stdin or the /dev/fd/63 of a shell, may be a pipe.
func Open(name string) (*os.File, error) {
	f, _, err := OpenInfo(name)
	return f, err
}

// OpenInfo is Open that describes the file too.
func OpenInfo(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, flags, 0)
	return checked(f, err, name)
}

// Read reads a regular file of at most limit bytes.
func Read(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	return readAll(f, err, name, limit)
}

// ReadSmall reads a regular file of at most MaxSmall bytes.
func ReadSmall(name string) ([]byte, error) { return Read(name, MaxSmall) }

// Root is a folder whose files are opened as Open does.
type Root struct{ *os.Root }

// OpenRoot opens a folder.
func OpenRoot(name string) (Root, error) {
	dir := name
	if dir != "" && !strings.HasSuffix(dir, "/") {
		dir += "/" // without it the system opens a pipe, and waits
	}
	root, err := os.OpenRoot(dir)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		p.Path = name
	}
	return Root{root}, err
}

// Open opens a regular file, or a folder.
func (r Root) Open(name string) (*os.File, error) {
	f, err := r.OpenFile(name, flags, 0)
	f, _, err = checked(f, err, name)
	return f, err
}

// OpenRoot opens a folder in the folder.
func (r Root) OpenRoot(name string) (Root, error) {
	root, err := r.Root.OpenRoot(name + "/.") // without the dot it opens a pipe, as the other OpenRoot
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		p.Path = name
	}
	return Root{root}, err
}

// ReadFile reads a regular file of at most limit bytes.
func (r Root) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := r.Open(name)
	return readAll(f, err, name, limit)
}

// FS is the folder as a file system. It reads whole files of at most MaxSmall bytes.
func (r Root) FS() fs.FS {
	return tree{r.Root.FS().(described), r}
}

// described is what the file system of an [os.Root] does without opening a file.
type described interface {
	fs.StatFS
	fs.ReadLinkFS
}

type tree struct {
	described
	root Root
}

// Open opens a regular file, or a folder.
func (t tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return t.described.Open(name) // which refuses it
	}
	f, err := t.root.Open(name)
	if err != nil {
		return nil, err // not as a file that is nil
	}
	return f, nil
}

// Sub opens a folder, as a file system to close.
func (t tree) Sub(dir string) (fs.FS, error) {
	if !fs.ValidPath(dir) {
		return nil, &fs.PathError{Op: "sub", Path: dir, Err: fs.ErrInvalid}
	}
	r, err := t.root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return subtree{r.FS(), r.Root}, nil
}

// subtree is a folder of a tree.
type subtree struct {
	fs.FS
	io.Closer
}

// ReadFile reads a regular file.
func (t tree) ReadFile(name string) ([]byte, error) {
	f, err := t.Open(name)
	if err != nil {
		return nil, err
	}
	file, _ := f.(*os.File)
	return readAll(file, nil, name, MaxSmall)
}

// checked closes anything but a regular file or a folder.
func checked(f *os.File, err error, name string) (*os.File, fs.FileInfo, error) {
	if errors.Is(err, syscall.ENXIO) {
		return nil, nil, refused(name, fs.ModeSocket)
	}
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() && !fi.IsDir() && !handedOver(name) {
		err = refused(name, fi.Mode().Type())
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// handedOver reports whether a name is that of a descriptor of this process.
func handedOver(name string) bool {
	name = filepath.Clean(name)
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") ||
		strings.HasPrefix(name, "/proc/self/fd/")
}

func refused(name string, kind fs.FileMode) error {
	what := "a device"
	switch kind {
	case fs.ModeNamedPipe:
		what = "a named pipe"
	case fs.ModeSocket:
		what = "a socket"
	}
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is %s and %w", what, ErrNotRegular)}
}

// readAll reads a file that was opened, and closes it.
func readAll(f *os.File, err error, name string, limit int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var b []byte
	size := fi.Size()
	if size <= limit {
		b, err = io.ReadAll(io.LimitReader(f, limit+1)) // it may grow, and a pipe has no size
		size = int64(len(b))
	}
	switch {
	case err != nil:
		return nil, err
	case size > limit:
		return nil, &fs.PathError{
			Op:   "read",
			Path: name,
			Err:  fmt.Errorf("it has more than %d bytes, which is too much here", limit),
		}
	}
	return b, nil
}
