// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/store/disk"
	"mirrord/store/record"
)

func TestBuildTreeStartsOver(t *testing.T) {
	s := openTest(t, t.TempDir(), time.Now)
	publishTest(t, s, 1, map[string]string{"one": "1"})
	tree, err := s.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	fillTree(t, tree, 2, map[string]string{"stray": "half made"})
	tree.Close() // neither published nor unchanged
	tree, err = s.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Root.Lstat("stray"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the half made file is there: %v", err)
	}
	fillTree(t, tree, 1, map[string]string{"one": "1"})
	if err := tree.Unchanged(); err != nil {
		t.Fatal(err)
	}
	tree.Close()
	tree, err = s.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if got := readFile(t, tree.Root, "one"); got != "1" {
		t.Errorf("after Unchanged the tree has %q", got)
	}
}

func TestTreeWriter(t *testing.T) {
	s := openTest(t, t.TempDir(), time.Now)
	picture := sha256.Sum256([]byte("a picture"))
	if err := s.bodies.Put(picture, []byte("a picture"), at(1000)); err != nil {
		t.Fatal(err)
	}
	publishTest(t, s, 1, map[string]string{"dir/page": "page", "dir/sub/x": "x"})
	tree, err := s.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	w := tree.Writer()
	defer w.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(w.LinkLive("dir/page"))
	must(w.LinkLive("dir/page")) // twice is once
	must(w.LinkBlob("img/a.png", picture))
	must(w.LinkBlob("img/a.png", picture))
	must(w.Write("img/a.png", []byte("now a page"), at(77))) // replaced, not written through to the blob
	must(w.LinkBlob("img/b.png", picture))
	must(w.Write("dir/page", []byte("new"), at(78)))
	must(w.Write("deep/er/still/file", nil, at(79)))
	must(w.Stream("stream", at(80), func(w io.Writer) error {
		_, err := w.Write([]byte("in pieces"))
		return err
	}))
	boom := errors.New("boom")
	if err := w.Stream("broken", at(80), func(io.Writer) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("an error of the writer becomes %v", err)
	}
	must(w.Write("was/folder/x", nil, at(1)))
	must(w.Write("was", []byte("file"), at(1))) // takes the place of a folder
	if err := w.LinkLive("missing"); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("LinkLive of nothing: %v", err)
	}
	if err := w.LinkBlob("no.png", sha256.Sum256(nil)); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("LinkBlob of nothing: %v", err)
	}
	if got := readFile(t, tree.Live, "dir/page"); got != "page" {
		t.Errorf("the published file has become %q", got)
	}
	for p, want := range map[string]string{
		"img/a.png":          "now a page",
		"img/b.png":          "a picture",
		"dir/page":           "new",
		"stream":             "in pieces",
		"was":                "file",
		"deep/er/still/file": "",
	} {
		if got := readFile(t, tree.Root, p); got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
	if fi, err := tree.Root.Stat("stream"); err != nil || !fi.ModTime().Equal(at(80)) {
		t.Errorf("%v, %v", fi.ModTime(), err)
	}
	must(tree.Remove("deep/er/still/file"))
	if _, err := tree.Root.Lstat("deep"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder stays: %v", err)
	}
	must(tree.Remove("deep/er/still/file"))
	for _, p := range []string{"../outside", "a/../../b", "/abs"} {
		if err := w.Write(p, []byte("x"), at(1)); err == nil {
			t.Errorf("%s was written", p)
		}
		if err := w.LinkBlob(p, picture); err == nil {
			t.Errorf("%s was linked", p)
		}
	}
}

// A foreign symbolic link in a tree is not followed to the outside.
func TestTreeWriterStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	s := openTest(t, dir, time.Now)
	tree, err := s.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if err := os.Symlink(outside, filepath.Join(dir, "trees/next/out")); err != nil {
		t.Fatal(err)
	}
	err = os.Symlink(filepath.Join(outside, "f"), filepath.Join(dir, "trees/next/file"))
	if err != nil {
		t.Fatal(err)
	}
	w := tree.Writer()
	defer w.Close()
	if err := w.Write("out/x", []byte("x"), at(1)); err == nil {
		t.Error("written through a link to a folder")
	}
	if err := w.Write("file", []byte("x"), at(1)); err != nil { // the link is replaced
		t.Error(err)
	}
	if es, err := os.ReadDir(outside); err != nil || len(es) > 0 {
		t.Errorf("outside: %v, %v", es, err)
	}
}

func TestCurrentIsChecked(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, time.Now)
	if _, err := s.Current(); !errors.Is(err, record.ErrNoVersion) {
		t.Errorf("%v", err)
	}
	link := filepath.Join(dir, "current")
	for _, target := range []string{"/etc", "../..", "trees/../..", "trees/c"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Current(); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("current -> %s: %v", target, err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(link, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Current(); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("current is a folder: %v", err)
	}
}

// A link that leads elsewhere, or a folder in its place, is replaced by the next publish; where it led
// nothing is touched.
func TestWrongCurrentIsReplaced(t *testing.T) {
	for _, target := range []string{"outside", "trees/c", "a folder"} {
		dir, outside := t.TempDir(), t.TempDir()
		s := openTest(t, dir, time.Now)
		link := filepath.Join(dir, "current")
		var err error
		switch target {
		case "outside":
			err = os.Symlink(outside, link)
		case "a folder":
			err = os.MkdirAll(filepath.Join(link, "sub"), 0o755)
		default:
			err = os.Symlink(target, link)
		}
		if err != nil {
			t.Fatal(err)
		}
		publishTest(t, s, 1, map[string]string{"a": "1"})
		if v := currentVersion(t, s); v != 1 {
			t.Errorf("%s: version %d", target, v)
		}
		if es, err := os.ReadDir(outside); err != nil || len(es) > 0 {
			t.Errorf("outside: %v, %v", es, err)
		}
	}
}

func BenchmarkTreeWrite(b *testing.B) {
	s := openTest(b, b.TempDir(), time.Now)
	s.Volatile = true
	tree, err := s.Build(TreeRules{})
	if err != nil {
		b.Fatal(err)
	}
	defer tree.Close()
	w := tree.Writer()
	defer w.Close()
	data := make([]byte, 8<<10)
	n := 0
	for b.Loop() {
		if err := w.Write(fmt.Sprintf("d%d/f%d", n/100, n), data, at(1)); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
