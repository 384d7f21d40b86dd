// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxLine is how many characters a line of code or of a comment has at most; a tab counts as one.
const maxLine = 110

// maxLines is how many lines a file has at most, tests too.
const maxLines = 500

// notReadable lists the packages, with all below them, that do not keep to TestReadable yet. It only gets
// shorter.
func notReadable() []string {
	return nil
}

// TestReadable holds that code can be read as it stands: no file of more than maxLines lines, no line of more
// than maxLine characters but where a raw string is, keyed struct literals of more than three fields one
// field a line (rows of tables may be one line), no name that hides one of the language, and no sleep of a
// test without a reason.
func TestReadable(t *testing.T) {
	top := os.DirFS("../..")
	left := map[string]bool{}
	err := fs.WalkDir(top, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" ||
			(strings.HasPrefix(d.Name(), ".") && p != ".")) {
			return fs.SkipDir
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(top, p)
		if err != nil {
			return err
		}
		found, err := unreadable(p, src)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(notReadable(), func(pkg string) bool { return strings.HasPrefix(p, pkg+"/") })
		if i >= 0 {
			left[notReadable()[i]] = left[notReadable()[i]] || len(found) > 0
			return nil
		}
		for _, f := range found {
			t.Error(f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range notReadable() {
		if !left[pkg] {
			t.Errorf("%s is readable: take it off the list", pkg)
		}
	}
}

// unreadable lists the violations of a file.
func unreadable(name string, src []byte) (found []string, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	c := readability{fset: fset, raw: map[int]bool{}, rows: map[*ast.CompositeLit]bool{}}
	ast.Inspect(f, c.node)
	if isOfTests(name) {
		c.found = append(c.found, bareSleeps(fset, f)...)
	}
	lines := strings.Split(strings.TrimSuffix(string(src), "\n"), "\n")
	if len(lines) > maxLines {
		c.found = append(c.found, fmt.Sprintf("%s: %d lines, more than %d", name, len(lines), maxLines))
	}
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > maxLine && !c.raw[i+1] {
			c.found = append(c.found, fmt.Sprintf("%s:%d: %d characters", name, i+1, n))
		}
	}
	return c.found, nil
}

func TestUnreadable(t *testing.T) {
	for src, want := range map[string]int{
		"package p\n" + strings.Repeat("\n", maxLines-1):    0,
		"package p\n" + strings.Repeat("\n", maxLines):      1,
		"package p\n\n// " + strings.Repeat("x", maxLine):   1,
		"package p\n\nfunc f(len int) int { return len }\n": 1,
	} {
		if found, err := unreadable("p.go", []byte(src)); err != nil || len(found) != want {
			t.Errorf("%.20q, %d bytes: %q, %v, want %d findings", src, len(src), found, err, want)
		}
	}
}

// readability checks the syntax tree of a file.
type readability struct {
	fset  *token.FileSet
	raw   map[int]bool               // lines on which a raw string is
	rows  map[*ast.CompositeLit]bool // literals without a type, within another one
	found []string
}

func (c *readability) add(at token.Pos, format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf("%s: %s", c.fset.Position(at), fmt.Sprintf(format, args...)))
}

func (c *readability) line(p token.Pos) int { return c.fset.Position(p).Line }

func (c *readability) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING && n.Value[0] == '`' {
			for l := c.line(n.Pos()); l <= c.line(n.End()); l++ {
				c.raw[l] = true
			}
		}
	case *ast.CompositeLit:
		c.literal(n)
	case *ast.FuncDecl:
		if n.Recv == nil {
			c.named(n.Name)
		}
	case *ast.FuncType:
		c.fields(n.Params)
		c.fields(n.Results)
	case *ast.AssignStmt:
		for _, x := range n.Lhs {
			if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
				c.named(id)
			}
		}
	case *ast.RangeStmt:
		for _, x := range []ast.Expr{n.Key, n.Value} {
			if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
				c.named(id)
			}
		}
	case *ast.ValueSpec:
		for _, id := range n.Names {
			c.named(id)
		}
	case *ast.TypeSpec:
		c.named(n.Name)
	}
	return true
}

func (c *readability) fields(l *ast.FieldList) {
	if l == nil {
		return
	}
	for _, f := range l.List {
		for _, id := range f.Names {
			c.named(id)
		}
	}
}

// named checks a name that is declared.
func (c *readability) named(id *ast.Ident) {
	if types.Universe.Lookup(id.Name) != nil {
		c.add(id.Pos(), "%s hides a name of the language", id.Name)
	}
}

// literal checks a struct literal with keys.
func (c *readability) literal(l *ast.CompositeLit) {
	keyed, together := true, false
	for i, e := range l.Elts {
		value := e
		kv, ok := e.(*ast.KeyValueExpr)
		if ok {
			value = kv.Value
			_, ok = kv.Key.(*ast.Ident)
		}
		keyed = keyed && ok
		if row, ok := value.(*ast.CompositeLit); ok && row.Type == nil {
			c.rows[row] = true
		}
		together = together || (i > 0 && c.line(l.Elts[i-1].End()) == c.line(e.Pos()))
	}
	switch l.Type.(type) {
	case *ast.MapType, *ast.ArrayType:
		return
	}
	row := c.rows[l] && c.line(l.Lbrace) == c.line(l.Rbrace)
	if keyed && together && len(l.Elts) > 3 && !row {
		c.add(l.Pos(), "a struct literal of %d fields, several on a line", len(l.Elts))
	}
}
