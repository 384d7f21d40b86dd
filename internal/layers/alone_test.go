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

// TestAlone holds the packages that .ci/run tests without the race detector to what makes it needless: they
// are pure, and neither they nor their tests start a goroutine or name a package that does.
func TestAlone(t *testing.T) {
	script, err := os.ReadFile(path.Join(top, ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^alone='([^']+)'$`).FindSubmatch(script)
	if list == nil {
		t.Fatal("the list of packages is not found in .ci/run")
	}
	for pkg := range strings.FieldsSeq(string(list[1])) {
		if row, ok := rowOf(pkg); !ok || !isPure(pkg, row) {
			t.Errorf("%s is not of a pure row", pkg)
		}
		files, err := filepath.Glob(path.Join(top, pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files (%v)", pkg, err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if why := shares(f); why != "" {
				t.Errorf("%s %s: the race detector is needed", rel(name), why)
			}
		}
	}
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
	script, err := os.ReadFile(path.Join(top, ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	said := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `='([^']+)'$`).FindSubmatch(script)
		if m == nil {
			t.Fatalf("%s is not found in .ci/run", name)
		}
		return string(m[1])
	}
	name, test := regexp.MustCompile(said("bulk")), regexp.MustCompile(`(?m)^func (Test\w+)\(t `)
	found := map[string]int{}
	for pkg := range strings.FieldsSeq(said("bulky")) {
		found[pkg] = 0
	}
	err = filepath.WalkDir(top, func(file string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		b, err := os.ReadFile(file)
		for _, m := range test.FindAllSubmatch(b, -1) {
			pkg := path.Dir(rel(file))
			switch _, run := found[pkg]; {
			case !name.Match(m[1]):
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
