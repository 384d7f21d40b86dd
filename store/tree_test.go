// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mirrord/internal/regular"
	"mirrord/store/disk"
)

// publishTest builds and publishes a tree with the given files.
func publishTest(t testing.TB, s *Site, version int, files map[string]string) {
	t.Helper()
	publishUnder(t, s, TreeRules{}, version, files)
}

func publishUnder(t testing.TB, s *Site, r TreeRules, version int, files map[string]string) {
	t.Helper()
	tree, err := s.Trees.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	fillTree(t, tree, version, files)
	if err := tree.Publish(Version{Number: version, Files: len(files)}, []byte("script")); err != nil {
		t.Fatal(err)
	}
}

func fillTree(t testing.TB, tree *Tree, version int, files map[string]string) {
	t.Helper()
	w := tree.Writer()
	defer w.Close()
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if err := w.Write(p, []byte(files[p]), at(int64(version))); err != nil {
			t.Fatal(err)
		}
	}
	f, err := tree.Create("version")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(f, version); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// currentVersion returns what the published tree says of itself, 0 for none.
func currentVersion(t testing.TB, s *Site) int {
	t.Helper()
	root, err := s.Trees.Current()
	if errors.Is(err, ErrNoVersion) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var v int
	if _, err := fmt.Sscan(readFile(t, root, "version"), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A kill between any two steps of a publish: readers have the version before or the new one, and so does the
// next process; a tree that was not finished is begun again. Trees in their grace stay as they are.
func TestPublishCutOffAnywhere(t *testing.T) {
	hour := TreeRules{Grace: time.Hour, Most: 3}
	for _, c := range []struct {
		name     string
		rules    TreeRules
		old      int
		volatile bool
	}{
		{"first", TreeRules{}, 0, false},
		{"second", TreeRules{}, 1, false},
		{"third", TreeRules{}, 2, false},
		{"third without syncs", TreeRules{}, 2, true},
		{"a new tree in grace", hour, 2, true},
		{"all in grace", hour, 3, true},
		{"one tree", TreeRules{Grace: time.Hour, Most: 1}, 2, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := Options{Volatile: c.volatile}
			dir := t.TempDir()
			_, s := openTest(t, dir, opt)
			for v := 1; v <= c.old; v++ {
				publishUnder(t, s, c.rules, v, map[string]string{
					"a/b":                 fmt.Sprint("of ", v),
					fmt.Sprint("only", v): "x",
				})
			}
			type point struct{ step, dir string }
			var points []point
			s.Step = func(step string) { points = append(points, point{step, copyState(t, dir)}) }
			tree, err := s.Trees.Build(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			s.At("opened")
			fillTree(t, tree, c.old+1, map[string]string{"a/b": fmt.Sprint("of ", c.old+1)})
			s.At("filled")
			if err := tree.Publish(Version{Number: c.old + 1, Files: 1, Time: time.Now()}, nil); err != nil {
				t.Fatal(err)
			}
			tree.Close()
			s.At("published")
			s.Step = nil
			decided := false
			for _, p := range points {
				decided = decided || p.step == "publish decided"
				checkCutOff(t, p.step, p.dir, opt, c.old, decided)
			}
			if len(points) < 7 || !decided {
				t.Errorf("only %d points: %v", len(points), points)
			}
			verifyTest(t, s)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// linked checks that each link of the folder versions points to that version, and returns their numbers.
func linked(t *testing.T, dir string) (versions []string) {
	t.Helper()
	links := filepath.Join(dir, "sites/x/versions")
	entries, err := os.ReadDir(links)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(links, e.Name(), "version"))
		if err != nil || string(data) != e.Name() {
			t.Errorf("versions/%s is %q, %v", e.Name(), data, err)
		}
		versions = append(versions, e.Name())
	}
	return versions
}

func checkCutOff(t *testing.T, step, dir string, opt Options, old int, decided bool) {
	t.Helper()
	readers := func(when string) int { // what a reader sees who only follows the link
		data, err := os.ReadFile(filepath.Join(dir, "sites/x/current/version"))
		if errors.Is(err, fs.ErrNotExist) && old == 0 {
			return 0
		}
		var v int
		if _, serr := fmt.Sscan(string(data), &v); err != nil || serr != nil || (v != old && v != old+1) {
			t.Errorf("%s, %s: a reader sees version %q, %v", step, when, data, err)
		}
		return v
	}
	before := readers("after the kill")
	st, s := openTest(t, dir, opt)
	want := old
	if decided {
		want++
	}
	if v := currentVersion(t, s); v != want || v < before || readers("after reopening") != v {
		t.Errorf("%s: version %d is published after reopening, want %d", step, v, want)
	}
	if vs, err := s.Versions.List(); err != nil || len(vs) != want {
		t.Errorf("%s: versions %v, %v", step, vs, err)
	}
	verifyTest(t, s)
	for _, version := range linked(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, "sites/x/versions", version, "a/b"))
		if err != nil || string(data) != "of "+version {
			t.Errorf("%s: a/b of version %s is %q, %v", step, version, data, err)
		}
	}
	tree, err := s.Trees.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	// What the tree has must be a finished version, or nothing.
	data, err := tree.Root.ReadFile("version", regular.MaxSmall)
	body, berr := tree.Root.ReadFile("a/b", regular.MaxSmall)
	switch {
	case errors.Is(err, fs.ErrNotExist) && errors.Is(berr, fs.ErrNotExist):
	case err != nil || berr != nil || string(body) != "of "+string(data):
		t.Errorf("%s: the next tree begins with %q, %q", step, data, body)
	}
	fillTree(t, tree, want+1, map[string]string{"a/b": fmt.Sprint("of ", want+1)})
	if err := errors.Join(tree.Publish(Version{Number: want + 1}, nil), tree.Close()); err != nil {
		t.Errorf("%s: %v", step, err)
	}
	if v := currentVersion(t, s); v != want+1 {
		t.Errorf("%s: the next publish makes version %d", step, v)
	}
	closeTest(t, st, s)
}

func TestBuildTreeStartsOver(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	publishTest(t, s, 1, map[string]string{"one": "1"})
	tree, err := s.Trees.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	fillTree(t, tree, 2, map[string]string{"stray": "half made"})
	tree.Close() // neither published nor unchanged
	tree, err = s.Trees.Build(TreeRules{})
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
	tree, err = s.Trees.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if got := readFile(t, tree.Root, "one"); got != "1" {
		t.Errorf("after Unchanged the tree has %q", got)
	}
}

func TestTreeWriter(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	b := blobOf(t, s, 0, "a picture")
	commit(t, s, 0, newURLs(0, 1), b)
	publishTest(t, s, 1, map[string]string{"dir/page": "page", "dir/sub/x": "x"})
	tree, err := s.Trees.Build(TreeRules{})
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
	must(w.LinkBlob("img/a.png", b.Digest))
	must(w.LinkBlob("img/a.png", b.Digest))
	must(w.Write("img/a.png", []byte("now a page"), at(77))) // replaced, not written through to the blob
	must(w.LinkBlob("img/b.png", b.Digest))
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
		if err := w.LinkBlob(p, b.Digest); err == nil {
			t.Errorf("%s was linked", p)
		}
	}
}

// A foreign symbolic link in a tree is not followed to the outside.
func TestTreeWriterStaysInside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	_, s := openTest(t, dir, Options{})
	tree, err := s.Trees.Build(TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if err := os.Symlink(outside, filepath.Join(dir, "sites/x/trees/next/out")); err != nil {
		t.Fatal(err)
	}
	err = os.Symlink(filepath.Join(outside, "f"), filepath.Join(dir, "sites/x/trees/next/file"))
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
	_, s := openTest(t, dir, Options{}, BadCurrent)
	if _, err := s.Trees.Current(); !errors.Is(err, ErrNoVersion) {
		t.Errorf("%v", err)
	}
	link := filepath.Join(dir, "sites/x/current")
	for _, target := range []string{"/etc", "../..", "trees/../..", "trees/c"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Trees.Current(); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("current -> %s: %v", target, err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(link, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Trees.Current(); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("current is a folder: %v", err)
	}
}

// A link that leads elsewhere, or a folder in its place, is replaced by the next publish; where it led
// nothing is touched.
func TestWrongCurrentIsReplaced(t *testing.T) {
	for _, target := range []string{"outside", "trees/c", "a folder"} {
		dir, outside := t.TempDir(), t.TempDir()
		_, s := openTest(t, dir, Options{})
		link := filepath.Join(dir, "sites/x/current")
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
	_, s := openTest(b, b.TempDir(), Options{Volatile: true})
	tree, err := s.Trees.Build(TreeRules{})
	if err != nil {
		b.Fatal(err)
	}
	defer tree.Close()
	w := tree.Writer()
	defer w.Close()
	data := random(8<<10, 1)
	n := 0
	for b.Loop() {
		if err := w.Write(fmt.Sprintf("d%d/f%d", n/100, n), data, at(1)); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
