// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The measures of the house: its root, its families and the size of its packages. A family is the packages
// in one folder of the root.
const (
	mostFolders = 25   // at the root, without those whose names begin with a dot
	mostFiles   = 40   // of a package, without tests
	mostLines   = 9000 // the same
)

// promised lists folders that the project has for good.
func promised() []string {
	return []string{
		"cmd/mirrord", "evolution", "jobs.d", "mirror", "near", "phm", "relocate", "scheduler",
	}
}

// bulk is how much is in a package.
type bulk struct{ files, lines int }

// largePackages lists the packages that are over a measure, with the reason. The numbers only go down.
func largePackages() map[string]bulk {
	return map[string]bulk{}
}

// upward lists the arrows between families that run against the order of all others, with the reason.
func upward() map[string]string {
	return map[string]string{
		"serve -> app/access": "roles and tokens, which import nothing of app",
	}
}

// TestRoot holds that a reader sees the families of the program at the root, and what the project promises.
func TestRoot(t *testing.T) {
	folders := rootFolders(tracked(t))
	if len(folders) > mostFolders {
		t.Errorf("%d folders at the root, more than %d: %s", len(folders), mostFolders,
			strings.Join(folders, " "))
	}
	for _, folder := range promised() {
		if root, _, _ := strings.Cut(folder, "/"); !slices.Contains(folders, root) {
			t.Errorf("%s is not there", folder)
		}
		if files, err := os.ReadDir(path.Join(top, folder)); err != nil || len(files) == 0 {
			t.Errorf("%s has no files (%v)", folder, err)
		}
	}
}

// tracked lists the files of the project: those that git knows, or all but what builds leave.
func tracked(t *testing.T) []string {
	t.Helper()
	if out, err := exec.Command("git", "-C", top, "ls-files", "-z").Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	var files []string
	err := filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && p == filepath.Join(top, "build") {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			files = append(files, rel(filepath.ToSlash(p)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// rootFolders returns the folders of the root in which there are files.
func rootFolders(files []string) (out []string) {
	for _, file := range files {
		folder, _, below := strings.Cut(file, "/")
		if below && !strings.HasPrefix(folder, ".") && !slices.Contains(out, folder) {
			out = append(out, folder)
		}
	}
	slices.Sort(out)
	return out
}

// TestPackageSizes holds that a package can be read: one that is too large is several.
func TestPackageSizes(t *testing.T) {
	for _, why := range tooLarge(bulks(sources(t)), largePackages()) {
		t.Error(why)
	}
}

// bulks measures packages.
func bulks(srcs []source) map[string]bulk {
	out := map[string]bulk{}
	for _, src := range srcs {
		b := out[src.pkg]
		b.files++
		b.lines += src.fset.File(src.ast.Pos()).LineCount()
		out[src.pkg] = b
	}
	return out
}

// tooLarge reports packages over the measures and over their listed sizes. Lines may be fewer than listed
// by some hundreds.
func tooLarge(now, listed map[string]bulk) (out []string) {
	fits := func(b bulk) bool { return b.files <= mostFiles && b.lines <= mostLines }
	for _, pkg := range slices.Sorted(maps.Keys(now)) {
		b, l := now[pkg], listed[pkg]
		if !fits(b) && (b.files > max(l.files, mostFiles) || b.lines > max(l.lines, mostLines)) {
			out = append(out, fmt.Sprintf("%s: %d files of %d lines: it is several packages", pkg, b.files, b.lines))
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(listed)) {
		switch b, l := now[pkg], listed[pkg]; {
		case fits(b):
			out = append(out, pkg+" keeps to the measures: take it off largePackages")
		case b.files < l.files || b.lines <= l.lines-500:
			out = append(out, fmt.Sprintf("%s has come down to %d files of %d lines: lower largePackages", pkg,
				b.files, b.lines))
		}
	}
	return out
}

// TestFamilies holds that the families have an order: arrows between them make no circle.
func TestFamilies(t *testing.T) {
	all := familyArrows(sources(t))
	if len(all) < 50 {
		t.Errorf("only %d arrows between families: the test sees nothing", len(all))
	}
	for _, why := range runsUp(all, upward()) {
		t.Error(why)
	}
}

// runsUp reports the circles among families, without the arrows that are listed, and those that are listed
// without need.
func runsUp(all arrows, listed map[string]string) (out []string) {
	rest := arrows{}
	for arrow, by := range all {
		by = slices.DeleteFunc(slices.Clone(by), func(x string) bool { return listed[x] != "" })
		if len(by) > 0 {
			rest[arrow] = by
		}
	}
	for _, circle := range circles(rest.files()) {
		out = append(out, fmt.Sprintf("%s are in a circle:\n%s", strings.Join(circle, ", "), rest.within(circle)))
	}
	for _, x := range slices.Sorted(maps.Keys(listed)) {
		pkg, imp, _ := strings.Cut(x, " -> ")
		arrow := [2]string{family(pkg), family(imp)}
		one := maps.Clone(rest)
		one[arrow] = []string{x}
		if !slices.Contains(all[arrow], x) || len(circles(one.files())) == 0 {
			out = append(out, x+" does not run up: take it off the list")
		}
	}
	return out
}

// familyArrows returns which families import which, with the packages. Test support belongs to none.
func familyArrows(srcs []source) arrows {
	out := arrows{}
	for _, src := range srcs {
		row, _ := rowOf(src.pkg)
		for _, imp := range ours(src) {
			arrow := [2]string{family(src.pkg), family(imp)}
			x := src.pkg + " -> " + imp
			if row != harness && arrow[0] != arrow[1] && !slices.Contains(out[arrow], x) {
				out[arrow] = append(out[arrow], x)
			}
		}
	}
	return out
}

// family returns the folder of the root that a package is in.
func family(pkg string) string {
	root, _, _ := strings.Cut(pkg, "/")
	return root
}

// ours returns the packages of the module that a file imports.
func ours(src source) (out []string) {
	for _, spec := range src.ast.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if rest, ok := strings.CutPrefix(imp, module+"/"); err == nil && ok {
			out = append(out, rest)
		}
	}
	return out
}

// The measures of the house bite.
func TestHouse(t *testing.T) {
	folders := rootFolders([]string{"b/x", "a/b/y", ".ci/run", "README.md", "a/z", ""})
	if got := strings.Join(folders, " "); got != "a b" {
		t.Error(got)
	}
	for _, tc := range []struct {
		now, listed bulk
		want        bool
	}{
		{bulk{40, 9000}, bulk{}, true}, {bulk{41, 10}, bulk{}, false}, {bulk{1, 9001}, bulk{}, false},
		{bulk{50, 9900}, bulk{50, 10000}, true}, {bulk{51, 9900}, bulk{50, 10000}, false},
		{bulk{49, 9900}, bulk{50, 10000}, false}, {bulk{50, 10001}, bulk{50, 10000}, false},
		{bulk{50, 9500}, bulk{50, 10000}, false}, {bulk{40, 9000}, bulk{50, 10000}, false},
	} {
		listed := map[string]bulk{"p": tc.listed}
		if tc.listed == (bulk{}) {
			listed = nil
		}
		if got := tooLarge(map[string]bulk{"p": tc.now}, listed); (len(got) == 0) != tc.want {
			t.Errorf("%v, %v listed: %q", tc.now, tc.listed, got)
		}
	}
	all := arrows{{"a", "b"}: {"a -> b"}, {"b", "c"}: {"b/x -> c"}, {"c", "a"}: {"c/y -> a", "c/z -> a"}}
	if got := runsUp(all, nil); len(got) != 1 {
		t.Error(got)
	}
	for listed, want := range map[string]int{"a -> b": 0, "b/x -> c": 0, "c/y -> a": 1, "b -> a": 2} {
		if got := runsUp(all, map[string]string{listed: "reason"}); len(got) != want {
			t.Errorf("%s listed: %q, want %d", listed, got, want)
		}
	}
}
