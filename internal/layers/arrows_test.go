// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// The measures inside a package. An arrow points from a file to another file of its package whose functions,
// methods, types, variables or constants it names. Files in a circle can only be read, tested and moved
// together.
const (
	mostCircle     = 20 // files of a package in one circle
	mostRoomCircle = 10 // the same for the rooms of app and mirror
	mostGuests     = 3  // types of other files that have methods in a file
)

// largeCircles lists the packages with more files in one circle, and how many. The numbers only go down.
func largeCircles() map[string]int {
	return map[string]int{
		"app/orders":     15,
		"console":        24,
		"mirror/parse":   11,
		"mirror/crawl":   15,
		"mirror/revisit": 14,
		"relocate":       25,
	}
}

// manyGuests lists the files that have methods of more types of other files, and of how many. The numbers
// only go down.
func manyGuests() map[string]int {
	return map[string]int{
		"replay/links.go":   5,
		"phm/space/last.go": 4,
	}
}

// arrows are the names by which one file uses another one of its package.
type arrows map[[2]string][]string

// TestArrows holds that no package becomes a heap in which everything names everything. With -v it prints
// what each package has.
func TestArrows(t *testing.T) {
	by := map[string][]source{}
	for _, src := range sources(t) {
		if ok, err := linux().MatchFile(path.Join(top, src.pkg), path.Base(src.name)); ok && err == nil {
			by[src.pkg] = append(by[src.pkg], src)
		}
	}
	now, total := map[string]int{}, 0
	for _, pkg := range slices.Sorted(maps.Keys(by)) {
		found := arrowsOf(by[pkg])
		total += len(found)
		most := mostCircle
		if isRoomOf(pkg, "app") || isRoomOf(pkg, "mirror") {
			most = mostRoomCircle
		}
		circle := largest(circles(found.files()))
		if testing.Verbose() {
			t.Logf("%s: %d files, %d arrows, %d files in a circle", pkg, len(by[pkg]), len(found), len(circle))
		}
		if len(circle) > most {
			now[pkg] = len(circle)
		}
		if len(circle) > max(most, largeCircles()[pkg]) {
			t.Errorf("%s: %d files in one circle, more than %d. The thinnest arrows in it:\n%s", pkg,
				len(circle), max(most, largeCircles()[pkg]), found.within(circle))
		}
	}
	for _, why := range lower(now, largeCircles()) {
		t.Errorf("largeCircles: %s", why)
	}
	if total < 1000 {
		t.Errorf("only %d arrows were found: the test sees nothing", total)
	}
}

// linux are the files that are built for Linux: of those for other systems each has a double.
func linux() *build.Context {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled = "linux", "amd64", false
	return &c
}

// isRoomOf reports whether a package is below another one.
func isRoomOf(pkg, of string) bool { return strings.HasPrefix(pkg, of+"/") }

// arrowsOf returns the arrows within one package. It is not built, and of what it imports only the names are
// known: of three thousand arrows this misses the four of methods on what generic functions of others return.
func arrowsOf(srcs []source) arrows {
	fset := srcs[0].fset
	var files []*ast.File
	for _, src := range srcs {
		files = append(files, src.ast)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: nothing{}, Error: func(error) {}}
	pkg, _ := conf.Check(srcs[0].pkg, fset, files, info) // it cannot succeed without imports
	out := arrows{}
	for id, obj := range info.Uses {
		if obj.Pkg() != pkg || !isDeclaration(obj, pkg) {
			continue
		}
		arrow := [2]string{rel(fset.Position(id.Pos()).Filename), rel(fset.Position(obj.Pos()).Filename)}
		if arrow[0] != arrow[1] && !slices.Contains(out[arrow], obj.Name()) {
			out[arrow] = append(out[arrow], obj.Name())
		}
	}
	return out
}

// isDeclaration reports whether an object is one of a package, or a method: not a field, not a local name.
func isDeclaration(obj types.Object, pkg *types.Package) bool {
	if f, ok := obj.(*types.Func); ok && f.Signature().Recv() != nil {
		return true
	}
	return obj.Parent() == pkg.Scope()
}

// files returns which files each file names.
func (a arrows) files() map[string][]string {
	out := map[string][]string{}
	for _, arrow := range slices.SortedFunc(maps.Keys(a), func(x, y [2]string) int {
		return slices.Compare(x[:], y[:])
	}) {
		out[arrow[0]] = append(out[arrow[0]], arrow[1])
	}
	return out
}

// within lists the arrows between some files, those of the fewest names first: they are the easiest to cut.
func (a arrows) within(files []string) string {
	var of [][2]string
	for arrow := range a {
		if slices.Contains(files, arrow[0]) && slices.Contains(files, arrow[1]) {
			of = append(of, arrow)
		}
	}
	slices.SortFunc(of, func(x, y [2]string) int {
		return cmp.Or(cmp.Compare(len(a[x]), len(a[y])), slices.Compare(x[:], y[:]))
	})
	var b strings.Builder
	for _, arrow := range of[:min(len(of), 60)] {
		fmt.Fprintf(&b, "\t%s -> %s: %s\n", arrow[0], path.Base(arrow[1]),
			strings.Join(slices.Sorted(slices.Values(a[arrow])), ", "))
	}
	return b.String()
}

// circles returns the groups of a graph in which each reaches each other one, by Tarjan's algorithm (SIAM
// Journal on Computing 1, 1972): groups of two and more.
func circles(graph map[string][]string) (out [][]string) {
	index, low := map[string]int{}, map[string]int{} // low is 0 when the group of a node is complete
	var stack []string
	var visit func(string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack = append(stack, v)
		for _, w := range graph[v] {
			if index[w] == 0 {
				visit(w)
			}
			if low[w] > 0 {
				low[v] = min(low[v], low[w])
			}
		}
		if low[v] < index[v] {
			return
		}
		i := slices.Index(stack, v)
		group := slices.Clone(stack[i:])
		stack = stack[:i]
		for _, w := range group {
			low[w] = 0
		}
		if len(group) > 1 {
			slices.Sort(group)
			out = append(out, group)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(graph)) {
		if index[v] == 0 {
			visit(v)
		}
	}
	return out
}

// largest returns the largest group.
func largest(groups [][]string) (most []string) {
	for _, g := range groups {
		if len(g) > len(most) {
			most = g
		}
	}
	return most
}

// lower reports which entries of a list are above today's numbers, or no longer needed.
func lower(now, listed map[string]int) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		switch n := now[name]; {
		case n == 0:
			out = append(out, fmt.Sprintf("%s keeps to the measure: take it off the list", name))
		case n < listed[name]:
			out = append(out, fmt.Sprintf("%s has come down from %d to %d: lower the number", name, listed[name], n))
		}
	}
	return out
}

// TestGuests holds that methods are near their type: a file that has methods of many types of other files is
// not about any of them.
func TestGuests(t *testing.T) {
	now, methods := map[string]int{}, 0
	for file, of := range guests(sources(t)) {
		methods += len(of)
		if len(of) > mostGuests {
			now[file] = len(of)
		}
		if len(of) > max(mostGuests, manyGuests()[file]) {
			t.Errorf("%s has methods of %d types of other files: %s", file, len(of), strings.Join(of, ", "))
		}
	}
	for _, why := range lower(now, manyGuests()) {
		t.Errorf("manyGuests: %s", why)
	}
	if methods < 100 {
		t.Errorf("only %d types with methods in other files were found: the test sees nothing", methods)
	}
}

// guests returns of which types of other files a file has methods.
func guests(srcs []source) map[string][]string {
	home := map[string]string{}
	for _, src := range srcs {
		ast.Inspect(src.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				home[src.pkg+"."+s.Name.Name] = src.name
			}
			return true
		})
	}
	out := map[string][]string{}
	for _, src := range srcs {
		for _, d := range src.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			if name := receiver(f); home[src.pkg+"."+name] != src.name && !slices.Contains(out[src.name], name) {
				out[src.name] = append(out[src.name], name)
			}
		}
	}
	return out
}

// The measures of arrows bite.
func TestArrowsAreFound(t *testing.T) {
	fset := token.NewFileSet()
	var srcs []source
	for _, file := range [][2]string{
		{"a.go", "type t struct{ x u }\n\nfunc f(v t) { v.m(); v.x.n() }"},
		{"b.go", "import \"io\"\n\ntype u struct{ io.Reader; f int }\n\nfunc (t) m() { var f u; f.n() }\n\n" +
			"func (u) n() { c() }"},
		{"c.go", "func c() {}\n\nfunc d(t int) int { return t }"},
	} {
		f, err := parser.ParseFile(fset, top+"/p/"+file[0], "package p\n\n"+file[1], parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		srcs = append(srcs, source{
			pkg:  "p",
			name: "p/" + file[0],
			fset: fset,
			ast:  f,
		})
	}
	found := arrowsOf(srcs)
	if got := fmt.Sprint(found.files()); got != "map[p/a.go:[p/b.go] p/b.go:[p/a.go p/c.go]]" {
		t.Error(got)
	}
	circle := largest(circles(found.files()))
	if got := found.within(circle); got != "\tp/b.go -> a.go: t\n\tp/a.go -> b.go: m, n, u\n" {
		t.Error(circle, got)
	}
	if got := fmt.Sprint(guests(srcs)); got != "map[p/b.go:[t]]" {
		t.Error(got)
	}
	graph := map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"f"}}
	if got := fmt.Sprint(circles(graph)); got != "[[d e] [a b c]]" {
		t.Error(got)
	}
	if got := lower(map[string]int{"a": 5, "b": 4}, map[string]int{"a": 5, "b": 5, "c": 5}); len(got) != 2 {
		t.Error(got)
	}
}
