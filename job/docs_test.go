// SPDX-License-Identifier: Apache-2.0

package job

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/jobs.md")

const (
	docFile  = "../docs/jobs.md"
	docBegin = "<!-- keys: generated from job/keys.toml by go test ./job -update -->\n"
	docEnd   = "<!-- end of keys -->\n"
)

// markdown renders the keys as Markdown.
func markdown() string {
	var tables struct{ About map[string]string }
	if err := toml.Unmarshal(keysFile, &tables); err != nil {
		panic(err)
	}
	var b strings.Builder
	last := "-"
	for _, k := range Keys() {
		table, leaf := k.Table()
		if table != last {
			title := "Top level"
			if table != "" {
				title = "[" + table + "]"
			}
			fmt.Fprintf(&b, "\n### %s\n\n", title)
			if about := tables.About[table]; about != "" {
				fmt.Fprintf(&b, "%s\n\n", strings.ReplaceAll(about, "\n", " "))
			}
			last = table
		}
		def := k.Default()
		switch def {
		case "":
			def = "must be given"
		case `""`, "[]", "{}":
			def = "default: nothing"
		default:
			def = "default `" + def + "`"
		}
		typ := k.Type
		if len(k.Enum) > 0 {
			typ = "`\"" + strings.Join(k.Enum, "\"`, `\"") + "\"`"
		}
		if k.Unit != "" {
			typ += " of " + k.Unit
		}
		fmt.Fprintf(&b, "**`%s`** · %s · %s  \n%s", leaf, typ, def, k.Doc)
		if k.Risk != "" {
			fmt.Fprintf(&b, "  \n*Risk:* %s", k.Risk)
		}
		fmt.Fprintf(&b, "  \nExample: `%s = %s`\n\n", leaf, k.Example)
	}
	b.WriteString("\n### Old keys\n\nThey are read for good and keep their effect. `mirrord check`, " +
		"the log and `mirrord status JOB` say what to do.\n\n| key | what to do |\n| --- | --- |\n")
	for _, k := range oldKeys() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", k.Name, k.Instead)
	}
	b.WriteString("\n")
	return b.String()
}

// The reference in docs/jobs.md is what the code knows.
func TestReferenceIsCurrent(t *testing.T) {
	data, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(data), docBegin)
	old, after, ok2 := strings.Cut(rest, docEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks the marks around the keys", docFile)
	}
	if want := markdown(); old != want {
		if !*update {
			t.Fatalf("%s is not what keys.toml says: run go test ./job -update", docFile)
		}
		if err := os.WriteFile(docFile, []byte(before+docBegin+want+docEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every TOML block of the document is a job file that parses.
func TestDocumentExamples(t *testing.T) {
	data, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(data), "```toml\n")[1:]
	if len(blocks) == 0 {
		t.Error("no examples")
	}
	for i, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		if _, err := Parse("example", fmt.Sprintf("example %d", i+1), []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// The job files that are shipped parse, and say in comments what they are for.
func TestShippedJobs(t *testing.T) {
	files, err := filepath.Glob("../jobs.d/*.toml")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(strings.TrimSuffix(filepath.Base(f), ".toml"), f, data); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(string(data), "# ") {
			t.Errorf("%s starts with no comment", f)
		}
	}
}
