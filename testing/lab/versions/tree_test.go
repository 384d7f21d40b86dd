// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/evolution"
)

func file(path, id string) File { return File{Path: path, Digest: DigestOf(id), Size: int64(len(id))} }

// site is a tree of "path=contents" words.
func site(t testing.TB, words string) *HashedTree {
	t.Helper()
	var files []File
	for _, w := range strings.Fields(words) {
		path, id, _ := strings.Cut(w, "=")
		files = append(files, file(path, id))
	}
	tree, err := TreeOf(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestTreeRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		paths []string
		want  error
	}{
		{"out of order", []string{"b", "a"}, ErrOrder},
		{"twice", []string{"a/x", "a/x"}, ErrOrder},
		{"out of order across directories", []string{"a/z", "a-b"}, ErrOrder},
		{"empty", []string{""}, evolution.ErrBadPath},
		{"leading slash", []string{"/a"}, evolution.ErrBadPath},
		{"trailing slash", []string{"a/"}, evolution.ErrBadPath},
		{"two slashes", []string{"a//b"}, evolution.ErrBadPath},
		{"dot", []string{"a/./b"}, evolution.ErrBadPath},
		{"up", []string{"../b"}, evolution.ErrBadPath},
		{"up at the end", []string{"a/.."}, evolution.ErrBadPath},
	} {
		t.Run(c.name, func(t *testing.T) {
			var files []File
			for _, p := range c.paths {
				files = append(files, file(p, "1"))
			}
			_, err := NewTree(slices.Values(files))
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if last := c.paths[len(c.paths)-1]; !strings.Contains(err.Error(), fmt.Sprintf("%q", last)) {
				t.Errorf("%v does not name %q", err, last)
			}
		})
	}
}

// A file that becomes a directory is a delete, and inserts.
func TestFileBecomesDirectory(t *testing.T) {
	from, to := site(t, "a=1 k=1"), site(t, "a/i=1 k=1")
	script := Diff(from, to)
	var got []string
	for _, e := range script {
		got = append(got, fmt.Sprint(e.Op, " ", e.Path, " ", e.Dir))
	}
	want := []string{"1 a false", "2 a true", "2 a/i false"}
	if !slices.Equal(got, want) {
		t.Errorf("edits are %q, want %q", got, want)
	}
	changes := Changes(from, slices.Values(script))
	if got := changes[""]; got.Distance(false) != 3 || got.Merged() != 5 {
		t.Errorf("root: %+v, want D 3 of 5", got)
	}
	if got := changes["a"]; got.Distance(false) != 2 || got.Merged() != 2 || got.DoC(false) != 1 {
		t.Errorf("a: %+v, want D 2 of 2", got)
	}
	// A directory whose files were all replaced was there all the time.
	if got := len(Diff(site(t, "d/a=1 d/b=1"), site(t, "d/c=1"))); got != 3 {
		t.Errorf("all files replaced: %d edits, want 3", got)
	}
}

// Equal subtrees are not entered.
func TestEqualSubtreesCostNothing(t *testing.T) {
	old, next := site(t, "a/b/x=1 a/c/x=1 d/e/f/x=1 d/y=1 z=1"), site(t, "a/b/x=2 a/c/x=1 d/e/f/x=1 d/y=1 z=1")
	d, _ := old.root.findDir("d")
	// Break equal subtrees inside: a comparison that enters them finds a difference.
	next.root.dirs[d] = &node{
		name: "d",
		hash: old.root.dirs[d].hash,
		nf:   old.root.dirs[d].nf,
		nd:   3,
	}
	if got := Diff(old, next); len(got) != 1 || got[0].Path != "a/b/x" {
		t.Errorf("edits are %v, want one of a/b/x", got)
	}
}

func TestDeepDirectories(t *testing.T) {
	for _, depth := range []int{200, 5000} {
		path := strings.Repeat("d/", depth)
		from, to := site(t, path+"x=1 "+path+"y=1"), site(t, path+"x=2 "+path+"y=1 e=1")
		script := Diff(from, to)
		if len(script) != 2 {
			t.Fatalf("%d levels: %d edits, want 2", depth, len(script))
		}
		var h evolution.History
		if err := AddTree(&h, 1, nil, from); err != nil {
			t.Fatal(err)
		}
		if err := AddTree(&h, 2, from, to); err != nil {
			t.Fatal(err)
		}
		if h.Dirs().Len() != depth+1 || h.Files(evolution.Root) != 3 {
			t.Errorf("%d levels: %d directories, %d files", depth, h.Dirs().Len(), h.Files(evolution.Root))
		}
		deep, ok := h.Dirs().Lookup(strings.TrimSuffix(path, "/"))
		if !ok || h.Dirs().Path(deep) != strings.TrimSuffix(path, "/") {
			t.Errorf("%d levels: the deepest directory is not found", depth)
		}
		for s := range h.Steps() {
			if got := s.Change(deep); got != (evolution.Change{Updated: 1, Old: 3}) {
				t.Errorf("%d levels: the deepest directory changed by %+v", depth, got)
			}
		}
	}
}

func TestEmptyTree(t *testing.T) {
	empty, err := NewTree(slices.Values([]File(nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*HashedTree{nil, empty, {}} {
		if e.Len() != 0 || e.Nodes("") != 1 || e.Nodes("a") != 0 {
			t.Errorf("an empty tree has %d files and %d nodes, want the root only", e.Len(), e.Nodes(""))
		}
		if got := Diff(e, site(t, "a/x=1")); len(got) != 2 {
			t.Errorf("from nothing: %v, want 2 edits", got)
		}
		if got := Diff(e, empty); len(got) != 0 {
			t.Errorf("from nothing to nothing: %v", got)
		}
	}
}
