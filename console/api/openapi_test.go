// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"mirrord/app/access"
	"mirrord/app/ops"
	"mirrord/app/orders"
	"mirrord/app/replicas"
	"mirrord/app/search"
	"mirrord/scheduler/control"
	"mirrord/store/record"
	"mirrord/store/shared"
)

var update = flag.Bool("update", false, "rewrite openapi.yaml")

// openapi.yaml is what the table of operations, the types of their arguments and answers, and the comments of
// the fields of these say: go generate writes it.
func TestOpenAPI(t *testing.T) {
	g := &generator{schemas: map[string]object{}, comments: map[string]map[string]string{}}
	text := g.text()
	if *update {
		if err := os.WriteFile("openapi.yaml", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("openapi.yaml"); err != nil || !bytes.Equal(got, text) {
		t.Errorf("openapi.yaml is not what go generate writes (%v)", err)
	}
}

// What programs of version 1 were written for stays: paths, methods, names, parameters, schemas and answers.
// Operations, fields and sentences may be added.
func TestOpenAPIStays(t *testing.T) {
	was, now := parsed(t, "testdata/openapi-1.yaml"), parsed(t, "openapi.yaml")
	for _, part := range [][]string{{"paths"}, {"components", "schemas"}, {"components", "parameters"},
		{"components", "responses"}} {
		a, b := at(was, part...), at(now, part...)
		for _, name := range slices.Sorted(maps.Keys(a)) {
			for _, line := range changed(name, a[name], b[name]) {
				t.Error(line)
			}
		}
	}
}

func at(m map[string]any, path ...string) map[string]any {
	for _, p := range path {
		m = m[p].(map[string]any)
	}
	return m
}

// parsed reads a description without its sentences.
func parsed(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return bare(all).(map[string]any)
}

// bare leaves out sentences but for roles, and sorts lists of names. A reference with a sentence is one
// without.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if all, ok := v["allOf"].([]any); ok && len(all) == 1 {
			return bare(all[0])
		}
		for key, part := range v {
			text, is := part.(string)
			switch {
			case is && strings.HasPrefix(text, "Role: "):
				v[key], _, _ = strings.Cut(text, ".")
			case is && (key == "description" || key == "summary"):
				delete(v, key)
			default:
				v[key] = bare(part)
			}
		}
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
		slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}

// changed lists the differences.
func changed(where string, was, now any) (out []string) {
	a, isA := was.(map[string]any)
	b, isB := now.(map[string]any)
	if isA && isB {
		for _, key := range slices.Sorted(maps.Keys(a)) {
			out = append(out, changed(where+"."+key, a[key], b[key])...)
		}
		for _, key := range slices.Sorted(maps.Keys(b)) {
			if _, had := a[key]; !had && key != "properties" && !strings.HasSuffix(where, ".properties") &&
				strings.Count(where, ".") > 0 {
				out = append(out, fmt.Sprintf("%s.%s: new: %v", where, key, b[key]))
			}
		}
		return out
	}
	if !reflect.DeepEqual(was, now) {
		out = append(out, fmt.Sprintf("%s: was %v, is %v", where, was, now))
	}
	return out
}

// object is a mapping whose keys keep their order.
type object []member

type member struct {
	key   string
	value any // string, bool, int, list or object
}

type list []any

func (o *object) add(key string, value any) { *o = append(*o, member{key, value}) }

// node makes YAML of a value. A short value is on one line.
func node(v any) *yaml.Node {
	n := new(yaml.Node)
	switch v := v.(type) {
	case object:
		n.Kind = yaml.MappingNode
		for _, m := range v {
			n.Content = append(n.Content, node(m.key), node(m.value))
		}
		if len(flat(v)) <= 100 {
			n.Style = yaml.FlowStyle
		}
	case list:
		n.Kind = yaml.SequenceNode
		for _, e := range v {
			n.Content = append(n.Content, node(e))
		}
		if len(flat(v)) <= 100 {
			n.Style = yaml.FlowStyle
		}
	default:
		if err := n.Encode(v); err != nil {
			panic(err)
		}
	}
	return n
}

// flat is about how a value is written on one line.
func flat(v any) string {
	switch v := v.(type) {
	case object:
		s := ""
		for _, m := range v {
			s += m.key + ": " + flat(m.value) + ", "
		}
		return "{" + s + "}"
	case list:
		s := ""
		for _, e := range v {
			s += flat(e) + ", "
		}
		return "[" + s + "]"
	}
	return fmt.Sprint(v)
}

// generator makes the description.
type generator struct {
	schemas  map[string]object            // by name
	comments map[string]map[string]string // of fields, by directory, then Type.Field
}

const preamble = `# Written by go generate from the table of operations (app/ops) and the types of requests and answers.
openapi: 3.0.3
info:
  title: mirrord
  version: "1"
  description: >-
    What programs may ask of a mirrord daemon. Fields may be added to answers, and calls to the API; everything else
    makes a new version in the path. docs/api.md is the guide, docs/json.md says more of the fields.
  license: {name: Apache-2.0}
servers:
  - {url: /, description: "the console's listener: mirrord daemon --console"}
security:
  - token: []
`

const components = `  securitySchemes:
    token: {type: http, scheme: bearer, description: "mirrord console token add makes one"}
  parameters:
    job: {name: job, in: path, required: true, description: "name of the job", schema: {type: string}}
    order: {name: n, in: path, required: true, description: "number of the order; NUMBER@NODE of one on another node of a cluster", schema: {type: string}}
  responses:
    Order:
      description: "the order"
      content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}
    Failed:
      description: >-
        400 invalid, 401 unauthorized, 403 forbidden, 404 not_found, 409 conflict, 412 and 428 precondition,
        413 too_large, 422 invalid (the problems of a job file), 429 too_many (Retry-After has the seconds),
        500 internal, 502 away (the node of a cluster that has it does not answer)
      content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}
`

// text is the whole description.
func (g *generator) text() []byte {
	paths := map[string]object{}
	var order []string
	for _, o := range ops.Table() {
		if o.Lacks(ops.API) != "" {
			continue
		}
		method, path, _ := strings.Cut(o.Call, " ")
		if paths[path] == nil {
			order = append(order, path)
		}
		paths[path] = append(paths[path], member{strings.ToLower(method), g.operation(o)})
	}
	g.schema(reflect.TypeFor[problems]())
	var all object
	for _, path := range order {
		all.add(path, paths[path])
	}
	var b bytes.Buffer
	b.WriteString(preamble)
	emit(&b, object{{"paths", all}})
	b.WriteString("components:\n" + components)
	var schemas object
	for _, name := range slices.Sorted(maps.Keys(g.schemas)) {
		schemas.add(name, g.schemas[name])
	}
	var c bytes.Buffer
	emit(&c, object{{"schemas", schemas}})
	for line := range strings.Lines(c.String()) {
		b.WriteString("  " + line)
	}
	return b.Bytes()
}

func emit(b *bytes.Buffer, o object) {
	n := node(o)
	n.Style = 0
	for _, c := range n.Content {
		c.Style &^= yaml.FlowStyle
	}
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		panic(err)
	}
}

// described is what the description says of an operation besides its row of the table.
type described struct {
	more     string       // than the role
	in, out  reflect.Type // bodies; nil: none
	query    reflect.Type // its parameters
	required bool         // the body
	answers  object       // by status, instead of one 200 with out
	params   list         // besides those of path and query
	headers  []string     // of the answer
	code     string       // of the answer, when not 200
	media    [2]string    // of request and answer, when not JSON
}

func (g *generator) operation(o ops.Operation) object {
	d := g.about(o)
	var out object
	out.add("operationId", o.Name)
	out.add("summary", o.Doc)
	if o.Need == access.Anonymous {
		out.add("security", list{})
	} else {
		out.add("description", strings.TrimSpace(fmt.Sprintf("Role: %v. %s", o.Need, d.more)))
	}
	if params := g.parameters(o, d); len(params) > 0 {
		out.add("parameters", params)
	}
	if d.in != nil {
		out.add("requestBody", object{{"required", d.required}, {"content", content(g.ref(d.in))}})
	}
	if d.media[0] != "" {
		out.add("requestBody", object{{"required", d.required}, {"content", media(d.media[0])}})
	}
	answers := d.answers
	if answers == nil {
		a := object{{"description", "the answer"}}
		if d.headers != nil {
			var h object
			for _, name := range d.headers {
				h.add(name, object{{"schema", object{{"type", "string"}}}})
			}
			a.add("headers", h)
		}
		if d.media[1] != "" {
			a.add("content", media(d.media[1]))
		} else {
			a.add("content", content(g.ref(d.out)))
		}
		answers = object{{d.code, a}}
	}
	out.add("responses", append(answers, member{"default", ref("responses/Failed")}))
	return out
}

func ref(to string) object { return object{{"$ref", "#/components/" + to}} }

func content(schema any) object { return object{{"application/json", object{{"schema", schema}}}} }

// media is a body that is no JSON.
func media(kind string) object {
	switch kind {
	case "application/toml":
		return object{{kind, object{{"schema", object{{"type", "string"}}}}}}
	case "application/octet-stream":
		return object{{kind, object{{"schema", object{{"type", "string"}, {"format", "binary"}}}}}}
	}
	return object{{kind, object{}}}
}

func (g *generator) parameters(o ops.Operation, d described) (out list) {
	if strings.Contains(o.Call, "{job}") {
		out = append(out, ref("parameters/job"))
	}
	if strings.Contains(o.Call, "{n}") {
		out = append(out, ref("parameters/order"))
	}
	out = append(out, d.params...)
	if d.query == nil {
		return out
	}
	for f := range d.query.Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		p := object{{"name", name}, {"in", "query"}}
		if rest == "" {
			p.add("required", true)
		}
		p.add("description", g.comment(d.query, f.Name))
		schema := object{{"type", "string"}}
		switch f.Type.Kind() {
		case reflect.Bool:
			p.add("allowEmptyValue", true)
		case reflect.Int:
			var least, greatest, otherwise int
			if _, err := fmt.Sscanf(f.Tag.Get("bounds"), "%d,%d,%d", &least, &greatest, &otherwise); err != nil {
				panic(err)
			}
			schema = object{{"type", "integer"}, {"minimum", least}, {"maximum", greatest}, {"default", otherwise}}
		case reflect.Uint64:
			schema = object{{"type", "integer"}}
		}
		p.add("schema", schema)
		out = append(out, p)
	}
	return out
}

// about is what the description says of an operation besides its row.
func (g *generator) about(o ops.Operation) described {
	d := g.bodies()[o.Name]
	if o.Risk == ops.Deletes {
		d.params = list{header("If-Match", "the ETag of the job file that the plan was made with")}
	}
	if in := o.In(); in != nil {
		t := reflect.TypeOf(in).Elem()
		switch {
		case t == reflect.TypeFor[ops.None]():
		case o.Risk != ops.Changes:
			d.query = t
		default:
			d.in = t
		}
		if d.out == nil {
			d.out = o.Out()
		}
	}
	if d.code == "" {
		d.code = "200"
	}
	return d
}

// header is a parameter in the header of a request.
func header(name, doc string) object {
	return object{{"name", name}, {"in", "header"}, {"description", doc}, {"schema", object{{"type", "string"}}}}
}

// bodies is what the table does not say of operations.
func (g *generator) bodies() map[string]described {
	match := header("If-Match", "the ETag of the job file that the change is made from")
	ordered := described{answers: object{{"200", ref("responses/Order")}}}
	place, judge := ordered, ordered
	place.in, judge.in, judge.required = reflect.TypeFor[placing](), reflect.TypeFor[judging](), true
	place.more = "An order beyond the limits is refused, or with ask waits for an operator."
	event := reflect.TypeFor[control.Event]()
	return map[string]described{
		"describe": {media: [2]string{"", "application/yaml"}},
		"whoAmI":   {out: reflect.TypeFor[me]()},
		"metrics":  {media: [2]string{"", "text/plain"}},
		"registry": {out: reflect.TypeFor[replicas.Registry]()},
		"audit": {
			more:    "In a cluster those of all nodes, but for those that the header Mirrord-Missing names.",
			query:   reflect.TypeFor[auditQuery](),
			out:     reflect.TypeFor[[]shared.AuditEntry](),
			headers: []string{"Mirrord-Missing"},
		},
		"listJobs": {query: reflect.TypeFor[jobsQuery](), out: reflect.TypeFor[jobList]()},
		"createJob": {
			in:       reflect.TypeFor[newJob](),
			required: true,
			out:      reflect.TypeFor[savedJob](),
			code:     "201",
			headers:  []string{"ETag", "Location"},
		},
		"readFile": {media: [2]string{"", "application/toml"}, headers: []string{"ETag"}},
		"changeFile": {
			params:   list{match},
			media:    [2]string{"application/toml", ""},
			required: true,
			out:      reflect.TypeFor[savedJob](),
			headers:  []string{"ETag"},
		},
		"versions": {out: reflect.TypeFor[[]record.Version]()},
		"run": {answers: object{
			{"200", object{
				{"description", "with wait: events, one JSON object a line, until the run has ended or the token is " +
					"refused; the run continues when the client disconnects"},
				{"content", object{{"application/x-ndjson", object{{"schema", g.ref(event)}}}}},
			}},
			{"202", object{{"description", "it was requested"}, {"content", content(g.ref(event))}}},
		}},
		"register": {
			more: "The answer comes when some 40 polite requests have been made. A place that differs is refused " +
				"(400), and the message says why.",
			required: true,
			out:      reflect.TypeFor[shared.PairRecord](),
		},
		"find": {
			more: "The index is searched as it is; it is made on the page Find or by mirrord find, and until then " +
				"the answer is 409.",
			query: reflect.TypeFor[search.FindRequest](),
			out:   reflect.TypeFor[search.FoundTexts](),
		},
		"listOrders": {query: reflect.TypeFor[ordersQuery](), out: reflect.TypeFor[orderList]()},
		"draftOrder": {
			more:     "At most 20 requests are made. The order is looking until the preview is there, then draft.",
			in:       reflect.TypeFor[orders.WishForm](),
			required: true,
			out:      reflect.TypeFor[order](),
			code:     "201",
			headers:  []string{"Location"},
		},
		"order":       ordered,
		"placeOrder":  place,
		"cancelOrder": ordered,
		"judgeOrder":  judge,
		"orderFile": {
			params: list{object{{"name", "name"}, {"in", "path"}, {"required", true},
				{"description", "of result.archives"}, {"schema", object{{"type", "string"}}}}},
			media: [2]string{"", "application/octet-stream"},
		},
		"hook": {
			params: list{
				header("webhook-id", "of the call; a repeated one counts once"),
				header("webhook-timestamp", "seconds since 1970; at most five minutes from now"),
				header("webhook-signature",
					"v1,BASE64 of the HMAC-SHA256 of ID.TIMESTAMP.BODY; several, separated by spaces"),
			},
			media: [2]string{"*/*", ""},
			out:   reflect.TypeFor[taken](),
			code:  "202",
		},
	}
}
