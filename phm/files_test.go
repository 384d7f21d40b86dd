// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

const sum0 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestFilesGolden(t *testing.T) {
	files := []*File{
		{
			Path:     "a/<b>&\u00e9.html",
			URL:      "https://h.example/a",
			Type:     "text/html",
			Size:     7,
			SHA256:   sum0,
			Modified: time.Date(2026, 1, 2, 4, 4, 5, 6, time.FixedZone("", 3600)),
			Edits:    []DeclaredEdit{{"charset", 12}, {"base", 40}},
		},
		{
			Path:   "b",
			URL:    "http://o.example:81/?q=%22",
			SHA256: sum0,
			From:   "x/b",
			Extra:  map[string]json.RawMessage{"z": json.RawMessage(`[1, 2]`), "x y": json.RawMessage(`"<"`)},
		},
	}
	want := `{"path":"a/<b>&é.html","url":"https://h.example/a","type":"text/html","size":7,"sha256":"` + sum0 +
		`","modified":"2026-01-02T03:04:05Z","edits":[{"kind":"charset","at":12},{"kind":"base","at":40}]}` + "\n" +
		`{"path":"b","url":"http://o.example:81/?q=%22","size":0,"sha256":"` + sum0 +
		`","from":"x/b","x y":"<","z":[1,2]}` + "\n"
	var got []byte
	for _, f := range files {
		var err error
		if got, err = AppendFile(got, f); err != nil {
			t.Fatal(err)
		}
	}
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	files[0].Path, want = "a/b.html", strings.Replace(want, "a/<b>&é.html", "a/b.html", 1)
	var b bytes.Buffer
	w := NewFilesWriter(&b)
	for _, f := range files {
		if err := w.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	table, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if table.Files != 2 || table.Bytes != 7 || table.Size != int64(b.Len()) ||
		!reflect.DeepEqual(table.Types, []TypeCount{
			{Files: 1}, {Type: "text/html", Files: 1, Bytes: 7},
		}) {
		t.Errorf("table is %+v", table)
	}
	files[0].Modified = files[0].Modified.UTC().Truncate(time.Second)
	files[1].Extra["z"] = json.RawMessage(`[1,2]`)
	for line := range strings.Lines(want) {
		if _, ok := parseOwn(strings.TrimSuffix(line, "\n")); ok == strings.Contains(line, `"z"`) {
			t.Errorf("own spelling: %v: %s", ok, line)
		}
	}
	i := 0
	for f, err := range Files(&b) {
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(f, files[i]) {
			t.Errorf("read %+v, wrote %+v", f, files[i])
		}
		i++
	}
}

func TestFilesWriterRefuses(t *testing.T) {
	good := File{Path: "m", URL: "https://h.example/", SHA256: sum0}
	for name, c := range map[string]struct {
		change func(*File)
		want   error
	}{
		"again":         {func(f *File) { f.Path = "k" }, ErrTable},
		"before":        {func(f *File) { f.Path = "a" }, ErrTable},
		"unsafe path":   {func(f *File) { f.Path = "../m" }, ErrPath},
		"size":          {func(f *File) { f.Size = -1 }, ErrTable},
		"short digest":  {func(f *File) { f.SHA256 = "ab" }, ErrTable},
		"upper digest":  {func(f *File) { f.SHA256 = strings.ToUpper(sum0) }, ErrTable},
		"relative URL":  {func(f *File) { f.URL = "/x" }, ErrTable},
		"script URL":    {func(f *File) { f.URL = "javascript:alert(1)" }, ErrTable},
		"raw URL":       {func(f *File) { f.URL = "https://h.example/é" }, ErrTable},
		"fragment":      {func(f *File) { f.URL = "https://h.example/#a" }, ErrTable},
		"year 10000":    {func(f *File) { f.Modified = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, ErrTable},
		"format's name": {func(f *File) { f.Path = "phm.json" }, ErrPath},
	} {
		var b bytes.Buffer
		w := NewFilesWriter(&b)
		if err := w.Write(&File{Path: "k", URL: good.URL, SHA256: sum0}); err != nil {
			t.Fatal(err)
		}
		f := good
		c.change(&f)
		if err := w.Write(&f); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if table, err := w.Finish(); err != nil || table.Files != 1 {
			t.Errorf("%s: table %+v, %v", name, table, err)
		}
	}
}

func TestFilesLineErrors(t *testing.T) {
	line := func(path string) string {
		return fmt.Sprintf(`{"path":%q,"url":"https://h.example/","size":1,"sha256":%q}`, path, sum0) + "\n"
	}
	long := strings.Repeat(" ", maxLine) + "\n"
	in := line("b") + "{\n" + line("a") + line("b") + line("c") + long + line("d") + line("C:/x") +
		line("d/../../x") + "\n" + line("e")[:30] + "\n" + line("f") +
		strings.TrimSpace(line("g")) + " {}\n" + strings.TrimSuffix(line("h"), "\n")
	var got []string
	for f, err := range Files(iotest.OneByteReader(strings.NewReader(in))) {
		var le *LineError
		switch {
		case err == nil:
			got = append(got, f.Path)
		case errors.As(err, &le):
			if !errors.Is(err, ErrTable) && !errors.Is(err, ErrPath) {
				t.Errorf("untyped: %v", err)
			}
			got = append(got, fmt.Sprint(le.Line))
		default:
			t.Fatal(err)
		}
	}
	if want := "b 2 3 4 c 6 d 8 9 10 11 f 13 14"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %v", got, want)
	}
	broken := errors.New("disk on fire")
	for _, err := range Files(iotest.ErrReader(broken)) {
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
}

func TestFilesTypesAreBounded(t *testing.T) {
	w := NewFilesWriter(&bytes.Buffer{})
	for i := range 1000 {
		if err := w.Write(&File{
			Path:   fmt.Sprintf("f%04d", i),
			URL:    "https://h.example/",
			Type:   fmt.Sprintf("x/%d", i),
			SHA256: sum0,
		}); err != nil {
			t.Fatal(err)
		}
	}
	table, err := w.Finish()
	if err != nil || len(table.Types) != maxTypes+1 {
		t.Errorf("%d types, %v", len(table.Types), err)
	}
}

func FuzzFiles(f *testing.F) {
	f.Add([]byte(`{"path":"a","url":"https://h.example/","size":1,"sha256":"` + sum0 + `"}` + "\n"))
	f.Add([]byte(`{"path":"a","url":"https://h.example/","size":1,"sha256":"` + sum0 +
		`","modified":"2026-01-02T03:04:05Z","edits":[{"kind":"base","at":3}],"x":{"y":[]}}` + "\n{}\n"))
	f.Add(
		[]byte(
			`{"path":"a","url":"https://h.example/","type":"t/x","size":10,"sha256":"x","modified":"2026-01-02T03:04:05Z","edits":[{"kind":"base","at":3},{"kind":"csp","at":0}],"from":"b/a"}`))
	f.Add([]byte("null\n[]\n1\n\"\"\n{\"path\":null}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		for line := range bytes.Lines(in) { // both parsers read the same
			if f, ok := parseOwn(string(line)); ok {
				if g, err := parseJSON(line); err != nil || !reflect.DeepEqual(f, g) {
					t.Fatalf("%q\n own  %+v\n json %+v, %v", line, f, g, err)
				}
			}
		}
		var out bytes.Buffer
		w := NewFilesWriter(&out)
		n := 0
		for e, err := range Files(bytes.NewReader(in)) {
			if err != nil {
				continue
			}
			n++
			if err := w.Write(e); err != nil {
				t.Fatalf("read but not written: %v", err)
			}
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		again := out.Bytes()
		var second []byte
		for e, err := range Files(bytes.NewReader(again)) {
			if err != nil {
				t.Fatalf("written but not read: %v", err)
			}
			n--
			if second, err = AppendFile(second, e); err != nil {
				t.Fatal(err)
			}
		}
		if n != 0 || !bytes.Equal(again, second) {
			t.Fatalf("%d lost; first\n%ssecond\n%s", n, again, second)
		}
	})
}

func BenchmarkFilesWriter(b *testing.B) {
	w := NewFilesWriter(discard{})
	paths := make([]string, 1<<20)
	for i := range paths {
		paths[i] = fmt.Sprintf("openjdk/api/java.base/Class%08d.html", i)
	}
	f := &File{
		URL:      "https://h.example/openjdk/api/java.base/Class.html",
		Type:     "text/html",
		Size:     1000,
		SHA256:   sum0,
		Modified: retrieved,
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i&(1<<20-1) == 0 {
			w = NewFilesWriter(discard{})
		}
		f.Path = paths[i&(1<<20-1)]
		if err := w.Write(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFilesReader(b *testing.B) {
	var in []byte
	for i := range 1000 {
		f := &File{
			Path:     fmt.Sprintf("openjdk/api/Class%04d.html", i),
			URL:      "https://h.example/openjdk/api/Class.html",
			Type:     "text/html",
			Size:     1000,
			SHA256:   sum0,
			Modified: retrieved,
		}
		in, _ = AppendFile(in, f)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		for _, err := range Files(bytes.NewReader(in)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
