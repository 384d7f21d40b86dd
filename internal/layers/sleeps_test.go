// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// bareSleeps lists the sleeps of a test that have no reason: one outside of synctest waits for a machine that
// may be busy, or wastes time. A reason is a comment on the line or above it. A loop that polls, a function
// given to synctest.Test or to an inBubble that calls it, and hours, which only bubbles have, need none.
func bareSleeps(fset *token.FileSet, f *ast.File) (found []string) {
	said := map[int]bool{}
	for _, group := range f.Comments {
		for _, c := range group.List {
			line := fset.Position(c.Pos()).Line
			said[line], said[line+1] = true, true
		}
	}
	polls := map[ast.Expr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			if x, ok := n.Post.(*ast.ExprStmt); ok {
				polls[x.X] = true
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); isOf(n.Fun, "synctest", "Test") || ok && id.Name == "inBubble" {
				return false
			}
			at := fset.Position(n.Pos())
			if isOf(n.Fun, "time", "Sleep") && !polls[n] && !said[at.Line] && !hours(n.Args[0]) {
				found = append(found, fmt.Sprintf("%s: a sleep without a reason", at))
			}
		}
		return true
	})
	return found
}

// isOf reports whether an expression is a name of a package.
func isOf(x ast.Expr, of, name string) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == of
}

// hours reports whether a time is one of hours.
func hours(x ast.Expr) (is bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			is = is || isOf(e, "time", "Hour")
		}
		return !is
	})
	return is
}

// isOfTests reports whether a file is of tests.
func isOfTests(name string) bool {
	return strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "testing/")
}

func TestBareSleeps(t *testing.T) {
	for src, want := range map[string]int{
		"time.Sleep(time.Second)":                             1,
		"time.Sleep(time.Second) // why":                      0,
		"// why\ntime.Sleep(time.Second)":                     0,
		"for ; ; time.Sleep(1) {}":                            0,
		"for { time.Sleep(1) }":                               1,
		"time.Sleep(3 * 24 * time.Hour)":                      0,
		"synctest.Test(t, func() { time.Sleep(1) })":          0,
		"run := func() { time.Sleep(1) }; synctest.Test(run)": 1,
		"sleep(1)": 0,
		"time.Sleep(time.Second)\n// why\n\ntime.Sleep(n + 1)": 2,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "p.go", "package p\nfunc f() {\n"+src+"\n}", parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if found := bareSleeps(fset, f); len(found) != want {
			t.Errorf("%q: %q, want %d", src, found, want)
		}
	}
}
