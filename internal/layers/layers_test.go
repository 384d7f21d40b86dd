// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "mirrord"
	top    = "../.."
)

// source is one Go file that is no test.
type source struct {
	pkg, name string
	fset      *token.FileSet
	ast       *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	out, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// parsed reads the sources once for all tests, which do not change them.
var parsed = sync.OnceValues(parse)

func parse() (out []source, err error) {
	fset := token.NewFileSet()
	err = fs.WalkDir(os.DirFS(top), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "vendor" ||
			(d.Name() != "." && strings.HasPrefix(d.Name(), "."))) {
			return fs.SkipDir
		}
		if d.IsDir() && p != "." {
			if _, err := os.Stat(path.Join(top, p, "go.mod")); err == nil {
				return fs.SkipDir // another module: tools
			}
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, path.Join(top, p), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, source{
			pkg:  path.Dir(p),
			name: p,
			fset: fset,
			ast:  f,
		})
		return nil
	})
	return out, err
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, src := range sources(t) {
		row, ok := rowOf(src.pkg)
		if !ok {
			if !seen[src.pkg] {
				t.Errorf("package %s is in no row: give it one in rows_test.go", src.pkg)
			}
			seen[src.pkg] = true
			continue
		}
		for _, spec := range src.ast.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := refuse(src.pkg, row, imp); why != "" {
				t.Errorf("%s imports %s: %s", src.name, imp, why)
			}
		}
	}
}

// refuse says why a package of a row may not import another; "" when it may.
func refuse(pkg string, row Row, imp string) string {
	if rest, ours := strings.CutPrefix(imp, module+"/"); ours {
		other, ok := rowOf(rest)
		switch {
		case !ok:
			return "it is in no row"
		case other == harness && row != harness: // one that is made for tests may use another
			return "only tests use it"
		case row == harness:
			return ""
		case row == helper, row == ground:
			return "it imports nothing of the module"
		case other == ground && isPure(pkg, row):
			return "pure rows open no files"
		case other == helper && row < rows()["app/env"]:
			return "only the command and tests use helpers"
		case isRoom(rest) && !entersRoom(pkg, rest):
			return "only " + path.Dir(rest) + " uses its rooms"
		case other >= row:
			return "an import goes to a lower row: " + pkg + " is in row " + strconv.Itoa(int(row)) + ", " + rest +
				" in " + strconv.Itoa(int(other))
		}
		return ""
	}
	if !isPure(pkg, row) {
		return ""
	}
	if allowed()[pkg][imp] != "" {
		return ""
	}
	if strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
		for _, f := range foreign() {
			if imp == f || strings.HasPrefix(imp, f+"/") {
				return ""
			}
		}
		return "it is not among the packages of others that pure rows may use"
	}
	if slices.Contains(pureStandard(), imp) {
		return ""
	}
	for p := imp; p != "."; p = path.Dir(p) {
		if why, ok := impure()[p]; ok {
			return "rows 0 to 3 and replay are pure, and this is " + why
		}
	}
	return ""
}

// isRoom reports whether a package is a room of mirror.
func isRoom(pkg string) bool { return path.Dir(pkg) == "mirror" }

// entersRoom reports whether a package may import a room at all, regardless of the rows.
func entersRoom(pkg, room string) bool {
	return pkg == path.Dir(room) || isRoom(pkg) || (slices.Contains([]string{"app", "cmd"}, family(pkg)) &&
		slices.Contains(openRooms(), room))
}

// Pure rows start no goroutine and ask no clock.
func TestPureRows(t *testing.T) {
	calls := impureCalls()
	for _, src := range sources(t) {
		if row, ok := rowOf(src.pkg); !ok || !isPure(src.pkg, row) {
			continue
		}
		ast.Inspect(src.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", src.name)
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if ok && slices.Contains(calls[x.Name], n.Sel.Name) && allowed()[src.pkg][x.Name+"."+n.Sel.Name] == "" {
					t.Errorf("%s calls %s.%s", src.name, x.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// Flags, streams and exit codes are the command's: what lies below it can be called by a server too.
func TestNoCommandLineBelow(t *testing.T) {
	command, _ := rowOf("cmd/mirrord/cli")
	flags := []string{"flag", "github.com/spf13/cobra", "github.com/spf13/pflag"}
	streams := []string{"Stdin", "Stdout", "Stderr", "Exit", "Args"}
	for _, src := range sources(t) {
		if row, ok := rowOf(src.pkg); !ok || row < 0 || row >= command {
			continue
		}
		for _, spec := range src.ast.Imports {
			if imp, err := strconv.Unquote(spec.Path.Value); err != nil || slices.Contains(flags, imp) {
				t.Errorf("%s imports %s: flags are the command's", src.name, spec.Path.Value)
			}
		}
		ast.Inspect(src.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(streams, sel.Sel.Name) {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" {
					t.Errorf("%s uses os.%s", src.name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

// Texts of app name no flag: an error carries its field, and the command names the flag.
func TestAppNamesNoFlag(t *testing.T) {
	texts := 0
	for _, src := range sources(t) {
		if family(src.pkg) != "app" {
			continue
		}
		ast.Inspect(src.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				texts++
				if namesFlag(s.Value) {
					t.Errorf("%s: %s names a flag", src.name, s.Value)
				}
			}
			return true
		})
	}
	if texts < 1000 {
		t.Errorf("only %d texts of app were read: the test sees nothing", texts)
	}
	if !namesFlag("say --yes") || namesFlag("a - b -- c") {
		t.Error("flags are not told from other texts")
	}
}

// namesFlag reports whether a text names a flag of the command.
func namesFlag(text string) bool { return regexp.MustCompile(`--[a-z]`).MatchString(text) }

// Nothing happens before main: no package has an init function.
func TestNoInit(t *testing.T) {
	for _, src := range sources(t) {
		for _, d := range src.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s has an init function", src.name)
			}
		}
	}
}

// The rules bite: each of these would be found.
func TestRefuse(t *testing.T) {
	for _, tc := range []struct {
		pkg, imp string
		want     bool
	}{
		{"store", "mirrord/site", true}, {"site", "mirrord/store", false}, {"fetch", "mirrord/store", false},
		{"mirror", "mirrord/fetch", true}, {"serve", "mirrord/mirror", false},
		{"phm", "os", false}, {"phm", "io/fs", true}, {"job", "net/url", true}, {"job", "net/http", false},
		{"job", "net/http/httptest", false}, {"relocate", "log/slog", false},
		{"site", "golang.org/x/net/publicsuffix", true}, {"site", "golang.org/x/net/http2", false},
		{"store", "os", true}, {"cmd/mirrord", "mirrord/internal/demosite", true},
		{"testing/mirrortest", "mirrord/mirror", true}, {"cmd/mirrord", "mirrord/testing/mirrortest", false},
		{"mirror", "mirrord/internal/demosite", false}, {"internal/demosite", "mirrord/site", false},
		{"mirror", "mirrord/nosuch", false}, {"testing/lab", "mirrord/near", true},
		{"near", "mirrord/testing/lab", false}, {"testing/zoo", "mirrord/testing/mirrortest", true},
		{"store", "mirrord/internal/regular", true}, {"archive", "mirrord/internal/regular", false},
		{"internal/regular", "mirrord/site", false},
		{"mirror", "mirrord/mirror/urls", true}, {"cmd/mirrord", "mirrord/mirror/urls", false},
		{"scheduler", "mirrord/mirror/urls", false}, {"mirror/urls", "mirrord/mirror", false},
		{"mirror/urls", "mirrord/store", true}, {"store", "mirrord/mirror/urls", false},
		{"app/look", "mirrord/mirror/render", true}, {"app/look", "mirrord/mirror/urls", false},
		{"app/runs", "mirrord/app/archives", false}, {"console", "mirrord/mirror/render", false},
		{"serve", "mirrord/mirror/render", false},
		{"mirror/urls", "mirrord/mirror/render", false}, {"mirror/render", "mirrord/mirror/urls", true},
	} {
		row, _ := rowOf(tc.pkg)
		if why := refuse(tc.pkg, row, tc.imp); (why == "") != tc.want {
			t.Errorf("%s imports %s: %q, want allowed %v", tc.pkg, tc.imp, why, tc.want)
		}
	}
}
