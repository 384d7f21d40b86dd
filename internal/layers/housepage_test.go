// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// leastPlaces is how many questions the first page of docs/design.md answers at least.
const leastPlaces = 12

// TestHousePage holds the first page of docs/design.md to the code: the floor of each package, what each room
// of app imports of app, and where each thing is done.
func TestHousePage(t *testing.T) {
	text, err := os.ReadFile(top + "/docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## The house\n")
	page, _, _ := strings.Cut(rest, "\n## ")
	tables := tablesOf(page)
	if len(tables) != 3 {
		t.Fatalf("%d tables, want floors, rooms and places", len(tables))
	}
	srcs := sources(t)
	found := wrongFloors(slices.Concat(tables[0], tables[1]), rows())
	found = append(found, wrongRooms(tables[1], roomsOfApp(srcs))...)
	found = append(found, wrongPlaces(tables[2], declared(srcs))...)
	for _, why := range found {
		t.Error(why)
	}
	if len(tables[2]) < leastPlaces {
		t.Errorf("%d places, want at least %d", len(tables[2]), leastPlaces)
	}
}

// tablesOf returns the tables of a text, a row of cells each, without their heads.
func tablesOf(text string) (out [][][]string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case !strings.HasPrefix(line, "| "):
		case i > 0 && strings.HasPrefix(lines[i-1], "| "):
			if strings.HasPrefix(line, "| --- ") {
				continue
			}
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for j := range cells {
				cells[j] = strings.TrimSpace(cells[j])
			}
			out[len(out)-1] = append(out[len(out)-1], cells)
		default:
			out = append(out, nil)
		}
	}
	return out
}

// codes returns the texts between backticks.
func codes(cell string) (out []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			out = append(out, part)
		}
	}
	return out
}

// wrongFloors compares the rows of tables with the table of layers. Parts of internal may be left out.
func wrongFloors(lines [][]string, table map[string]Row) (out []string) {
	seen := map[string]bool{}
	for _, cells := range lines {
		floor, err := strconv.Atoi(cells[0])
		for _, pkg := range codes(cells[1]) {
			if row, ok := table[pkg]; err != nil || !ok || Row(floor) != row || seen[pkg] {
				out = append(out, fmt.Sprintf("%s is on floor %d, and is listed once; the page has %s", pkg, row,
					cells[0]))
			}
			seen[pkg] = true
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(table)) {
		if !seen[pkg] && table[pkg] >= 0 && family(pkg) != "internal" {
			out = append(out, pkg+" is not listed")
		}
	}
	return out
}

// wrongRooms compares what the rooms of app import of app with the third column.
func wrongRooms(lines [][]string, imports map[string][]string) (out []string) {
	for _, cells := range lines {
		for _, room := range codes(cells[1]) {
			if want := strings.Join(imports[room], " "); cells[2] != want {
				out = append(out, fmt.Sprintf("%s imports of app: %s; the page has: %s", room, want, cells[2]))
			}
		}
	}
	return out
}

// wrongPlaces checks that what a row names is declared in the file that it names.
func wrongPlaces(lines [][]string, declared map[string][]string) (out []string) {
	for _, cells := range lines {
		files, names := codes(cells[1]), codes(cells[2])
		if len(files) != 1 || len(names) != 1 {
			out = append(out, fmt.Sprintf("%s: one file and one name, please", cells[0]))
			continue
		}
		if !slices.Contains(declared[files[0]], names[0]) {
			out = append(out, fmt.Sprintf("%s: %s does not declare %s", cells[0], files[0], names[0]))
		}
	}
	return out
}

// declared returns the functions, methods (Type.Method) and types of each file.
func declared(srcs []source) map[string][]string {
	out := map[string][]string{}
	for _, src := range srcs {
		for _, d := range src.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if of := receiver(d); of != "" {
					name = of + "." + name
				}
				out[src.name] = append(out[src.name], name)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						out[src.name] = append(out[src.name], s.Name.Name)
					}
				}
			}
		}
	}
	return out
}

// A page that is wrong is found.
func TestWrongPage(t *testing.T) {
	tables := tablesOf("text\n\n| floor | room | imports |\n| --- | --- | --- |\n| 2 | `a`, `a/b` | x y |\n" +
		"| 1 | `c` | |\n\n" +
		"| where | file | name |\n| --- | --- | --- |\n| f | `c/d.go` | `T.f` |\n| g | `c/d.go` | `g` |\n")
	if len(tables) != 2 || len(tables[0]) != 2 || len(tables[1]) != 2 {
		t.Fatal(tables)
	}
	for i, got := range [][]string{
		wrongFloors(tables[0], map[string]Row{"a": 2, "a/b": 2, "c": 2, "d": 0, "internal/e": 0, "f": helper}),
		wrongRooms(tables[0], map[string][]string{"a": {"x", "y"}, "a/b": {"x"}, "c": nil}),
		wrongPlaces(tables[1], map[string][]string{"c/d.go": {"T.f", "h"}}),
	} {
		want := [][]string{
			{"c is on floor 2, and is listed once; the page has 1", "d is not listed"},
			{"a/b imports of app: x; the page has: x y"},
			{"g: c/d.go does not declare g"},
		}[i]
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
