// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"mirrord/archive/zim"
	"mirrord/internal/inorder"
	"mirrord/phm"
	"mirrord/testing/oracle"
	"mirrord/testing/phmtest"
)

// nasty is a PHM with all that zimcheck dislikes.
func nasty(t testing.TB) fstest.MapFS {
	t.Helper()
	files := map[string][]byte{
		"index.html": []byte(`<title>Start</title><base href=""><a href="/none.html">n</a><a href="">self</a>` +
			`<img src="https://o.example/x.png"><script>a = '<a href="' + x + '">'</script><a href="docs/a b.html">`),
		"docs/a b.html":       []byte("<title>&Auml; &amp; B</title><pre>&lt;a href='x'&gt;</pre>"),
		"docs/empty.html":     nil,
		"docs/empty.css":      nil,
		"LICENSE":             []byte("free\n"),
		"twice/a.html":        []byte("<title>Twice</title>"),
		"twice/b/a.html":      []byte("<title>Twice</title>"),
		"twice/b/a.txt":       []byte("<title>Twice</title>"),
		"favicon.ico":         []byte("\x00\x00\x01\x00broken"),
		"@o.example/ü~1.html": []byte("<title>Z</title><p src='//x'>"),
	}
	for i := range 60 {
		files[fmt.Sprintf("p/%03d.html", i)] = fmt.Appendf(nil, "<title>Page %d</title>%s", i,
			strings.Repeat(fmt.Sprintf("<p>words %d</p>\n", i*i), 2000))
	}
	files["big.bin"] = bytes.Repeat([]byte("0123456789abcdef\n"), inMemory/16)
	return phmtest.Tree(t, time.Date(2026, 11, 20, 3, 31, 0, 0, time.UTC), files)
}

// pack returns the path of a ZIM file that a tree was packed into.
func pack(t testing.TB, tree fs.FS, o Options) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "set.zim"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Pack(f, tree, o); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Unpacking gives the PHM that was packed, despite the changes for readers; and equal trees give equal files.
func TestPack(t *testing.T) {
	tree := nasty(t)
	data := read(t, pack(t, tree, Options{Name: "nasty"}))
	testPacked(t, tree, data)
	crew := inorder.Crew{Go: func(f func()) { go f() }, Size: 3}
	if again := read(t, pack(t, tree, Options{Name: "nasty", Crew: crew})); !bytes.Equal(data, again) {
		t.Error("two files of one tree differ")
	}
	// small clusters, so that some are packed at the end
	data = read(t, pack(t, tree, Options{Name: "nasty", together: 100_000}))
	testPacked(t, tree, data)
	again := read(t, pack(t, tree, Options{Name: "nasty", together: 100_000, Crew: crew}))
	if !bytes.Equal(data, again) {
		t.Error("two files of small clusters differ")
	}
}

// testPacked looks at what the nasty tree was packed to.
func testPacked(t *testing.T, tree fstest.MapFS, data []byte) {
	t.Helper()
	got, err := Open(bytes.NewReader(data), int64(len(data)), phm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := phm.Verify(got, phm.VerifyOptions{})
	if err == nil {
		err = errors.Join(report.Err(), got.CheckSum())
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range tree {
		if body, err := fs.ReadFile(got, name); err != nil || !bytes.Equal(body, f.Data) {
			t.Errorf("%s: %d bytes, not %d: %v", name, len(body), len(f.Data), err)
		}
	}
	z, err := zim.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"docs/empty.css":  "\n",
		"docs/a b.html":   "<title>&Auml; &amp; B</title><pre>&lt;a href=&#39;x'&gt;</pre>",
		"LICENSE":         "free\n",
		"docs/empty.html": "\n",
	} {
		e, _, _ := z.Find(zim.Content, name)
		b, err := z.Blob(e)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(b); err != nil || body.String() != want {
			t.Errorf("%s is shown as %q, %v", name, &body, err)
		}
	}
	if e, _, err := z.Find(zim.Content, "docs/a b.html"); err != nil || e.Title != "Ä & B" {
		t.Errorf("title %q: %v", e.Title, err)
	}
	e, _, err := z.Find(zim.Metadata, "Illustration_48x48@1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := z.Blob(e)
	if err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(b); err != nil || img.Bounds().Dx() != iconSide || img.Bounds().Dy() != iconSide {
		t.Errorf("illustration: %v", err)
	}
}

// TestZimcheck: the checker of the people who made the format has nothing to say.
func TestZimcheck(t *testing.T) {
	oracle.Zimcheck(t, pack(t, nasty(t), Options{Name: "nasty", together: 100_000}))
}

// Files that are none of ours, are damaged, or would unpack to too much are refused.
func TestOpenRefuses(t *testing.T) {
	data := read(t, pack(t, nasty(t), Options{Name: "nasty"}))
	open := func(data []byte, l phm.Limits) error {
		_, err := Open(bytes.NewReader(data), int64(len(data)), l)
		return err
	}
	if err := open(data, phm.Limits{Total: 1000}); !errors.Is(err, phm.ErrUnsafe) {
		t.Errorf("too large: %v", err)
	}
	if err := open(data, phm.Limits{Entries: 10}); err == nil {
		t.Error("too many entries are read")
	}
	if err := open(data[:len(data)/2], phm.Limits{}); !errors.Is(err, zim.ErrDamaged) {
		t.Errorf("cut: %v", err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "other.zim"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := zim.NewWriter(f, zim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(read(t, f.Name()), phm.Limits{}); !errors.Is(err, phm.ErrNotPHM) ||
		!strings.Contains(err.Error(), "not written by mirrord") {
		t.Errorf("of another program: %v", err)
	}
	old := bytes.Clone(data)
	copy(old[4:], []byte{5, 0, 0, 0}) // version 5.0
	if err := open(old, phm.Limits{}); !errors.Is(err, phm.ErrNotPHM) ||
		!strings.Contains(err.Error(), "namespaces of before 2021 (version 5.0)") {
		t.Errorf("an old one: %v", err)
	}
}

// A damaged file ends the packing, and nothing runs afterwards.
func TestPackDamaged(t *testing.T) {
	tree := nasty(t)
	tree["p/030.html"].Data[100] ^= 1
	f, err := os.Create(filepath.Join(t.TempDir(), "set.zim"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Pack(f, tree, Options{}); !errors.Is(err, phm.ErrDamaged) ||
		!strings.Contains(err.Error(), "p/030.html") {
		t.Errorf("error %v", err)
	}
}

// Files of before, which have each page that differs as a whole, are read too.
func TestOpenKeptWhole(t *testing.T) {
	data := read(t, filepath.Join("testdata", "kept-whole.zim"))
	tree, err := Open(bytes.NewReader(data), int64(len(data)), phm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := phm.Verify(tree, phm.VerifyOptions{})
	if err == nil {
		err = errors.Join(report.Err(), tree.CheckSum())
	}
	if err != nil || report.Files != 3 {
		t.Errorf("%+v, %v", report, err)
	}
}

// Redirects lead to files. None is at the path of a file, leads nowhere, or is there twice.
func TestRedirects(t *testing.T) {
	tree := nasty(t)
	name := pack(t, tree, Options{Redirects: []Redirect{
		{"old.html", "docs/a b.html"}, {"LICENSE", "index.html"}, {"dead.html", "none.html"},
		{"old.html", "index.html"}, {"a/b/ü.html", "index.html"},
	}})
	data := read(t, name)
	z, err := zim.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := z.Each(func(e zim.Located) error {
		if e.Namespace != zim.Content || e.Target < 0 {
			return nil
		}
		to, err := z.At(e.Target)
		got[e.Path] = to.Path
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"old.html": "docs/a b.html", "a/b/ü.html": "index.html"}
	if !maps.Equal(got, want) {
		t.Errorf("redirects %v, want %v", got, want)
	}
	set, err := Open(bytes.NewReader(data), int64(len(data)), phm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := phm.Verify(set, phm.VerifyOptions{}); err != nil || report.Err() != nil {
		t.Errorf("the set: %v, %v", err, report.Err())
	}
	if bytes.Equal(data, read(t, pack(t, tree, Options{}))) {
		t.Error("the file is the same without redirects")
	}
	oracle.Zimcheck(t, name)
}
