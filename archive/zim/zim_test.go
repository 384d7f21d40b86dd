// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sampleCluster is how many bytes of blobs share a cluster in a sample.
const sampleCluster = 10_000

// sample writes a ZIM file of pages, pictures, an empty file and a stream, and returns it.
func sample(t testing.TB, o Options) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "a.zim"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o.Types = []string{"text/html", "image/png"}
	o.MainPage = "index.html"
	w, err := NewWriter(f, o)
	if err != nil {
		t.Fatal(err)
	}
	open := map[bool]*OpenCluster{}
	take := func(plain bool) {
		t.Helper()
		if c := open[plain]; c != nil {
			c.Pack()
			if err := w.Take(c); err != nil {
				t.Fatal(err)
			}
		}
		open[plain] = w.NewCluster(plain, sampleCluster)
	}
	take(false)
	take(true)
	for _, e := range entries() {
		if e.stream {
			if err := writeStream(w, e.Entry, int64(len(e.body)), e.body); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if c := open[e.Plain]; len(c.sizes) > 0 && len(c.data)-headRoom+len(e.body) > sampleCluster {
			take(e.Plain)
		}
		open[e.Plain].Add(e.Entry, e.body)
	}
	take(false)
	take(true)
	err = w.Redirect(Entry{Namespace: Content, Path: "docs/", Title: "Docs"}, "docs/page 7.html")
	if err != nil {
		t.Fatal(err)
	}
	return closed(t, w, f)
}

// closed closes a writer and returns what it wrote.
func closed(t testing.TB, w *Writer, f *os.File) []byte {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeStream(w *Writer, e Entry, size int64, body []byte) error {
	s, err := w.Stream(e, size)
	if err != nil {
		return err
	}
	_, err = s.Write(body)
	return errors.Join(err, s.Close())
}

type sampleEntry struct {
	Entry
	body   []byte
	stream bool
}

func entries() (all []sampleEntry) {
	random := rand.New(rand.NewPCG(1, 2))
	add := func(path, title, mime string, body []byte, stream bool) {
		all = append(all, sampleEntry{Entry{
			Namespace: Content,
			Path:      path,
			Title:     title,
			Type:      mime,
			Front:     mime == "text/html",
			Plain:     mime != "text/html",
		}, body, stream})
	}
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	for i := range 20 {
		body := bytes.Repeat(fmt.Appendf(nil, "<p>%d %x</p>\n", i, noise(20)), 40)
		add(fmt.Sprintf("docs/page %d.html", i), fmt.Sprintf("Zürich %02d", 99-i), "text/html", body, false)
		add(fmt.Sprintf("img/%d.png", i), "", "image/png", noise(3000), false)
	}
	add("empty.html", "Empty", "text/html", nil, false)
	add("index.html", "Start", "text/html", []byte("<title>Start</title>"), false)
	add("large.html", "Large", "text/html", bytes.Repeat([]byte("large "), 50_000), true)
	add("large.png", "", "image/png", noise(100_000), true)
	add("zeros.html", "Zeros", "text/html", make([]byte, 100_000), false)
	return all
}

func open(t testing.TB, data []byte) *Reader {
	t.Helper()
	z, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// found is the entry at a path, which is there.
func found(t testing.TB, z *Reader, namespace byte, path string) Located {
	t.Helper()
	f, ok, err := z.Find(namespace, path)
	if err != nil || !ok {
		t.Fatalf("%c/%s: %v, %v", namespace, path, ok, err)
	}
	return f
}

func content(z *Reader, f Located) ([]byte, error) {
	b, err := z.Blob(f)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	data, err := io.ReadAll(io.LimitReader(b, 1<<20))
	if (err == nil) && int64(len(data)) != min(b.Size, 1<<20) {
		err = fmt.Errorf("%d bytes, not %d", len(data), b.Size)
	}
	return data, err
}

func TestRoundTrip(t *testing.T) {
	z := open(t, sample(t, Options{UUID: [16]byte{1, 2, 3}}))
	if err := z.CheckSum(); err != nil {
		t.Error(err)
	}
	for _, e := range entries() {
		got := found(t, z, Content, e.Path)
		if want := e.Title; got.Target >= 0 || got.Type != e.Type || (want != "" && got.Title != want) {
			t.Errorf("%s: %+v", e.Path, got)
		}
		if body, err := content(z, got); err != nil || !bytes.Equal(body, e.body) {
			t.Errorf("%s: %d bytes, not %d: %v", e.Path, len(body), len(e.body), err)
		}
	}
	if main, ok, err := z.MainPage(); !ok || err != nil || main.Path != "index.html" {
		t.Errorf("main page %q: %v", main.Path, err)
	}
	if e, ok, err := z.Follow(found(t, z, Content, "docs/")); err != nil || !ok || e.Path != "docs/page 7.html" {
		t.Errorf("the redirect is to %s: %v, %v", e.Path, ok, err)
	}
	body, err := content(z, found(t, z, Metadata, counterName))
	if err != nil || string(body) != "image/png=21;text/html=24" {
		t.Errorf("counter %q, %v", body, err)
	}
	if z.UUID != [16]byte{1, 2, 3} || z.Minor != 1 {
		t.Errorf("UUID %x, minor version %d", z.UUID, z.Minor)
	}
}

// The listings hold the indexes of entries by namespace and title.
func TestListings(t *testing.T) {
	z := open(t, sample(t, Options{}))
	titles := func(list string) (out []string) {
		body, err := content(z, found(t, z, Index, list))
		if err != nil || len(body)%4 != 0 {
			t.Fatalf("%s: %d bytes, %v", list, len(body), err)
		}
		for k := 0; k < len(body); k += 4 {
			e, err := z.At(int(body[k]) | int(body[k+1])<<8)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(e.Namespace)+e.Title)
		}
		if !slices.IsSorted(out) {
			t.Errorf("%s is not sorted: %q", list, out)
		}
		return out
	}
	if all := titles(listingV0); len(all) != z.Len() {
		t.Errorf("%d of %d entries are listed", len(all), z.Len())
	}
	if pages := titles(listingV1); len(pages) != 24 || pages[0] != "CEmpty" {
		t.Errorf("%d pages, the first is %s", len(pages), pages[0])
	}
}

// failingFile takes nothing.
type failingFile struct {
	*os.File
	fail error
}

func (m failingFile) Write(p []byte) (int, error) {
	if m.fail != nil {
		return 0, m.fail
	}
	return m.File.Write(p)
}

func TestWriterRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(w *Writer) error
		want string
	}{
		"unknown type": {func(w *Writer) error { return w.Add(Entry{Path: "a", Type: "a/b"}, nil) },
			"is not in the list"},
		"no path": {func(w *Writer) error { return w.Add(Entry{Type: "text/html"}, nil) }, "an empty path"},
		"NUL": {func(w *Writer) error { return w.Add(Entry{Path: "a\x00b", Type: "text/html"}, nil) },
			"a NUL"},
		"twice": {func(w *Writer) error {
			e := Entry{Namespace: Content, Path: "a", Type: "text/html"}
			return errors.Join(w.Add(e, nil), w.Add(e, nil))
		}, "stands twice"},
		"redirect to nothing": {func(w *Writer) error {
			return w.Redirect(Entry{Namespace: Content, Path: "a"}, "b")
		}, "was not added"},
		"short stream": {func(w *Writer) error {
			return writeStream(w, Entry{Path: "a", Type: "text/html"}, 5, []byte("1234"))
		}, "1 bytes are missing"},
		"long stream": {func(w *Writer) error {
			return writeStream(w, Entry{Path: "a", Type: "text/html", Plain: true}, 5, []byte("123456"))
		}, "does not have the size"},
	} {
		f, err := os.Create(filepath.Join(t.TempDir(), "a.zim"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(f, Options{Types: []string{"text/html"}})
		if err != nil {
			t.Fatal(err)
		}
		_ = c.do(w)
		if err := w.Close(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		f.Close()
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "a.zim"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	full := errors.New("disk full")
	if _, err := NewWriter(failingFile{f, full}, Options{}); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

// Damage is found, with its place.
func TestDamaged(t *testing.T) {
	whole := sample(t, Options{})
	edit := func(at int, b ...byte) []byte {
		data := slices.Clone(whole)
		copy(data[at:], b)
		return data
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "not a ZIM file"},
		"text":             {[]byte(strings.Repeat("text ", 100)), "not a ZIM file"},
		"cut":              {whole[:len(whole)-100], "cut short"},
		"only a header":    {whole[:80], "cut short"},
		"version 4":        {edit(4, 4, 0), "version 4.1"},
		"entries":          {edit(24, 0xff, 0xff, 0xff, 0x7f), "at byte 32: path pointers"},
		"more entries":     {edit(24, 0, 0, 1, 0), "at byte 32: path pointers"},
		"clusters":         {edit(28, 0, 0, 1, 0), "at byte 48: cluster pointers"},
		"path pointers":    {edit(32, 0xff, 0xff, 0xff, 0xff), "at byte 32"},
		"cluster pointers": {edit(48, 1, 0, 0, 0), "at byte 48"},
		"MIME list":        {edit(56, 0xff, 0xff, 0xff, 0xff, 0xff), "at byte 56"},
		"a bit of a blob":  {edit(5000, whole[5000]^1), ""},
	} {
		z, err := Open(bytes.NewReader(c.data), int64(len(c.data)))
		if err == nil && c.want == "" {
			if err = z.CheckSum(); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// FuzzOpen: reading any file ends, in bounded memory, without a panic.
func FuzzOpen(f *testing.F) {
	small := sampleOf(f)
	f.Add(small, 0, byte(0))
	for i := 0; i < len(small); i += 37 {
		f.Add(small, i, byte(0x55))
	}
	f.Fuzz(func(t *testing.T, data []byte, at int, x byte) {
		if at >= 0 && at < len(data) {
			data = slices.Clone(data)
			data[at] ^= x
		}
		z, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		_ = z.Each(func(f Located) error {
			if f.Target < 0 {
				_, _ = content(z, f)
			}
			return nil
		})
		_ = z.CheckSum()
	})
}

// sampleOf is a small file for the fuzzer.
func sampleOf(t testing.TB) []byte {
	f, err := os.Create(filepath.Join(t.TempDir(), "a.zim"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := NewWriter(f, Options{Types: []string{"text/html"}, MainPage: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Entry{{Path: "a", Title: "A"}, {Path: "b", Plain: true}, {Path: "c"}} {
		e.Namespace, e.Type = Content, "text/html"
		if err := w.Add(e, []byte(strings.Repeat(e.Path+" text ", 9))); err != nil {
			t.Fatal(err)
		}
	}
	return closed(t, w, f)
}

// Entries of clusters that others have packed are found, those that share a blob, too.
func TestTake(t *testing.T) {
	bodies := map[string][]byte{}
	f, err := os.Create(filepath.Join(t.TempDir(), "a.zim"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := NewWriter(f, Options{Types: []string{"text/html"}, MainPage: "07"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		e := Entry{
			Namespace: Content,
			Path:      fmt.Sprintf("%02d", i),
			Type:      "text/html",
			Front:     true,
		}
		c := w.NewCluster(false, 0)
		body := bytes.Repeat(fmt.Appendf(nil, "page %d ", i), 3000)
		c.Add(e, append(c.Room(len(body))[:0], body...))
		bodies[e.Path] = body
		e.Path += "="
		if i == 0 {
			c.Hold([16]byte{1}, []byte("the same"))
		}
		c.Share(e, [16]byte{1})
		bodies[e.Path] = []byte("the same")
		e.Path += "+"
		c.Add(e, []byte("after it"))
		bodies[e.Path] = []byte("after it")
		c.Pack()
		if err := w.Take(c); err != nil {
			t.Fatal(err)
		}
	}
	data := closed(t, w, f)
	z := open(t, data)
	if err := z.CheckSum(); err != nil {
		t.Error(err)
	}
	for path, want := range bodies {
		if body, err := content(z, found(t, z, Content, path)); err != nil || !bytes.Equal(body, want) {
			t.Errorf("%s: %d bytes, not %d: %v", path, len(body), len(want), err)
		}
	}
	if main, _, err := z.MainPage(); err != nil || main.Index != 21 {
		t.Errorf("the main page is entry %d: %v", main.Index, err)
	}
	z.Survey(func(err error) { t.Error(err) })
}

// The error of an entry of a cluster is returned when the cluster is added.
func TestClusterRefuses(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a.zim"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for want, fill := range map[string]func(*OpenCluster){
		"no cluster before has": func(c *OpenCluster) { c.Share(Entry{Path: "a", Type: textType}, [16]byte{1}) },
		"is not in the list":    func(c *OpenCluster) { c.Add(Entry{Path: "a", Type: "a/b"}, nil) },
		"one blob too many": func(c *OpenCluster) {
			for range maxBlobs + 1 {
				c.Add(Entry{Path: "a", Type: textType}, nil)
			}
		},
	} {
		w, err := NewWriter(f, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := w.NewCluster(false, 0)
		fill(c)
		c.Pack()
		if err := w.Take(c); !errors.Is(err, ErrEntry) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := w.Close(); !errors.Is(err, ErrEntry) {
			t.Errorf("closed: %v", err)
		}
	}
}
