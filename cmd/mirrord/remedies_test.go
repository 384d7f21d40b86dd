// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// Every command that a message names is there, with the flags that it names, and is no way back to the
// message itself: status shows a remedy, so that no remedy may be status.
func TestRemediesLeadSomewhere(t *testing.T) {
	root := rootCommand(&cli.CLI{})
	root.InitDefaultHelpCmd()
	named := regexp.MustCompile(`\bmirrord ([a-z][a-z-]*)((?: (?:--?[a-z-]+|[A-Z%][A-Za-z%]*))*)`)
	// "mirrord login" is the label of a key in app/access, "mirrord feeds" a title of console.
	prose := strings.Fields("login feeds for in on keeps is has a and may must itself cannot or must")
	found := 0
	check := func(where, text string) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if slices.Contains(prose, m[1]) {
				continue
			}
			found++
			cmd, _, err := root.Find([]string{m[1]})
			if err != nil || cmd == root {
				t.Errorf("%s: there is no command %q: %s", where, m[1], m[0])
				continue
			}
			for _, flag := range strings.Fields(m[2]) {
				name := strings.TrimLeft(flag, "-")
				known := !strings.HasPrefix(flag, "-") || cmd.Flags().Lookup(name) != nil ||
					root.PersistentFlags().Lookup(name) != nil || cmd.Flags().ShorthandLookup(name[:1]) != nil
				if !known {
					t.Errorf("%s: mirrord %s has no flag %s", where, m[1], flag)
				}
			}
			after := text[strings.Index(text, m[0]):]
			if m[1] == "status" && strings.Contains(where, "status/remedy.go") {
				t.Errorf("%s: a remedy names status, which shows it: %s", where, after)
			}
		}
	}
	for _, dir := range []string{".", "../../app", "../../console", "../../mirror", "../../scheduler",
		"../../serve", "../../store"} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				x, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, ok := textOf(x)
				if ok {
					check(fset.Position(x.Pos()).String(), text)
				}
				return !ok
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 50 {
		t.Errorf("only %d commands are named: are messages written in another way?", found)
	}
}

// textOf returns the text that an expression makes of literals, with NAME for what else it puts in; ok is
// false when no literal is in it.
func textOf(x ast.Expr) (text string, ok bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			text, err := strconv.Unquote(x.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		if x.Op != token.ADD {
			return "", false
		}
		a, aok := textOf(x.X)
		b, bok := textOf(x.Y)
		return a + b, aok || bok
	}
	return "NAME", false
}
