// SPDX-License-Identifier: Apache-2.0

// Package wording makes texts for people of values, by templates in files, as package text/template has
// them.
//
// In a file, {{- at the beginning of a line takes away the end of the line before, so that lines which only
// say what follows leave nothing behind.
package wording

import (
	"io/fs"
	"reflect"
	"strings"
	"text/template"
)

// Templates are templates with the functions that they use.
type Templates struct {
	Files fs.FS
	Glob  string // of the names of the files
	Words template.FuncMap
}

// Text is what a template makes of a value, without empty lines before and after it.
//
// Beside the functions of package text/template and Words there are: plus and less; join, with commas;
// clauses, which makes a text of another template and has a separator in place of the ends of its lines; and
// args, which gives such a template a value beside the one that it is of.
func (w Templates) Text(name string, v any) (string, error) {
	t := template.New("")
	text := func(name string, v any) (string, error) {
		var b strings.Builder
		err := t.ExecuteTemplate(&b, name, addressed(v))
		return strings.Trim(b.String(), "\n"), err
	}
	_, err := t.Funcs(template.FuncMap{
		"plus": func(all ...any) (sum int64) {
			for _, n := range all {
				sum += reflect.ValueOf(n).Int()
			}
			return sum
		},
		"less": func(a, b any) int64 { return reflect.ValueOf(a).Int() - reflect.ValueOf(b).Int() },
		"join": func(all []string) string { return strings.Join(all, ", ") },
		"args": func(key string, value, of any) map[string]any { return map[string]any{key: value, "Of": of} },
		"clauses": func(sep, name string, v any) (string, error) {
			s, err := text(name, v)
			return strings.ReplaceAll(s, "\n", sep), err
		},
	}).Funcs(w.Words).ParseFS(w.Files, w.Glob)
	if err != nil {
		return "", err
	}
	return text(name, v)
}

// addressed returns a pointer to a value, unless it is one, so that all of its methods can be called.
func addressed(v any) any {
	if v == nil || reflect.TypeOf(v).Kind() == reflect.Pointer {
		return v
	}
	p := reflect.New(reflect.TypeOf(v))
	p.Elem().Set(reflect.ValueOf(v))
	return p.Interface()
}
