// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"mirrord/internal/regular"
	"mirrord/store/disk"
)

// The files of a held tree are a file system like that of its root, also for many readers of more folders
// than stay open, with links and with a file instead of a folder.
func TestTreeFiles(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 3 * disk.FewFolders {
		paths = append(paths, fmt.Sprintf("a%d/b/f%d", i, i), fmt.Sprintf("a%d/g", i))
	}
	for _, p := range append(paths, "top") {
		must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(p)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, p), []byte(p), 0o644))
	}
	root, err := regular.OpenRoot(dir)
	must(t, err)
	tree := &HeldTree{Root: root}
	must(t, fstest.TestFS(tree.Files(), append(paths, "top")...))
	must(t, os.Symlink("../top", filepath.Join(dir, "a1/inside")))
	must(t, os.Symlink("../../outside", filepath.Join(dir, "a1/outside")))
	var wg sync.WaitGroup
	for k := range 4 {
		wg.Go(func() {
			for i := range 20 * len(paths) {
				p := paths[(i*(k+1))%len(paths)]
				f, err := tree.Files().Open(p)
				if err != nil {
					t.Error(err)
					return
				}
				got := make([]byte, 100)
				if n, _ := f.Read(got); string(got[:n]) != p {
					t.Errorf("%s: %q", p, got[:n])
				}
				f.Close()
			}
		})
	}
	wg.Wait()
	for p, want := range map[string]error{
		"a1/none": fs.ErrNotExist, "none/f": fs.ErrNotExist, "../top": fs.ErrInvalid, "": fs.ErrInvalid,
		"a1/g/": fs.ErrInvalid, "/top": fs.ErrInvalid,
	} {
		if _, err := tree.Files().Open(p); !errors.Is(err, want) {
			t.Errorf("%q: %v, not %v", p, err, want)
		}
	}
	if f, err := tree.Files().Open("a1/inside"); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	for _, p := range []string{"a1/outside", "top/f"} {
		if _, err := tree.Files().Open(p); err == nil {
			t.Errorf("%q was opened", p)
		}
	}
	must(t, tree.Close())
	if _, err := tree.Files().Open("top"); err == nil {
		t.Error("a closed tree opens files")
	}
}
