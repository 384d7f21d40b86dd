// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestMetaGolden(t *testing.T) {
	const want = `{
  "phm": 1,
  "generator": "mirrord 0.1",
  "entry": "index.html",
  "title": "Ünïcode & <tags>",
  "authors": [
    "A. Uthor"
  ],
  "origins": [
    "https://h.example/"
  ],
  "primary": "https://h.example",
  "retrieved": "2026-11-20T03:31:00Z",
  "version": 3,
  "files": 2,
  "bytes": 10,
  "types": [
    {
      "type": "text/html",
      "files": 2,
      "bytes": 10
    }
  ],
  "failures": 1,
  "failed": [
    {
      "url": "https://h.example/x",
      "reason": "500"
    }
  ],
  "a.vendor": {
    "deep": [
      1,
      2
    ]
  },
  "z": null
}
`
	m, err := ReadMeta(strings.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if m.Title != "Ünïcode & <tags>" || m.Version != 3 || !m.Retrieved.Equal(retrieved) || len(m.Extra) != 2 {
		t.Errorf("read %+v", m)
	}
	var b bytes.Buffer
	if err := WriteMeta(&b, m); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
	m.Retrieved = m.Retrieved.In(time.FixedZone("", 7200)).Add(time.Millisecond)
	b.Reset()
	if err := WriteMeta(&b, m); err != nil || b.String() != want {
		t.Errorf("another zone changes the bytes: %v\n%s", err, b.String())
	}
}

// TestMetaFieldList holds the list of known fields to the struct.
func TestMetaFieldList(t *testing.T) {
	for name, c := range map[string]struct {
		typ  reflect.Type
		list string
	}{"Meta": {reflect.TypeFor[Meta](), metaFields}, "File": {reflect.TypeFor[File](), fileFields}} {
		n := 0
		for i := range c.typ.NumField() {
			tag, _, _ := strings.Cut(c.typ.Field(i).Tag.Get("json"), ",")
			if tag == "-" {
				continue
			}
			n++
			if !contains(c.list, tag) {
				t.Errorf("%s: %q is not in the list of known fields", name, tag)
			}
		}
		if got := len(strings.Fields(c.list)); got != n {
			t.Errorf("%s: the list has %d fields, the struct %d", name, got, n)
		}
	}
}

func TestReadMetaRefuses(t *testing.T) {
	for in, want := range map[string]error{
		"":                                    ErrNotPHM,
		"{}":                                  ErrNotPHM,
		"[]":                                  ErrNotPHM,
		"{\"phm\":1":                          ErrNotPHM,
		`{"phm":0,"entry":"a"}`:               ErrNotPHM,
		`{"phm":"1","entry":"a"}`:             ErrNotPHM,
		`{"phm":1}`:                           ErrPath,
		`{"phm":1,"entry":"../../etc/x"}`:     ErrPath,
		`{"phm":1,"entry":"a","files":"x"}`:   ErrNotPHM,
		`{"phm":2,"entry":{"new":"form"}}`:    ErrNewer,
		strings.Repeat(" ", maxMeta) + "  {}": ErrNotPHM,
	} {
		if _, err := ReadMeta(strings.NewReader(in)); !errors.Is(err, want) {
			t.Errorf("%.60q: got %v, want %v", in, err, want)
		}
	}
}

func TestMetaDescribe(t *testing.T) {
	d := Description{
		Title:     "T",
		Copyright: "C",
		Abstract:  "A",
		Language:  "en",
		Authors:   []string{"X"},
	}
	m := Meta{Title: "Mine"}
	m.Describe(d)
	if m.Title != "Mine" || m.Copyright != "C" || m.Abstract != "A" || m.Language != "en" ||
		!reflect.DeepEqual(m.Authors, d.Authors) {
		t.Errorf("got %+v", m)
	}
}

func TestWriteMetaRefuses(t *testing.T) {
	for name, m := range map[string]*Meta{
		"no entry":     {},
		"unsafe entry": {Entry: "../x"},
		"bad extra":    {Entry: "a", Extra: map[string]json.RawMessage{"x": json.RawMessage("{")}},
		"year":         {Entry: "a", Retrieved: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		var b bytes.Buffer
		if err := WriteMeta(&b, m); err == nil || b.Len() > 0 {
			t.Errorf("%s: %v, %q", name, err, b.String())
		}
	}
	full := errors.New("full")
	if err := WriteMeta(&fullWriter{0, full}, &Meta{Entry: "a"}); !errors.Is(err, full) {
		t.Errorf("full disk: %v", err)
	}
}
