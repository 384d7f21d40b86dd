// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mirrord/mirror"
)

// Every field of what these commands write as JSON is named in their help.
func TestJSONIsInHelp(t *testing.T) {
	a := new(cli)
	for _, c := range []struct {
		cmd    *cobra.Command
		report any
	}{
		{planCommand(a), mirror.PlanReport{}}, {evolutionCommand(a), mirror.Evolution{}}, {rulesCommand(a), mirror.SiteRules{}},
		{nearGoldenCommand(a), goldenResult{}}, {replayCommand(a), replayReport{}},
	} {
		n := 0
		for name := range jsonNames(reflect.TypeOf(c.report)) {
			n++
			if !strings.Contains(c.cmd.Long, `"`+name+`"`) {
				t.Errorf("%s --help says nothing of %q", c.cmd.Name(), name)
			}
		}
		if n < 3 {
			t.Errorf("%s: %d fields were found", c.cmd.Name(), n)
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
