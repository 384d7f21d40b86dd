// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"mirrord/app"
	"mirrord/mirror/report"
)

// docs/json.md describes every field of what these commands write as JSON.
func TestJSONIsDescribed(t *testing.T) {
	const page = "../../docs/json.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		for _, command := range strings.Split(title, ", ") {
			sections[command] = body
		}
	}
	for command, report := range map[string]any{
		"plan":           report.PlanReport{},
		"plan URL":       app.Preview{},
		"evolution":      report.Evolution{},
		"rules":          report.SiteRules{},
		"near-golden":    goldenResult{},
		"replica-golden": goldenResult{},
		"replay":         replayReport{},
		"forget":         app.Forgetting{},
	} {
		n := 0
		for name := range jsonNames(reflect.TypeOf(report)) {
			n++
			if !strings.Contains(sections[command], "`"+name+"`") {
				t.Errorf("%s: the section %q says nothing of `%s`", page, command, name)
			}
		}
		if n < 3 {
			t.Errorf("%s: %d fields were found", command, n)
		}
	}
}

// jsonNames are the names of all fields below a type.
func jsonNames(t reflect.Type) map[string]bool {
	out := map[string]bool{}
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		return jsonNames(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			out[name] = true
			for below := range jsonNames(f.Type) {
				out[below] = true
			}
		}
	}
	return out
}
