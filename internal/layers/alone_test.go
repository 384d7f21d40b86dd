// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// listed reads a list or a pattern of .ci/run.
func listed(t *testing.T, name string) string {
	t.Helper()
	script, err := os.ReadFile(path.Join(top, ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + `='([^']+)'$`).FindSubmatch(script)
	if m == nil {
		t.Fatalf("%s is not found in .ci/run", name)
	}
	return string(m[1])
}

// TestAlone holds the packages that .ci/run tests without the race detector to what makes it needless: neither
// they nor their tests start a goroutine or name a package that does, and they are pure, or no package of this
// module that they are built upon does so either.
func TestAlone(t *testing.T) {
	for pkg := range strings.FieldsSeq(listed(t, "alone")) {
		row, ok := rowOf(pkg)
		if !ok {
			t.Errorf("%s has no row", pkg)
		}
		below := checkAlone(t, pkg, true)
		if isPure(pkg, row) {
			continue
		}
		seen := map[string]bool{}
		for len(below) > 0 {
			dep := below[0]
			below = below[1:]
			if !seen[dep] && dep != pkg {
				seen[dep] = true
				below = append(below, checkAlone(t, dep, false)...)
			}
		}
	}
	for pkg := range strings.FieldsSeq(listed(t, "played")) {
		if !strings.HasPrefix(pkg, "testing/") {
			t.Errorf("%s is of the program: the race detector is needed", pkg)
		}
	}
}

// checkAlone checks the files of a package, and says which others of the module they import.
func checkAlone(t *testing.T, pkg string, tests bool) (below []string) {
	t.Helper()
	files, err := filepath.Glob(path.Join(top, pkg, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files (%v)", pkg, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") && !tests {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if why := shares(f); why != "" {
			t.Errorf("%s %s: the race detector is needed", rel(name), why)
		}
		for _, imp := range f.Imports {
			if dep, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module+"/"); ours {
				below = append(below, dep)
			}
		}
	}
	return below
}

// shares says what in a file makes goroutines, if anything does.
func shares(f *ast.File) (why string) {
	for _, imp := range f.Imports {
		switch p := strings.Trim(imp.Path.Value, `"`); p {
		case "sync", "sync/atomic", "net/http", "net/http/httptest", "testing/synctest", "mirrord/internal/inorder":
			why = "imports " + p
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			why = "has a go statement"
		case *ast.SelectorExpr:
			if n.Sel.Name == "Parallel" || n.Sel.Name == "RunParallel" {
				why = "runs tests side by side"
			}
		}
		return true
	})
	return why
}

// TestBulk holds the tests that .ci/run takes out of those under the race detector to the packages in which
// it runs them without: elsewhere they would not run at all.
func TestBulk(t *testing.T) {
	name := regexp.MustCompile(listed(t, "bulk"))
	test := regexp.MustCompile(`(?m)^func (Test\w+)\(t `)
	found := map[string]int{}
	for pkg := range strings.FieldsSeq(listed(t, "bulky")) {
		found[pkg] = 0
	}
	whole := map[string]bool{} // packages that are tested without the race detector, but for what it watches
	for _, list := range []string{"alone", "played", "whole"} {
		for pkg := range strings.FieldsSeq(listed(t, list)) {
			if _, twice := found[pkg]; twice || whole[pkg] {
				t.Errorf("%s is in two lists", pkg)
			}
			whole[pkg] = true
		}
	}
	err := filepath.WalkDir(top, func(file string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		b, err := os.ReadFile(file)
		for _, m := range test.FindAllSubmatch(b, -1) {
			pkg := path.Dir(rel(file))
			switch _, run := found[pkg]; {
			case !name.Match(m[1]) || whole[pkg]:
			case !run:
				t.Errorf("%s: %s is not run", rel(file), m[1])
			default:
				found[pkg]++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, n := range found {
		if n == 0 {
			t.Errorf("no test of %s has such a name", pkg)
		}
	}
}

func TestShares(t *testing.T) {
	for src, want := range map[string]bool{
		"package p\nfunc f() { go g() }":                                  true,
		"package p\nimport \"sync/atomic\"\nvar n atomic.Int64":           true,
		"package p\nfunc TestX(t *testing.T) { t.Parallel() }":            true,
		"package p\nimport \"net/url\"\nfunc f(u *url.URL) { g(u.Path) }": false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := shares(f) != ""; got != want {
			t.Errorf("shares is %v for %q", got, src)
		}
	}
}
