// SPDX-License-Identifier: Apache-2.0

package db

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestOneDoor holds that bbolt is opened, and its transactions begun, in database.go alone: a *bolt.DB cannot
// be had elsewhere, so that View and Update of any other file are those of the door. bbolt's own check and
// its batches work on goroutines of their own, where a panic ends the process.
func TestOneDoor(t *testing.T) {
	const door = "store/db/database.go"
	doors := []string{door, "store/db/sealed.go", "store/db/convert.go"}
	top := os.DirFS("../..")
	seen := 0
	err := fs.WalkDir(top, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") ||
			strings.Contains(p, "testdata/") {
			return err
		}
		src, err := fs.ReadFile(top, p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, src, 0)
		if err != nil {
			return err
		}
		name := ""
		for _, i := range f.Imports {
			switch i.Path.Value {
			case `"go.etcd.io/bbolt"`:
				if name = "bbolt"; i.Name != nil {
					name = i.Name.Name
				}
			case `"go.etcd.io/bbolt/errors"`:
				if p != door {
					t.Errorf("%s imports %s", p, i.Path.Value)
				}
			}
		}
		if name == "" {
			return nil
		}
		if seen++; !slices.Contains(doors, p) {
			t.Errorf("%s imports bbolt: only %v may", p, doors)
		}
		if p == door {
			return nil
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if slices.Contains([]string{"DB", "Open", "Compact", "Begin", "Batch", "Check"}, s.Sel.Name) &&
				!isOther(s.X, name) {
				t.Errorf("%s names %s: use View and Update of the database", p, s.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil || seen != len(doors) {
		t.Errorf("%d files import bbolt, %v", seen, err)
	}
}

// isOther reports whether an operand is neither bbolt nor anything that is made of it: a root directory,
// blobs, or another package.
func isOther(x ast.Expr, bolt string) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name != bolt && !strings.Contains(x.Name, "tx") && !strings.Contains(x.Name, "db")
	case *ast.SelectorExpr:
		return x.Sel.Name != "db" && x.Sel.Name != "bolt"
	}
	return false
}
