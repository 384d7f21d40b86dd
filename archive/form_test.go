// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"mirrord/internal/inorder"
	"mirrord/phm"
	"mirrord/testing/phmtest"
)

// Toy is a form of this file alone: a tar after four bytes of its own. That it passes the suite shows that a
// form needs no other edit.
func (forms) Toy() Form {
	const magic = "TOY\n"
	tail := func(r io.ReaderAt, size int64) (io.ReaderAt, int64) {
		return io.NewSectionReader(r, int64(len(magic)), size-int64(len(magic))), size - int64(len(magic))
	}
	return Form{
		Name: "toy",
		Doc:  "a toy (toy)",
		Pack: func(w io.Writer, tree fs.FS, o Packing) (*phm.Meta, error) {
			if _, err := io.WriteString(w, magic); err != nil {
				return nil, err
			}
			return phm.PackTar(w, tree, phm.PackOptions{Prefix: o.Name + "/"})
		},
		Open: func(r io.ReaderAt, size int64, l phm.Limits) (fs.FS, error) {
			r, size = tail(r, size)
			return phm.Open(r, size, l)
		},
		Claims: begins(magic),
		place:  99,
	}
}

// TestForms is the suite that every form passes: it comes back as it went, it alone claims what it wrote, and
// damage is found.
func TestForms(t *testing.T) {
	tree := someTree(t)
	for _, f := range Forms() {
		t.Run(f.Name, func(t *testing.T) {
			if f.Doc == "" || f.place == 0 {
				t.Error("no text for the help, or no place among the forms")
			}
			if (f.Captures != nil || f.Browse != nil || f.Convert != nil) != (f.Verify != nil) {
				t.Fatal("Captures, Browse or Convert and Verify belong together")
			}
			if f.Verify != nil { // TestCaptures, TestForeignZIM
				return
			}
			if (f.Pack != nil || f.Claims != nil) && f.Open == nil {
				t.Fatal("Pack and Claims need Open")
			}
			if f.Pack == nil {
				return
			}
			out, err := os.Create(filepath.Join(t.TempDir(), "some"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			want, err := f.Pack(out, tree, Packing{Name: "some"})
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			again, err := os.Create(filepath.Join(t.TempDir(), "again"))
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			crew := inorder.Crew{Go: func(f func()) { go f() }, Size: 3}
			if _, err := f.Pack(again, tree, Packing{Name: "some", Crew: crew}); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(again.Name()); err != nil || !bytes.Equal(b, data) {
				t.Errorf("several workers write another file: %v", err)
			}
			b := bytes.NewBuffer(data)
			if in, err := FormOf(bytes.NewReader(b.Bytes()), int64(b.Len())); err != nil || in.Name != f.Name {
				t.Errorf("it is recognized as %s: %v", in.Name, err)
			}
			got := unpacked(t, b.Bytes(), nil)
			for name, file := range tree {
				if !bytes.Equal(got[name], file.Data) {
					t.Errorf("%s comes back with %d bytes instead of %d", name, len(got[name]), len(file.Data))
				}
			}
			if len(got) != len(tree) {
				t.Errorf("%d files come back, want %d", len(got), len(tree))
			}
			whole := bytes.NewReader(b.Bytes())
			opened, err := Open(whole, whole.Size(), phm.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if report, err := phm.Verify(opened, phm.VerifyOptions{}); err != nil || report.Err() != nil ||
				report.Files != want.Files || report.Meta.TableSum != want.TableSum {
				t.Errorf("verify: %v, %+v", err, report)
			}
			if f.Replaceable != nil &&
				(f.Replaceable(whole, whole.Size()) != nil || f.Replaceable(strings.NewReader("text"), 4) == nil) {
				t.Error("what may be replaced is not told from what may not")
			}
			cut := b.Bytes()[:b.Len()/2]
			unpacked(t, cut, errors.New("any"))
		})
	}
}

func TestNames(t *testing.T) {
	names := []string{"phm", "dir", "tar.zst", "zim", "warc", "wacz", "toy"}
	if got, want := Names(), names; !slices.Equal(got, want) {
		t.Errorf("exports %q, want %q", got, want)
	}
	for file, want := range map[string]string{
		"a.phm":     "phm",
		"a.tar.zst": "tar.zst",
		"a":         "dir",
		"a.tar":     "dir",
		"a.toy":     "toy",
		"a.warc.gz": "warc.gz",
		"a.warc":    "warc.gz",
		"a.wacz":    "wacz",
		"phm":       "dir",
	} {
		if got := Named(file).Name; got != want {
			t.Errorf("%s is in form %s, want %s", file, got, want)
		}
	}
	for name, want := range map[string]bool{
		"phm":     true,
		"dir":     true,
		"warc":    true,
		"warc.gz": true,
		"tar.gz":  false,
		"rar":     false,
	} {
		if _, ok := Find(name); ok != want {
			t.Errorf("%s can be written: %v", name, ok)
		}
	}
}

// A file of no known form is refused like a bad one of the archive form.
func TestUnpackUnknown(t *testing.T) {
	text := "neither form"
	_, err := Unpack(strings.NewReader(text), int64(len(text)), folder{t.TempDir()})
	if !errors.Is(err, phm.ErrNotPHM) {
		t.Errorf("error %v", err)
	}
}

// unpacked returns the files of a packed tree; fails says that it must not unpack.
func unpacked(t *testing.T, data []byte, fails error) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	_, err := Unpack(bytes.NewReader(data), int64(len(data)), folder{dir})
	if (err != nil) != (fails != nil) {
		t.Fatalf("unpack: %v", err)
	}
	files := map[string][]byte{}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// folder is a sink in a directory.
type folder struct{ dir string }

func (f folder) Create(name string, _ time.Time) (io.WriteCloser, error) {
	if err := os.MkdirAll(filepath.Join(f.dir, path.Dir(name)), 0o755); err != nil {
		return nil, err
	}
	return os.Create(filepath.Join(f.dir, name))
}

// someTree is a small PHM.
func someTree(t *testing.T) fstest.MapFS {
	t.Helper()
	files := map[string][]byte{}
	for _, p := range []string{"docs/a.txt", "index.html"} {
		files[p] = bytes.Repeat([]byte(p+"\n"), 1000)
	}
	return phmtest.Tree(t, time.Date(2026, 11, 20, 3, 31, 0, 0, time.UTC), files)
}
