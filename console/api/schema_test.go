// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"mirrord/app/access"
	"mirrord/app/orders"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

// named are the types that have a schema of their own, which others refer to.
func named() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[status.All]():      "Status",
		reflect.TypeFor[status.NodeSaid](): "Member",
		reflect.TypeFor[problems]():        "Error",
		reflect.TypeFor[orders.WishForm](): "NewOrder",
	}
}

// inlined are the types that are described where they are used.
func inlined() map[string]bool {
	return set("NamedPlace", "Placing", "Judging", "FoundCollection", "FoundReplica", "Excerpt", "IndexSizes",
		"Keeping", "Result", "ArchiveFile", "PreviewDir", "PreviewLook", "BusyHost", "AnsweredURL")
}

// open are the types of which all fields may be missing.
func open() map[string]bool {
	return set("NewJob", "RunRequest", "Placing", "Judging", "Preview", "FoundCollection", "FoundReplica",
		"IndexSizes", "Keeping", "Result", "ArchiveFile", "PreviewDir", "PreviewLook")
}

func set(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
	}
	return out
}

// ref is the schema of a type, or a reference to it.
func (g *generator) ref(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{{"type", "string"}, {"format", "date-time"}}
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any]():
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.ref(t.Elem())
	case reflect.Slice:
		return object{{"type", "array"}, {"items", g.ref(t.Elem())}}
	case reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", g.ref(t.Elem())}}
	case reflect.String:
		return object{{"type", "string"}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Float64:
		return object{{"type", "number"}}
	case reflect.Struct:
		return g.schema(t)
	}
	return object{{"type", "integer"}}
}

// schema is a reference to the schema of a struct, or that itself when nothing else refers to it.
func (g *generator) schema(t reflect.Type) object {
	if t == reflect.TypeFor[control.Error]() {
		t = reflect.TypeFor[problems]()
	}
	name, is := named()[t]
	if !is {
		name = strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	}
	if inlined()[name] {
		return g.fields(t, name)
	}
	if g.schemas[name] == nil {
		g.schemas[name] = object{} // a type may be inside of itself
		g.schemas[name] = g.fields(t, name)
	}
	return ref("schemas/" + name)
}

// fields is the schema of a struct.
func (g *generator) fields(t reflect.Type, name string) object {
	var required list
	var all object
	out := object{{"type", "object"}}
	for _, f := range reflect.VisibleFields(t) {
		key, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || key == "-" || key == "" ||
			name+"."+key == "Version.meta" { // the table of its files, which is not sent
			continue
		}
		s := g.ref(f.Type)
		if more, has := special()[name+"."+key]; has {
			s = more
		}
		owner := t
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = owner.Field(i).Type
		}
		if doc := g.comment(owner, f.Name); doc != "" {
			if len(s) == 1 && s[0].key == "$ref" {
				s = object{{"allOf", list{s}}}
			}
			s = append(s[:len(s):len(s)], member{"description", doc})
		}
		if !strings.Contains(rest, "omit") && (name != "NewOrder" || key == "url") {
			required = append(required, key)
		}
		all.add(key, s)
	}
	if strings.HasPrefix(name, "New") || name == "Placing" || name == "Judging" {
		out.add("additionalProperties", false)
	}
	if len(required) > 0 && !open()[name] {
		out.add("required", required)
	}
	out.add("properties", all)
	return out
}

// comment is the comment of a field, as a sentence of a description.
func (g *generator) comment(t reflect.Type, field string) string {
	dir := filepath.Join("../..", strings.TrimPrefix(t.PkgPath(), "mirrord/"))
	if g.comments[dir] == nil {
		g.comments[dir] = commentsOf(dir)
	}
	return g.comments[dir][t.Name()+"."+field]
}

// commentsOf are the comments of the fields of all structs of a directory.
func commentsOf(dir string) map[string]string {
	out := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				text := field.Comment.Text()
				if text == "" {
					text = field.Doc.Text()
				}
				for _, name := range field.Names {
					out[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(text), " ")
				}
			}
			return true
		})
	}
	return out
}

// words is the schema of a field that has one of a few words.
func words(all ...string) object {
	out := object{{"type", "string"}}
	l := list{}
	for _, w := range all {
		l = append(l, w)
	}
	out.add("enum", l)
	return out
}

// special are the schemas of fields about which their types do not say all.
func special() map[string]object {
	return map[string]object{
		"Error.code": words("unauthorized", "forbidden", "too_many", "too_large", "not_found", "method",
			"conflict", "precondition", "invalid", "internal", "away"),
		"Me.role":        words(access.Read.String(), access.Order.String(), access.Operate.String()),
		"NewOrder.scope": append(words("directory", "host", "domain"), member{"default", "directory"}),
		"Order.state": words("looking", "draft", "asks", "waits", "runs", "done", "failed", "refused",
			"cancelled", "expired"),
	}
}
