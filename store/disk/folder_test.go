// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mirrord/internal/regular"
)

// Files come to lie where they belong, in any order, whichever folders are still open.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	c := OpenDirs{Root: regular.Root{Root: root}, most: 4}
	defer c.Close()
	r := rand.New(rand.NewPCG(1, 2))
	made := map[string]bool{}
	for i := range 2_000 {
		p := "."
		for range r.IntN(4) {
			p = path.Join(p, fmt.Sprint("d", r.IntN(3)))
		}
		p = path.Join(p, fmt.Sprint("f", i))
		d, name, err := c.Of(p)
		must(t, err)
		f, err := d.Create(name)
		must(t, err)
		must(t, d.Finish(f, name, time.Unix(1e9, 0), nil))
		if made[p] = true; len(c.open) > c.most {
			t.Fatalf("%d folders are open", len(c.open))
		}
	}
	for p := range made {
		if _, err := os.Lstat(filepath.Join(dir, p)); err != nil {
			t.Error(err)
		}
	}
}

// A folder that was removed meanwhile is no way to those below it, which are made again.
func TestFoldersBelowGone(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	c := OpenDirs{Root: regular.Root{Root: root}}
	defer c.Close()
	_, _, err = c.Of("a/f")
	must(t, err)
	must(t, os.Remove(filepath.Join(dir, "a")))
	d, name, err := c.Of("a/b/f")
	must(t, err)
	f, err := d.Create(name)
	must(t, err)
	must(t, d.Finish(f, name, time.Unix(1e9, 0), nil))
	if _, err := os.Lstat(filepath.Join(dir, "a/b/f")); err != nil {
		t.Error(err)
	}
	look := OpenDirs{Root: regular.Root{Root: root}, Look: true}
	defer look.Close()
	if _, _, err := look.Of("a/none/f"); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "a/none")); err == nil {
		t.Error("who only looks made a folder")
	}
}

// When the process has all descriptors that it may have, those of folders are given up, whether the last one
// went to a folder or is wanted for one.
func TestFoldersWithoutDescriptors(t *testing.T) {
	for spare := range uint64(4) {
		root, err := os.OpenRoot(t.TempDir())
		must(t, err)
		defer root.Close()
		var old unix.Rlimit
		must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
		last, err := root.Open(".")
		must(t, err)
		defer last.Close()
		few := unix.Rlimit{Cur: uint64(last.Fd()) + 24 + spare, Max: old.Max}
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
		c, most := OpenDirs{Root: regular.Root{Root: root}, most: 1000}, 0
		for i := range 60 {
			d, f, cerr := c.Create(fmt.Sprintf("d%d/f", i))
			if err = cerr; err != nil {
				break
			}
			must(t, d.Finish(f, "f", time.Unix(1e9, 0), nil))
			most = max(most, len(c.open))
		}
		c.Close()
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
		if err != nil || most < 5 || most > 20 || c.most > most {
			t.Errorf("%d more: %d folders were open, %d are kept, %v", spare, most, c.most, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
