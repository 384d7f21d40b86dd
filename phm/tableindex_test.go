// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"mirrord/site"
)

func TestTableIndex(t *testing.T) {
	var b bytes.Buffer
	w := NewFilesWriter(&b)
	for i := range 3000 {
		path := fmt.Sprintf("d%04d/x%d.html", i, i)
		if err := w.Write(&File{
			Path:   path,
			URL:    "http://x.test/" + path + "?q",
			Type:   "text/html",
			Size:   int64(i),
			SHA256: strings.Repeat("ab", 32),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	lines := strings.SplitAfter(good, "\n")
	damaged := strings.Join(
		append(append(append([]string{}, lines[:10]...), "{not JSON}\n", strings.Repeat("x", 5<<20)+"\n"),
			lines[11:]...), "")
	for name, text := range map[string]string{
		"good":                       good,
		"two bad lines, one missing": damaged,
		"cut":                        good[:len(good)-5],
	} {
		r := strings.NewReader(text)
		x, err := IndexTable(r, 3)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range 3000 {
			path := fmt.Sprintf("d%04d/x%d.html", i, i)
			u, _, _ := site.Parse("http://x.test/" + path + "?q")
			want := !((name == "two bad lines, one missing" && i == 10) || (name == "cut" && i == 2999))
			f, err := x.ByURL(r, u.String())
			g, err2 := x.ByPath(r, path)
			if err != nil || err2 != nil || (f != nil) != want || (g != nil) != want ||
				(want && (f.Path != path || g.Size != int64(i))) {
				t.Fatalf("%s: %s: %v %v, %v %v", name, path, f, g, err, err2)
			}
		}
		if f, err := x.ByPath(r, "none"); f != nil || err != nil {
			t.Errorf("%s: %v %v", name, f, err)
		}
	}
	broken := io.MultiReader(strings.NewReader(good), errReader{})
	if _, err := IndexTable(broken, 0); err == nil {
		t.Error("a read error is no end")
	}
}

// A file that several URLs share is found by each of them.
func TestTableIndexShared(t *testing.T) {
	line, err := AppendFile(nil, &File{
		Path:   "a/index.html",
		URL:    "http://x.test/a/",
		Type:   "text/html",
		SHA256: strings.Repeat("ab", 32),
		Extra:  map[string]json.RawMessage{AlsoField: json.RawMessage(`["http://x.test/a/index.html"]`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(line)
	x, err := IndexTable(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	for u, want := range map[string]bool{
		"http://x.test/a/":           true,
		"http://x.test/a/index.html": true,
		"http://x.test/a/other.html": false,
	} {
		if f, err := x.ByURL(r, u); err != nil || (f != nil) != want {
			t.Errorf("%s: %v, %v", u, f, err)
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("disk") }

func BenchmarkIndexTable(b *testing.B) {
	var buf bytes.Buffer
	w := NewFilesWriter(&buf)
	const n = 75_000
	for i := range n {
		path := fmt.Sprintf("docs/section%05d/page%05d.html", i/50, i)
		if err := w.Write(&File{
			Path:   path,
			URL:    "https://www.example.org/" + path,
			Type:   "text/html",
			Size:   int64(i),
			SHA256: strings.Repeat("ab", 32),
		}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := IndexTable(bytes.NewReader(buf.Bytes()), n); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/file")
}
