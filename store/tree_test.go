// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mirrord/internal/regular"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// publishTest builds and publishes a tree with the given files.
func publishTest(t testing.TB, s *Site, version int, files map[string]string) {
	t.Helper()
	publishUnder(t, s, trees.TreeRules{}, version, files)
}

func publishUnder(t testing.TB, s *Site, r trees.TreeRules, version int, files map[string]string) {
	t.Helper()
	tree, err := s.Trees.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	fillTree(t, tree, version, files)
	if err := tree.Publish(record.Version{Number: version, Files: len(files)}, []byte("script")); err != nil {
		t.Fatal(err)
	}
}

func fillTree(t testing.TB, tree *trees.Tree, version int, files map[string]string) {
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
	if errors.Is(err, record.ErrNoVersion) {
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
	hour := trees.TreeRules{Grace: time.Hour, Most: 3}
	for _, c := range []struct {
		name     string
		rules    trees.TreeRules
		old      int
		volatile bool
	}{
		{"first", trees.TreeRules{}, 0, false},
		{"second", trees.TreeRules{}, 1, false},
		{"third", trees.TreeRules{}, 2, false},
		{"third without syncs", trees.TreeRules{}, 2, true},
		{"a new tree in grace", hour, 2, true},
		{"all in grace", hour, 3, true},
		{"one tree", trees.TreeRules{Grace: time.Hour, Most: 1}, 2, true},
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
			if err := tree.Publish(record.Version{Number: c.old + 1, Files: 1, Time: time.Now()}, nil); err != nil {
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
	tree, err := s.Trees.Build(trees.TreeRules{})
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
	if err := errors.Join(tree.Publish(record.Version{Number: want + 1}, nil), tree.Close()); err != nil {
		t.Errorf("%s: %v", step, err)
	}
	if v := currentVersion(t, s); v != want+1 {
		t.Errorf("%s: the next publish makes version %d", step, v)
	}
	closeTest(t, st, s)
}
