// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mirrord/evolution"
)

// version is a site in the plainest form: contents by path.
type version map[string]string

func (v version) tree(t testing.TB) *HashedTree {
	t.Helper()
	var files []File
	for path, id := range v {
		files = append(files, File{Path: path, Digest: DigestOf(id)})
	}
	tree, err := TreeOf(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// nodes is the set of nodes of a subtree: path and kind -> contents.
func (v version) nodes(dir string) map[string]string {
	out := map[string]string{}
	if dir == "" {
		out["d "] = ""
	}
	for path, id := range v {
		if dir != "" && (len(path) <= len(dir) || path[:len(dir)+1] != dir+"/") {
			continue
		}
		out["f "+path] = id
		for d, _ := split(path); d != "" && len(d) >= len(dir); d, _ = split(d) {
			out["d "+d] = ""
		}
	}
	return out
}

// slowChange is the definition: the nodes of two versions of a subtree as sets.
func slowChange(from, to version, dir string) (c evolution.Change) {
	a, b := from.nodes(dir), to.nodes(dir)
	c.Old = len(a)
	for n, id := range a {
		switch other, ok := b[n]; {
		case !ok:
			c.Deleted++
		case other != id:
			c.Updated++
		}
	}
	for n := range b {
		if _, ok := a[n]; !ok {
			c.Inserted++
		}
	}
	return c
}

// drawVersions draws a short history of a small site; names collide in every way that names can.
func drawVersions(t *rapid.T) []version {
	name := rapid.SampledFrom([]string{"a", "b", "a-", "a0", "c"})
	out := []version{{}}
	for range rapid.IntRange(1, 8).Draw(t, "versions") {
		v := maps.Clone(out[len(out)-1])
		for range rapid.IntRange(0, 5).Draw(t, "edits") {
			path := name.Draw(t, "name")
			for range rapid.IntRange(0, 3).Draw(t, "depth") {
				path += "/" + name.Draw(t, "name")
			}
			if id := rapid.IntRange(0, 3).Draw(t, "contents"); id > 0 {
				v[path] = fmt.Sprint(id)
			} else if rapid.Bool().Draw(t, "all of it") {
				maps.DeleteFunc(v, func(p, _ string) bool {
					return p == path || (len(p) > len(path) && p[:len(path)+1] == path+"/")
				})
			} else {
				delete(v, path)
			}
		}
		out = append(out, v)
	}
	return out
}

// allDirs are the directories of all versions.
func allDirs(versions []version) []string {
	dirs := map[string]bool{"": true}
	for _, v := range versions {
		for path := range v {
			for d, _ := split(path); d != ""; d, _ = split(d) {
				dirs[d] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// TestAgainstDefinition compares trees, edit scripts and the history with the definitions, on small random
// sites.
func TestAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		versions := drawVersions(r)
		dirs := allDirs(versions)
		var h evolution.History
		var trees []*HashedTree
		for i, v := range versions {
			tree := v.tree(t)
			trees = append(trees, tree)
			var before *HashedTree
			if i > 0 {
				before = trees[i-1]
			}
			if err := AddTree(&h, int64(i), before, tree); err != nil {
				r.Fatal(err)
			}
			want := slices.Sorted(maps.Keys(v))
			var got []string
			for f := range tree.Files() {
				got = append(got, f.Path)
			}
			if !slices.Equal(got, want) || tree.Len() != len(want) {
				r.Fatalf("version %d has the files %q, want %q", i, got, want)
			}
			for _, d := range dirs {
				want := len(v.nodes(d))
				if got := tree.Nodes(d); got != want {
					r.Fatalf("version %d: %q has %d nodes, want %d", i, d, got, want)
				}
			}
		}
		for s := range h.Steps() {
			from, to := versions[s.Number-1], versions[s.Number]
			script := Diff(trees[s.Number-1], trees[s.Number])
			if want := slowChange(from, to, ""); len(script) != want.Distance(false) {
				r.Fatalf("step %d: %d edits, want %d", s.Number, len(script), want.Distance(false))
			}
			changes := Changes(trees[s.Number-1], slices.Values(script))
			for _, path := range dirs {
				want := slowChange(from, to, path)
				if d, ok := h.Dirs().Lookup(path); !ok {
					r.Fatalf("step %d: %q is not in the table", s.Number, path)
				} else if got := s.Change(d); got != want {
					r.Fatalf("step %d: %q by the history %+v, want %+v", s.Number, path, got, want)
				}
				if got, ok := changes[path]; (ok && got != want) || (!ok && want.Distance(false) != 0) {
					r.Fatalf("step %d: %q by the script %+v, want %+v", s.Number, path, got, want)
				}
			}
		}
	})
}
