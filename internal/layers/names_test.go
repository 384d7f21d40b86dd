// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// sharedNames lists the exported type names that stand in several packages, with the reason. Any other name
// is unique in the module, so that a search for it finds one thing.
func sharedNames() map[string]string {
	const (
		idiom  = "read with its package: the usual Go name for this role"
		door   = "an interface that its user declares, beside what implements it"
		layer  = "the same thing for another reader: of a job file, of a status page, of the API"
		domain = "the field's word, with another subject in each package"
	)
	return map[string]string{
		"Ask": domain, "Body": domain, "Bodies": door, "Bucket": domain, "Change": domain, "Client": idiom,
		"Counts": layer, "Daemon": layer, "Dir": domain,
		"Entry": domain, "Error": idiom, "Evidence": layer, "Facts": door,
		"File": domain, "Folder": domain, "Frames": door, "Handler": idiom, "Head": domain, "History": domain,
		"Hosts": door, "Job": layer, "Kind": idiom, "Limits": layer, "LineError": idiom,
		"Names": door, "Observation": domain, "Options": idiom, "Outcome": layer, "Owner": door,
		"Page": domain, "Part": domain, "Problem": idiom, "ProblemKind": idiom,
		"Reader": idiom, "Record": domain, "Records": door,
		"Request": idiom, "Resource": domain, "Result": idiom,
		"Robots": door, "Rule": domain, "Run": layer, "RunOptions": layer,
		"Server": idiom, "Shared": domain, "Sink": door, "Site": domain,
		"Span":  domain,
		"State": domain, "Store": door, "Table": domain, "Told": domain,
		"Version": domain, "Writer": idiom,
	}
}

func TestTypeNames(t *testing.T) {
	packages := map[string]map[string]bool{}
	for _, src := range sources(t) {
		for _, d := range src.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				s := spec.(*ast.TypeSpec)
				if !s.Name.IsExported() || s.Assign.IsValid() { // an alias is the same type
					continue
				}
				if packages[s.Name.Name] == nil {
					packages[s.Name.Name] = map[string]bool{}
				}
				packages[s.Name.Name][src.pkg] = true
			}
		}
	}
	shared := sharedNames()
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		in := slices.Sorted(maps.Keys(packages[name]))
		switch listed := shared[name] != ""; {
		case len(in) > 1 && !listed:
			t.Errorf("type %s is in %s: rename one, or list it with the reason", name, strings.Join(in, ", "))
		case len(in) == 1 && listed:
			t.Errorf("type %s is in %s alone: take it from the list", name, in[0])
		}
	}
	for name := range shared {
		if packages[name] == nil {
			t.Errorf("no type is named %s: take it from the list", name)
		}
	}
}

// glossary reads the table of words in docs/design.md: the words, and those that are not used for them.
func glossary(t *testing.T) (words, not []string) {
	t.Helper()
	raw, err := os.ReadFile(top + "/docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\n## Words\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	list := func(cell string) []string {
		return strings.FieldsFunc(cell, func(r rune) bool { return r == ',' || r == ' ' })
	}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(line, "| word") || strings.HasPrefix(line, "| ---") {
			continue
		}
		for term := range strings.SplitSeq(cells[1], ",") {
			words = append(words, strings.TrimSpace(term))
		}
		not = append(not, list(cells[3])...)
	}
	return words, not
}

// wordsOf splits a name at its capitals: "MirrorPath" is mirror, path; "URLOf" is url, of.
func wordsOf(name string) []string {
	var out []string
	start := 0
	for i := 1; i <= len(name); i++ {
		upper := func(k int) bool { return k < len(name) && 'A' <= name[k] && name[k] <= 'Z' }
		switch {
		case i == len(name), upper(i) && !upper(i-1), upper(i) && i+1 < len(name) && !upper(i+1):
			out = append(out, strings.ToLower(name[start:i]))
			start = i
		}
	}
	return out
}

// otherMeanings lists exported names that hold a word which the glossary does not use, and mean something
// else by it.
func otherMeanings() map[string]string {
	return map[string]string{
		"RequestURI": "RFC 9112 §3.2: what a request line has",
		"Score":      "the measure of Bharat and Broder for pairs of hosts",
		"Snapshot":   "what a state was at one moment: of turns of hosts, of a mirror that is served",
		"URI":        "RFC 7089: a memento is known by its URI",
	}
}

func TestGlossary(t *testing.T) {
	words, not := glossary(t)
	if len(words) < 30 || len(not) < 10 {
		t.Fatalf("%d words and %d others were read", len(words), len(not))
	}
	for i, w := range words {
		if slices.Contains(words[:i], w) {
			t.Errorf("%q has two meanings", w)
		}
	}
	others, used := otherMeanings(), map[string]bool{}
	for _, src := range sources(t) {
		ast.Inspect(src.ast, func(n ast.Node) bool {
			var id *ast.Ident
			switch n := n.(type) {
			case *ast.TypeSpec:
				id = n.Name
			case *ast.FuncDecl:
				id = n.Name
			case *ast.Field:
				if len(n.Names) > 0 {
					id = n.Names[0]
				}
			}
			if id == nil || !id.IsExported() {
				return true
			}
			for _, w := range wordsOf(id.Name) {
				if slices.Contains(not, strings.TrimSuffix(w, "s")) && others[id.Name] == "" {
					t.Errorf("%s: %s: the glossary has another word for %q", src.name, id.Name, w)
				}
				used[id.Name] = true
			}
			return true
		})
	}
	for name := range others {
		if !used[name] {
			t.Errorf("no exported name is %s: take it from the list", name)
		}
	}
}
