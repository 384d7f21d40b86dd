// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// opens lists what opens or reads a file by its name and waits for the other end of a named pipe.
func opens() map[string][]string {
	return map[string][]string{
		"os":  {"Open", "OpenInRoot", "OpenRoot", "ReadFile", "DirFS"},
		"tls": {"LoadX509KeyPair"},
		"zip": {"OpenReader"},
	}
}

// own lists packages and files that open files so, with the reason.
func own() map[string][]string {
	return map[string][]string{
		"it is what the others use": {"internal/regular"},
		"files of the state: only this program writes": {"store/db/beside.go", "store/db/copies.go",
			"store/disk/replace.go", "store/state.go"},
		"it refuses symbolic links and modes as well": {"scheduler/jobsdir.go"},
	}
}

// TestOpens holds that files of other users are opened with package internal/regular.
func TestOpens(t *testing.T) {
	allowed := map[string]bool{} // and whether it is needed
	for _, names := range own() {
		for _, name := range names {
			allowed[name] = false
		}
	}
	for _, src := range sources(t) {
		if row, _ := rowOf(src.pkg); row == harness {
			continue
		}
		found := openings(src.ast)
		for _, name := range []string{src.pkg, src.name} {
			if _, ok := allowed[name]; ok && len(found) > 0 {
				allowed[name], found = true, nil
			}
		}
		for _, f := range found {
			t.Errorf("%s uses %s: see internal/regular", src.fset.Position(f.Pos()), f.Sel.Name)
		}
	}
	for name, used := range allowed {
		if !used {
			t.Errorf("%s opens nothing: take it off the list", name)
		}
	}
}

// openings returns where a file uses what opens lists.
func openings(f *ast.File) (found []*ast.SelectorExpr) {
	what := opens()
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(what[x.Name], n.Sel.Name) {
				found = append(found, n)
			}
		case *ast.CallExpr: // OpenFile without a flag that writes
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if ok && sel.Sel.Name == "OpenFile" && len(n.Args) == 3 && onlyReads(n.Args[1]) {
				found = append(found, sel)
			}
			if ok && ofTree(sel, n.Args) {
				found = append(found, sel)
			}
		}
		return true
	})
	return found
}

// ofTree reports whether a call opens a published tree, or a file of one, by way of an [os.Root].
func ofTree(method *ast.SelectorExpr, args []ast.Expr) (is bool) {
	if !slices.Contains([]string{"Open", "OpenRoot", "ReadFile"}, method.Sel.Name) {
		return false
	}
	if _, ok := ast.Unparen(method.X).(*ast.CompositeLit); ok { // a regular.Root
		return false
	}
	for _, arg := range args {
		ast.Inspect(arg, func(n ast.Node) bool {
			x, ok := n.(*ast.Ident)
			is = is || (ok && slices.Contains([]string{"treesFolder", "currentLink"}, x.Name))
			return true
		})
	}
	return is
}

// onlyReads reports whether the flags of an OpenFile name O_RDONLY.
func onlyReads(flags ast.Expr) (is bool) {
	ast.Inspect(flags, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "O_RDONLY") {
			is = true
		}
		return true
	})
	return is
}

func TestOpenings(t *testing.T) {
	for line, want := range map[string]int{
		"os.Open(name)":  1,
		"f(os.ReadFile)": 1,
		"root.OpenFile(name, os.O_RDONLY|other, 0)": 1,
		"root.OpenFile(name, os.O_RDWR, 0)":         0,
		"regular.Open(name)":                        0,
		`root.Open(treesFolder + "/" + name)`:       1,
		"root.OpenRoot(currentLink)":                1,
		"(regular.Root{Root: r}).Open(currentLink)": 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n\nfunc g() { "+line+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(openings(f)); got != want {
			t.Errorf("%s: %d, want %d", line, got, want)
		}
	}
}
