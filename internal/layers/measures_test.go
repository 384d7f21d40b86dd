// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// The measures that keep parts small. Exceptions are in a list with their reasons; an entry that is no
// longer needed fails the test, so that the lists only shrink.
const (
	mostMethods     = 30 // of a type
	mostMethodFiles = 8  // in which the methods of a type stand
	mostFields      = 25 // of a struct that does something

	mostConducting = 400 // lines of package mirror that are no test
)

// records lists structs of more than mostFields that only carry data, with what they are.
func records() map[string]string {
	return map[string]string{
		"fetch.Options":         "the settings of a client",
		"job.Job":               "what a job file says, by key",
		"mirror/result.Summary": "the report of a run, by JSON name",
		"phm.Meta":              "phm.json, by JSON name",
		"scheduler/status.Job":  "a job on a status page, by JSON name",
		"scheduler/status.Run":  "how a run ended, by JSON name",
		"serve.words":           "the texts of pages, by key of a catalogue",
		"store/record.Resource": "the record of a URL, by field of its format",
	}
}

// mostLarge is how many types beside those of package store may have more methods than mostMethods.
const mostLarge = 12

// largeTypes lists the types with more than mostMethods, with how many they have and the reason why these
// belong together. They may not grow.
func largeTypes() map[string]large {
	return map[string]large{
		"cluster/engine.table":       {38, "one lock keeps session, hosts, leases and partition consistent"},
		"mirror/finish.Closing":      {40, "the steps after the retrieval share the ledger and the next version"},
		"mirror/frontier.HostErrors": {40, "one lock keeps counts, witnesses and postponed hosts consistent"},
		"mirror/process.Processor":   {40, "each way in which an answer is taken may end in each other one"},
		"mirror/process.reading":     {40, "each way in which a body is read may end in each other one"},
		"store/db.DB":                {39, "one writer keeps pages, free list and transactions consistent"},
		"store/trees.SiteTrees":      {40, "the published trees of a site, written and verified in one order"},
	}
}

// large is why a type has so many methods.
type large struct {
	methods int
	why     string
}

// size is how large a type is.
type size struct{ methods, files, fields int }

// over is the part of a size that is over a measure.
func (s size) over() size {
	if s.methods <= mostMethods {
		s.methods = 0
	}
	if s.files <= mostMethodFiles {
		s.files = 0
	}
	if s.fields <= mostFields {
		s.fields = 0
	}
	return s
}

// sizes measures all types but registries: an empty struct holds nothing, and each of its methods is a part
// in a file of its own (package parts).
func sizes(srcs []source) map[string]size {
	out, files := map[string]size{}, map[string]map[string]bool{}
	registries := map[string]bool{}
	for _, src := range srcs {
		for _, d := range src.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := receiver(d)
				if name == "" {
					continue
				}
				name = src.pkg + "." + name
				s := out[name]
				s.methods++
				if files[name] == nil {
					files[name] = map[string]bool{}
				}
				files[name][src.name] = true
				s.files = len(files[name])
				out[name] = s
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					t, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if st, ok := t.Type.(*ast.StructType); ok {
						name := src.pkg + "." + t.Name.Name
						s := out[name]
						s.fields = st.Fields.NumFields()
						out[name] = s
						registries[name] = s.fields == 0
					}
				}
			}
		}
	}
	maps.DeleteFunc(out, func(name string, _ size) bool { return registries[name] })
	return out
}

// The conductor only drives the phases of a run: all else is in a room below it.
func TestConductor(t *testing.T) {
	lines := 0
	for _, src := range sources(t) {
		if src.pkg == "mirror" {
			lines += src.fset.File(src.ast.Pos()).LineCount()
		}
	}
	if lines > mostConducting {
		t.Errorf("package mirror has %d lines, more than %d: a part of it is a room", lines, mostConducting)
	}
	if lines == 0 {
		t.Error("package mirror was not found")
	}
}

// receiver returns the name of the type that a method belongs to, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	x := f.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.IndexListExpr:
			x = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// No type has more methods, in more files, or more fields than a reader can hold in mind.
func TestSizes(t *testing.T) {
	data, large := records(), largeTypes()
	beside := 0
	for name, l := range large {
		if !strings.HasPrefix(name, "store.") {
			beside++
		}
		if l.why == "" {
			t.Errorf("%s: why do its methods belong together?", name)
		}
	}
	if beside > mostLarge {
		t.Errorf("%d types are large, more than %d: look for the two things that one of them is", beside, mostLarge)
	}
	all := sizes(sources(t))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name].over()
		if data[name] != "" {
			if s.fields == 0 {
				t.Errorf("%s is no longer large: take it out of records", name)
			}
			s.fields = 0
		}
		switch was, listed := large[name]; {
		case listed && s.methods == 0:
			t.Errorf("%s keeps to the measure now: take it out of largeTypes", name)
		case listed && s.methods > was.methods:
			t.Errorf("%s has grown from %d methods to %d: a part of it can leave", name, was.methods, s.methods)
		case !listed && s.methods > 0:
			t.Errorf("%s has %d methods, more than %d", name, s.methods, mostMethods)
		}
		switch {
		case s.files > 0:
			t.Errorf("%s has methods in %d files, more than %d", name, s.files, mostMethodFiles)
		case s.fields > 0:
			t.Errorf("%s has %d fields, more than %d: does it only carry data? See records", name, s.fields,
				mostFields)
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(data)), slices.Sorted(maps.Keys(large))) {
		if _, ok := all[name]; !ok {
			t.Errorf("%s is listed and is no longer a type", name)
		}
	}
}

// A lock is named in the file of its type only.
func TestLocks(t *testing.T) {
	by := map[string][]source{}
	for _, src := range sources(t) {
		by[src.pkg] = append(by[src.pkg], src)
	}
	for _, srcs := range by {
		for lock, files := range namedElsewhere(srcs) {
			t.Errorf("%v name the lock %s, which is private to the file of its type", files, lock)
		}
	}
}

// namedElsewhere returns the locks of one package that other files than those of their types name, and these
// files. What a package imports is not looked at: the types of a package suffice to know whose field a name
// means.
func namedElsewhere(srcs []source) map[string][]string {
	fset, home := srcs[0].fset, map[token.Pos]string{}
	var files []*ast.File
	for _, src := range srcs {
		files = append(files, src.ast)
		ast.Inspect(src.ast, func(n ast.Node) bool {
			t, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			st, ok := t.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range st.Fields.List {
				for _, name := range f.Names {
					if isLock(f.Type) {
						home[name.Pos()] = src.pkg + "." + t.Name.Name + "." + name.Name
					}
				}
			}
			return true
		})
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: nothing{}, Error: func(error) {}}
	conf.Check(srcs[0].pkg, fset, files, info) // it cannot succeed without imports
	out := map[string][]string{}
	for id, obj := range info.Uses {
		lock := home[obj.Pos()]
		if lock == "" {
			continue
		}
		at, of := fset.Position(id.Pos()).Filename, fset.Position(obj.Pos()).Filename
		if at != of && !slices.Contains(out[lock], rel(at)) {
			out[lock] = append(out[lock], rel(at))
		}
	}
	return out
}

// rel is the name of a file below the module.
func rel(name string) string { return strings.TrimPrefix(name, top+"/") }

// isLock reports whether a type is a mutex of package sync.
func isLock(x ast.Expr) bool {
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	sel, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "sync" && (sel.Sel.Name == "Mutex" || sel.Sel.Name == "RWMutex")
}

// nothing imports packages that have nothing in them.
type nothing struct{}

func (nothing) Import(p string) (*types.Package, error) {
	pkg := types.NewPackage(p, path.Base(p))
	pkg.MarkComplete()
	return pkg, nil
}

// Where && meets || there are parentheses.
func TestConditions(t *testing.T) {
	for _, src := range sources(t) {
		for _, pos := range mixed(src.ast) {
			t.Errorf("%v: parentheses where && meets ||", src.fset.Position(pos))
		}
	}
}

// mixed returns the places in which && stands beside || without parentheses.
func mixed(f *ast.File) (out []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok || b.Op != token.LOR {
			return true
		}
		for _, x := range []ast.Expr{b.X, b.Y} {
			if and, ok := x.(*ast.BinaryExpr); ok && and.Op == token.LAND {
				out = append(out, and.Pos())
			}
		}
		return true
	})
	return out
}

// The measures bite: each of these would be found.
func TestMeasures(t *testing.T) {
	text := func(name, body string) source {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, top+"/p/"+name, "package p\n"+body, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return source{
			pkg:  "p",
			name: "p/" + name,
			fset: fset,
			ast:  f,
		}
	}
	if n := len(
		mixed(
			text("a.go",
				"func f(a, b, c bool) bool { return a && b || c && (a || b && c) || (a && b) }").ast)); n != 3 {
		t.Errorf("%d mixed conditions, want 3", n)
	}
	wide := text("a.go",
		"type t struct { a, b int; c string }\ntype g[T any] struct { x T }\ntype r struct{}\nfunc (r) Part() "+
			"{}\nfunc (t) f() {}\nfunc (*t) g() {}\nfunc (*g[T]) h() {}")
	more := text("b.go", "func (*t) i() {}")
	if got := fmt.Sprint(sizes([]source{wide, more})); got != "map[p.g:{1 1 1} p.t:{3 2 3}]" {
		t.Error(got)
	}
	fset := token.NewFileSet()
	var srcs []source
	for name, body := range map[string]string{
		"own.go": "import \"sync\"\ntype t struct { mu sync.Mutex }\nfunc (x *t) f() { x.mu.Lock() }\ntype u " +
			"struct { in *t; mu sync.RWMutex }",
		"other.go": "func f(x *u) { x.in.mu.Lock() }",
		"again.go": "import \"sync\"\ntype v struct { mu sync.Mutex }\nfunc (x *v) f() { x.mu.Lock() }",
	} {
		f, err := parser.ParseFile(fset, top+"/p/"+name, "package p\n"+body, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		srcs = append(srcs, source{
			pkg:  "p",
			name: "p/" + name,
			fset: fset,
			ast:  f,
		})
	}
	if got := fmt.Sprint(namedElsewhere(srcs)); got != "map[p.t.mu:[p/other.go]]" {
		t.Error(got)
	}
}
