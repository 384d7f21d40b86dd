// SPDX-License-Identifier: Apache-2.0

package wording

import (
	"fmt"
	"testing"
	"testing/fstest"
	"text/template"
)

type order struct{ Shop, Kind string }

type basket struct {
	Owner  string
	Apples int64
	Orders []order
}

// Name is only that of a pointer.
func (b *basket) Name() string { return "basket of " + b.Owner }

func TestText(t *testing.T) {
	w := Templates{
		Files: fstest.MapFS{"a.txt": {Data: []byte(`{{define "basket"}}
{{.Name}}: {{or (clauses "; " "what" .) "empty"}}
{{- range .Orders}}
{{clauses "" "order" (args "By" $.Owner .)}}
{{- end}}
{{end}}
{{define "what"}}
{{- if .Apples}}
{{n .Apples "apple"}}
{{- end}}
{{- if .Orders}}
{{n (len .Orders) "order"}}, {{plus .Apples (len .Orders)}} in all
{{- end}}
{{- end}}
{{define "order"}}{{join (list .Of.Shop .Of.Kind .By)}}{{end}}`)}},
		Glob: "*.txt",
		Words: template.FuncMap{
			"list": func(all ...string) []string { return all },
			"n":    func(n any, of string) string { return fmt.Sprint(n, " ", of) },
		},
	}
	for _, x := range []struct {
		of   any
		want string
	}{
		{basket{Owner: "Eve"}, "basket of Eve: empty"},
		{&basket{Owner: "Eve", Apples: 1}, "basket of Eve: 1 apple"},
		{
			basket{"Eve", 2, []order{{"north", "pears"}}},
			"basket of Eve: 2 apple; 1 order, 3 in all\nnorth, pears, Eve",
		},
	} {
		if got, err := w.Text("basket", x.of); got != x.want || err != nil {
			t.Errorf("%+v: %q, %v, want %q", x.of, got, err, x.want)
		}
	}
	if _, err := w.Text("basket", 1); err == nil {
		t.Error("a number has no name")
	}
	if _, err := w.Text("nothing", 1); err == nil {
		t.Error("there is no such text")
	}
}
