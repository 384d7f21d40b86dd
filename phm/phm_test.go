// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var retrieved = time.Date(2026, 11, 20, 3, 31, 0, 0, time.UTC)

// memSink keeps a tree in memory and fails the test on a broken promise of Sink.
type memSink struct {
	t     testing.TB
	files fstest.MapFS
	order []string
	limit int // bytes it takes before it is full; 0 has no limit
}

func newSink(t testing.TB) *memSink { return &memSink{t: t, files: fstest.MapFS{}} }

type memFile struct {
	bytes.Buffer
	sink     *memSink
	path     string
	modified time.Time
}

func (s *memSink) Create(path string, modified time.Time) (io.WriteCloser, error) {
	if _, twice := s.files[path]; twice {
		s.t.Fatalf("%q was created twice", path)
	}
	if path != MetaName && path != FilesName {
		if err := CheckPath(path); err != nil {
			s.t.Fatal(err)
		}
	}
	if _, done := s.files[MetaName]; done {
		s.t.Fatalf("%q was created after %s", path, MetaName)
	}
	return &memFile{sink: s, path: path, modified: modified}, nil
}

func (f *memFile) Write(p []byte) (int, error) {
	if f.sink.limit > 0 && f.Len()+len(p) > f.sink.limit {
		return 0, fmt.Errorf("no space left on device")
	}
	return f.Buffer.Write(p)
}

func (f *memFile) Close() error {
	f.sink.files[f.path] = &fstest.MapFile{Data: f.Bytes(), Mode: 0o644, ModTime: f.modified}
	f.sink.order = append(f.sink.order, f.path)
	return nil
}

// typeOf guesses a MIME type for tests.
func typeOf(path string) string {
	for ext, mime := range map[string]string{
		".html": "text/html",
		".css":  "text/css",
		".png":  "image/png",
		".pdf":  "application/pdf",
	} {
		if strings.HasSuffix(path, ext) {
			return mime
		}
	}
	return "application/octet-stream"
}

// makePHM builds a tree from bodies; its URLs are those of https://h.example. Names that the format refuses
// are left out of the table.
func makePHM(t testing.TB, entry string, bodies map[string]string) fstest.MapFS {
	t.Helper()
	tree := fstest.MapFS{}
	var table bytes.Buffer
	w := NewFilesWriter(&table)
	for _, path := range slices.Sorted(maps.Keys(bodies)) {
		body := bodies[path]
		tree[path] = &fstest.MapFile{Data: []byte(body), Mode: 0o644, ModTime: retrieved}
		sum := sha256.Sum256([]byte(body))
		f := &File{
			Path:     path,
			URL:      "https://h.example" + (&url.URL{Path: "/" + path}).EscapedPath(),
			Type:     typeOf(path),
			Size:     int64(len(body)),
			SHA256:   hex.EncodeToString(sum[:]),
			Modified: retrieved.Add(-time.Duration(len(path)) * time.Hour),
		}
		if err := w.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	m := &Meta{
		Generator: "test",
		Entry:     entry,
		Title:     "A <test> & more",
		Origins:   []string{"https://h.example/"},
		Retrieved: retrieved,
	}
	m.Count(sum)
	var meta bytes.Buffer
	if err := WriteMeta(&meta, m); err != nil {
		t.Fatal(err)
	}
	tree[FilesName] = &fstest.MapFile{Data: table.Bytes(), Mode: 0o644}
	tree[MetaName] = &fstest.MapFile{Data: meta.Bytes(), Mode: 0o644}
	return tree
}

func sampleBodies() map[string]string {
	return map[string]string{
		"index.html": `<title>Home</title><a href="docs/index.html">d</a><img src="img/a.png"><a href="img/café.pdf">p</a>`,
		"docs/index.html": `<a href="../index.html">home</a><link href="../style.css">` +
			strings.Repeat("<p>text</p>", 500),
		"docs/a.html":  `<a href="index.html#top">up</a><a href="https://elsewhere.example/">out</a>`,
		"style.css":    strings.Repeat("p { margin: 0 }\n", 200),
		"img/a.png":    "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00\x01\x02\xfe", 100),
		"img/café.pdf": "%PDF-1.7",
		"empty.bin":    "",
	}
}

func sample(t testing.TB) fstest.MapFS { return makePHM(t, "index.html", sampleBodies()) }

// sameTree reports the difference of two trees.
func sameTree(t testing.TB, got, want fs.FS) {
	t.Helper()
	list := func(fsys fs.FS) (names []string) {
		if err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return names
	}
	g, w := list(got), list(want)
	if !slices.Equal(g, w) {
		t.Fatalf("files are %q, want %q", g, w)
	}
	for _, path := range w {
		a, err1 := fs.ReadFile(got, path)
		b, err2 := fs.ReadFile(want, path)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs:\n got %.300q\nwant %.300q", path, a, b)
		}
	}
}
