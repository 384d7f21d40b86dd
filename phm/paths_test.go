// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		name, table string
		want        []string
		bad         int // line of the error, 0 for none
	}{
		{"empty", "", nil, 0},
		{"plain", `{"path":"a","url":"x"}` + "\n" + `{"path":"b/ü","url":"x"}` + "\n", []string{"a", "b/ü"}, 0},
		{"escaped", `{"path":"a\"b","url":"http://x/"}` + "\n", []string{`a"b`}, 0},
		{"spaced", ` { "url" : "x", "path" : "c" }` + "\n", []string{"c"}, 0},
		{"unsorted", `{"path":"b"}` + "\n" + `{"path":"a"}` + "\n", []string{"b"}, 2},
		{"twice", `{"path":"b"}` + "\n" + `{"path":"b"}` + "\n", []string{"b"}, 2},
		{"no path", `{"url":"b"}` + "\n", nil, 1},
		{"no object", "hello\n", nil, 1},
		{"not UTF-8", "{\"path\":\"\xff\x22", nil, 1},
		{"cut", `{"path":"a"}` + "\n" + `{"path":"b"}`, []string{"a"}, 2},
	} {
		var got []string
		bad := 0
		for p, err := range Paths(strings.NewReader(c.table)) {
			var line *LineError
			if errors.As(err, &line) {
				bad = line.Line
			} else if err != nil {
				t.Errorf("%s: %v", c.name, err)
			} else {
				got = append(got, p)
			}
		}
		if !slices.Equal(got, c.want) || bad != c.bad {
			t.Errorf("%s: %q, error in line %d; want %q, %d", c.name, got, bad, c.want, c.bad)
		}
	}
}

// FuzzPaths holds Paths against Files over what FilesWriter would write.
func FuzzPaths(f *testing.F) {
	f.Add([]byte(`{"path":"a","url":"http://x/a","size":1,"sha256":"` + strings.Repeat("0", 64) + "\"}\n"))
	f.Add(
		[]byte(`{"path":"a\u0041\"","url":"http://x/a","size":1,"sha256":"` + strings.Repeat("0", 64) + "\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for range Paths(bytes.NewReader(data)) { // must not panic
		}
		var want, got []string
		var table []byte
		for file, err := range Files(bytes.NewReader(data)) {
			if err != nil {
				return
			}
			line, err := AppendFile(nil, file)
			if err != nil {
				return
			}
			table = append(table, line...)
			want = append(want, file.Path)
		}
		for p, err := range Paths(bytes.NewReader(table)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
