// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"mirrord/app/life"
	"mirrord/app/orders"
	"mirrord/app/replicas"
	"mirrord/app/runs"
	"mirrord/app/search"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/serve/find"
	"mirrord/store/record"
	"mirrord/store/shared"
)

// spec checks requests and answers against openapi.yaml. A field that it does not describe is refused.
type spec struct {
	doc    *openapi3.T
	router routers.Router
	seen   map[string]bool // operations whose answers were checked, by id and status
}

func loadSpec(t *testing.T) *spec {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	no := false
	for _, s := range doc.Components.Schemas {
		if s.Value.Properties != nil {
			s.Value.AdditionalProperties = openapi3.BoolSchema{Has: &no}
		}
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	openapi3filter.RegisterBodyDecoder("application/toml", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/yaml", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.JSONBodyDecoder)
	return &spec{doc: doc, router: router, seen: map[string]bool{}}
}

// check checks an answer. Requests that are wrong on purpose are not checked.
func (s *spec) check(t *testing.T, r *http.Request, body string, resp *http.Response, got []byte) {
	t.Helper()
	u := *r.URL
	u.Scheme, u.Host = "", ""
	about := r.Clone(t.Context())
	about.URL = &u
	route, params, err := s.router.FindRoute(about)
	if err != nil {
		if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s %s is in no description: %v", r.Method, r.URL, err)
		}
		return
	}
	options := &openapi3filter.Options{
		IncludeResponseStatus: true,
		AuthenticationFunc:    openapi3filter.NoopAuthenticationFunc,
	}
	in := &openapi3filter.RequestValidationInput{
		Request:    about,
		PathParams: params,
		Route:      route,
		Options:    options,
	}
	about.Body = io.NopCloser(strings.NewReader(body))
	if resp.StatusCode < 300 {
		if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil {
			t.Errorf("%s %s: request: %v", r.Method, r.URL, err)
		}
	}
	s.seen[route.Operation.OperationID+" "+http.StatusText(resp.StatusCode)] = true
	for _, part := range partsOf(resp, got) {
		err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: in,
			Status:                 resp.StatusCode,
			Header:                 resp.Header,
			Body:                   io.NopCloser(bytes.NewReader(part)),
			Options:                options,
		})
		if err != nil {
			t.Errorf("%s %s: answer %d: %v\n%s", r.Method, r.URL, resp.StatusCode, err, part)
		}
	}
}

// partsOf are the values of an answer: those of a stream one by one.
func partsOf(resp *http.Response, got []byte) [][]byte {
	if resp.Header.Get("Content-Type") != "application/x-ndjson" {
		return [][]byte{got}
	}
	return bytes.Split(bytes.TrimSpace(got), []byte("\n"))
}

// fill sets all fields of a value below a pointer, so that all are in its JSON.
func fill(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)))
		return
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":1}`))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		fill(one)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("a").Convert(v.Type().Key()), one)
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	}
}

func filled[T any]() (v T) {
	fill(reflect.ValueOf(&v).Elem())
	return v
}

func fullJob(name string) status.Job {
	j := filled[status.Job]()
	j.Name = name
	return j
}

func fullRun() status.Run { return filled[status.Run]() }

// Each value that is sent fits its schema with all of its fields.
func TestSchemas(t *testing.T) {
	s := loadSpec(t)
	version := filled[record.Version]()
	version.Meta = nil // not sent
	ordered := filled[order]()
	ordered.State, ordered.Want.Scope = orders.Done, "host"
	for name, v := range map[string]any{
		"Status":     filled[status.All](),
		"Registry":   filled[replicas.Registry](),
		"Event":      filled[control.Event](),
		"Reloaded":   filled[control.Reloaded](),
		"Told":       filled[control.Told](),
		"Version":    version,
		"AuditEntry": filled[shared.AuditEntry](),
		"Removal":    filled[life.Removal](),
		"RunRequest": filled[control.RunRequest](),
		"NewJob":     filled[newJob](),
		"SavedJob":   filled[savedJob](),
		"Taken":      filled[taken](),
		"JobList":    filled[jobList](),
		"FoundTexts": filled[search.FoundTexts](),
		"FoundPage":  filled[find.FoundPage](),
		"NewOrder":   ordered.Want,
		"Order":      ordered,
		"OrderList":  orderList{Orders: []order{ordered}, Next: 1},
		"Preview":    filled[runs.Preview](),
	} {
		if e, ok := v.(control.Event); ok {
			e.Error.Code = control.Conflict
			v = e
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		schema := s.doc.Components.Schemas[name]
		if schema == nil {
			t.Errorf("no schema %s", name)
			continue
		}
		if err := schema.Value.VisitJSON(plain); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fields := plain.(map[string]any)
		for key := range schema.Value.Properties {
			if _, ok := fields[key]; !ok {
				t.Errorf("%s: %s is described, and never sent", name, key)
			}
		}
	}
}
