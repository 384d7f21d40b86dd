// SPDX-License-Identifier: Apache-2.0

package regular

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// within fails a test whose work does not end.
func within(t *testing.T, work func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for another process")
		return nil
	}
}

// strange makes a folder with one of each thing that is no file.
func strange(t *testing.T) (dir string, says map[string]string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := errors.Join(os.Symlink("/dev/zero", filepath.Join(dir, "zero")),
		os.Symlink("pipe", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	return dir, map[string]string{
		"pipe":   "it is a named pipe and no regular file",
		"link":   "it is a named pipe and no regular file",
		"socket": "it is a socket and no regular file",
		"zero":   "it is a device and no regular file",
	}
}

func TestRefused(t *testing.T) {
	dir, says := strange(t)
	root, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range says {
		full := filepath.Join(dir, name)
		for how, open := range map[string]func() error{
			"Open":          func() error { _, err := Open(full); return err },
			"ReadSmall":     func() error { _, err := ReadSmall(full); return err },
			"OpenRoot":      func() error { _, err := OpenRoot(full); return err },
			"Root.Open":     func() error { _, err := root.Open(name); return err },
			"Root.OpenRoot": func() error { _, err := root.OpenRoot(name); return err },
			"FS.ReadDir":    func() error { _, err := fs.ReadDir(root.FS(), name); return err },
			"Root.ReadFile": func() error { _, err := root.ReadFile(name, 9); return err },
			"FS.Open":       func() error { _, err := root.FS().Open(name); return err },
			"FS.ReadFile":   func() error { _, err := fs.ReadFile(root.FS(), name); return err },
		} {
			err := within(t, open)
			want := want
			switch {
			case how == "Root.OpenRoot" && name != "zero":
				want = "openat " + name + ": not a directory"
			case how == "OpenRoot":
				want = "open " + full + ": not a directory"
			case name == "zero" && !strings.HasPrefix(how, "Open") && how != "ReadSmall":
				want = "path escapes from parent"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want %q", how, name, err, want)
			}
		}
	}
}

func TestRegular(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "a")
	if err := os.WriteFile(full, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := OpenRoot(dir + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, read := range []func() ([]byte, error){
		func() ([]byte, error) { return Read(full, 4) },
		func() ([]byte, error) { return root.ReadFile("a", 4) },
		func() ([]byte, error) { return fs.ReadFile(root.FS(), "a") },
	} {
		if b, err := read(); string(b) != "text" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if names, err := f.Readdirnames(-1); len(names) != 1 || err != nil {
		t.Errorf("the folder has %q, %v", names, err)
	}
	if _, err := ReadSmall(dir); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a folder is read: %v", err)
	}
	if _, err := OpenRoot(""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder without a name: %v", err)
	}
	if _, err := root.FS().Open("../a"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("above the folder: %v", err)
	}
}

// A folder of the file system is opened once, with the same checks, and files above it are not to be had.
func TestSub(t *testing.T) {
	dir, says := strange(t)
	root, err := OpenRoot(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	sub, err := fs.Sub(root.FS(), filepath.Base(dir))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(sub, "a"); string(b) != "text" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	for name := range says {
		if err := within(t, func() error { _, err := sub.Open(name); return err }); err == nil {
			t.Errorf("%s is opened", name)
		}
		err := within(t, func() error { _, err := fs.Sub(root.FS(), filepath.Base(dir)+"/"+name); return err })
		if err == nil {
			t.Errorf("%s is a folder", name)
		}
	}
	if _, err := sub.Open("../a"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("above the folder: %v", err)
	}
	if err := sub.(io.Closer).Close(); err != nil {
		t.Error(err)
	}
	if _, err := sub.Open("a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a folder that was closed: %v", err)
	}
}

// sparse makes a file of 1 TiB, which takes no room on the disk, and opens its folder.
func sparse(t *testing.T) (full string, root Root) {
	t.Helper()
	dir := t.TempDir()
	full = filepath.Join(dir, "sparse")
	root, err := OpenRoot(dir)
	if err = errors.Join(err, os.WriteFile(full, nil, 0o600), os.Truncate(full, 1<<40)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return full, root
}

// A sparse file would take all memory.
func TestSparse(t *testing.T) {
	full, root := sparse(t)
	for how, read := range map[string]func() ([]byte, error){
		"ReadSmall":     func() ([]byte, error) { return ReadSmall(full) },
		"Root.ReadFile": func() ([]byte, error) { return root.ReadFile("sparse", 1<<20) },
		"FS.ReadFile":   func() ([]byte, error) { return fs.ReadFile(root.FS(), "sparse") },
	} {
		err := within(t, func() error { _, err := read(); return err })
		if err == nil || !strings.Contains(err.Error(), "bytes, which is too much here") {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// What a shell hands over, as in `--secret <(pass show it)`, is read although it is a pipe.
func TestHandedOver(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		time.Sleep(10 * time.Millisecond) // the reader waits
		io.WriteString(w, "text")
		w.Close()
	}()
	var b []byte
	err = within(t, func() (err error) {
		b, err = ReadSmall("/dev/fd/" + strconv.Itoa(int(r.Fd())))
		return err
	})
	if string(b) != "text" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
}

// ending returns a context that ends in a moment.
func ending(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	return ctx
}

func TestUntil(t *testing.T) {
	_, root := sparse(t)
	ctx := ending(t)
	tree := Until(ctx, root.FS())
	if entries, err := fs.ReadDir(tree, "."); len(entries) != 1 || err != nil {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	if fi, err := fs.Lstat(tree, "sparse"); err != nil || fi.Size() != 1<<40 {
		t.Errorf("described as %v, %v", fi, err)
	}
	f, err := tree.Open("sparse")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = within(t, func() error { _, err := io.Copy(io.Discard, f); return err })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("read to its end: %v", err)
	}
	if at, ok := f.(io.ReaderAt); !ok {
		t.Error("it cannot be read anywhere")
	} else if _, err := at.ReadAt(make([]byte, 1), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("read at a place: %v", err)
	}
	if _, err := tree.Open("sparse"); !errors.Is(err, context.Canceled) {
		t.Errorf("opened: %v", err)
	}
}

func TestUntilReader(t *testing.T) {
	b, err := io.ReadAll(UntilReader(t.Context(), strings.NewReader("text")))
	if string(b) != "text" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	in := UntilReader(ending(t), r)
	err = within(t, func() error { _, err := in.Read(make([]byte, 1)); return err })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("read although nothing comes: %v", err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}
