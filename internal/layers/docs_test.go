// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named is what the documents may name of the code.
type named struct {
	paths   *regexp.Regexp  // paths that begin with a folder of the root, and packages of go commands
	files   []string        // *.go, from the top
	tests   string          // tests and suites of them, a line each
	types   map[string]bool // of the module, by their names alone
	members map[string]bool // fields and methods
}

func namedIn(t *testing.T) named {
	t.Helper()
	ofSites := func(folder string) bool { return folder == "docs" } // in examples
	families := strings.Join(slices.DeleteFunc(rootFolders(tracked(t)), ofSites), "|")
	n := named{
		paths:   regexp.MustCompile(`(?:^|[\s'":({,])(?:\./)?((?:` + families + `)/[\w./*-]+|\./[a-z]\w*\b)`),
		types:   map[string]bool{},
		members: map[string]bool{},
	}
	for _, src := range sources(t) {
		ast.Inspect(src.ast, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.TypeSpec:
				n.types[node.Name.Name] = true
			case *ast.FuncDecl:
				n.members[node.Name.Name] = true
			case *ast.Field:
				for _, name := range node.Names {
					n.members[name.Name] = true
				}
			}
			return true
		})
	}
	function := regexp.MustCompile(`(?m)^func (?:Test|Benchmark|Fuzz)\w+`)
	if err := fs.WalkDir(os.DirFS(top), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(p) != ".go" {
			return err
		}
		n.files = append(n.files, "/"+p)
		text, err := os.ReadFile(path.Join(top, p))
		for _, f := range function.FindAllString(string(text), -1) {
			n.tests += strings.TrimPrefix(f, "func ") + "\n"
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// has reports whether the code between backticks of a document exists, as far as it is a name; else it
// returns the missing name. NAME is any name.
func (n *named) has(code string) (missing string, ok bool) {
	if strings.Contains(code, "NAME") {
		return "", true
	}
	for _, file := range regexp.MustCompile(`[\w/.]+\.go\b`).FindAllString(code, -1) {
		at := func(f string) bool { return strings.HasSuffix(f, "/"+path.Clean(file)) }
		if !slices.ContainsFunc(n.files, at) {
			return file, false
		}
	}
	for _, at := range n.paths.FindAllStringSubmatch(code, -1) {
		if missing := at[1]; !isThere(missing, strings.HasPrefix(code, "go ")) {
			return missing, false
		}
	}
	for _, test := range regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w+`).FindAllString(code, -1) {
		if !strings.Contains(n.tests, test) {
			return test, false
		}
	}
	for _, run := range regexp.MustCompile(`-(?:run|bench) '?([\w^$|]+)`).FindAllStringSubmatch(code, -1) {
		of, err := regexp.Compile("(?m)" + run[1])
		if err != nil || !(strings.EqualFold(run[1], "xxx") || of.MatchString(n.tests)) {
			return run[1], false
		}
	}
	for _, x := range regexp.MustCompile(`^(?:\w+\.)?([A-Z]\w+)\.(\w+)$`).FindAllStringSubmatch(code, -1) {
		if n.types[x[1]] && !n.members[x[2]] {
			return x[0], false
		}
	}
	return "", true
}

// isThere reports whether there is a file or folder of a path, which may end with a name of its package and
// have stars. A folder of the root alone is one only in commands of Go.
func isThere(p string, command bool) bool {
	if (strings.HasPrefix(p, "./") && !command) || p == "archive/data.warc.gz" { // the name within a WACZ
		return true
	}
	p = regexp.MustCompile(`\.[A-Z]\w*(?:\.\w+)?$`).ReplaceAllString(p, "")
	found, err := fs.Glob(os.DirFS(top), strings.TrimRight(strings.TrimPrefix(p, "./"), "./"))
	return err == nil && len(found) > 0
}

// TestDocumentsNameCode holds documents to the code: a test, a file or a method that they name is there.
func TestDocumentsNameCode(t *testing.T) {
	n := namedIn(t)
	for code, want := range map[string]string{
		"internal/layers/docs_test.go": "", "docs_test.go": "", "internal/nothing.go": "internal/nothing.go",
		"TestDocumentsNameCode": "", "TestDocuments…": "", "TestNothingAtAll": "TestNothingAtAll",
		"go test -run 'NameCode' ./internal/layers": "", "go test -run xxx -bench NoCodeNamed": "NoCodeNamed",
		"internal/layers/testdata/nothing": "internal/layers/testdata/nothing", "internal/layers": "",
		"go test ./internal/layers": "", "go test ./nothing": "./nothing", "internal/lay*": "", "x/internal/y": "",
		"internal/layers.Row": "", "internal/nothing.Row": "internal/nothing.Row", "./nothing": "",
		"Committer.Add": "", "ledger.Committer.Add": "", "Committer.nothing": "Committer.nothing",
	} {
		if got, _ := n.has(code); got != want {
			t.Fatalf("%q: %q is missing, want %q", code, got, want)
		}
	}
	span := regexp.MustCompile("`[^`\n]+`|(?m)^go test .*$")
	for _, name := range append(documents(t), "README.md", "CONTRIBUTING.md", "SECURITY.md") {
		text, err := os.ReadFile(path.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range span.FindAllString(string(text), -1) {
			if missing, ok := n.has(strings.Trim(code, "`")); !ok {
				t.Errorf("%s names %s, which is not there", name, missing)
			}
		}
	}
}

// documents are the pages of docs: guide, reference and the notes for engineers.
func documents(t *testing.T) (pages []string) {
	t.Helper()
	for _, pattern := range []string{"docs/*.md", "docs/engineering/*.md"} {
		found, err := fs.Glob(os.DirFS(top), pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		pages = append(pages, found...)
	}
	return pages
}
