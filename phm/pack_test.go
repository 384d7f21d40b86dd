// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func pack(t testing.TB, tree fstest.MapFS) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := Pack(&b, tree, PackOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func wantOrder(tree fstest.MapFS) []string {
	var names []string
	for name := range tree {
		if name != MetaName && name != FilesName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append([]string{MetaName, FilesName}, names...)
}

// TestPackStandardReader: an ordinary ZIP reader opens the archive, finds phm.json first, and reads every
// file with its time.
func TestPackStandardReader(t *testing.T) {
	tree := sample(t)
	archive := pack(t, tree)
	if !bytes.HasPrefix(archive, []byte("PK\x03\x04")) || string(archive[30:38]) != MetaName {
		t.Errorf("the archive begins with %.40q", archive)
	}
	if again := pack(t, tree); !bytes.Equal(again, archive) {
		t.Error("packing twice gives two archives")
	}
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	methods := map[string]uint16{}
	for _, f := range z.File {
		names = append(names, f.Name)
		methods[f.Name] = f.Method
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(body, tree[f.Name].Data) {
			t.Errorf("%s: %v, %.60q", f.Name, err, body)
		}
		want := retrieved
		if f.Name != MetaName && f.Name != FilesName {
			want = retrieved.Add(-time.Duration(len(f.Name)) * time.Hour)
		}
		if !f.Modified.Equal(want) {
			t.Errorf("%s: modified %v, want %v", f.Name, f.Modified, want)
		}
		if f.Mode() != 0o644 {
			t.Errorf("%s: mode %v", f.Name, f.Mode())
		}
		if f.Flags&8 != 0 {
			t.Errorf("%s: a small file has a data descriptor", f.Name)
		}
		if f.NonUTF8 {
			t.Errorf("%s: not marked as UTF-8", f.Name)
		}
	}
	if want := wantOrder(tree); !slices.Equal(names, want) {
		t.Errorf("entries are %q, want %q", names, want)
	}
	if methods["style.css"] != zip.Deflate || methods["img/a.png"] != zip.Store ||
		methods["empty.bin"] != zip.Store {
		t.Errorf("methods are %v", methods)
	}
}

// TestPackLargeFiles: files over the one-pass size, stored and deflated.
func TestPackLargeFiles(t *testing.T) {
	noise := make([]byte, inMemory+1)
	rnd := rand.NewChaCha8([32]byte{1})
	rnd.Read(noise)
	tree := makePHM(t, "index.html", map[string]string{
		"index.html": "x",
		"big.png":    string(noise),
		"big.css":    strings.Repeat("a { color: red }\n", inMemory/17+100),
	})
	archive := pack(t, tree)
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if f.Name == "big.png" && (f.Flags&8 != 0 || f.Method != zip.Store) {
			t.Errorf("a stored file has flags %x, method %d: a stream reader cannot find its end", f.Flags, f.Method)
		}
	}
	sink, err := unpack(t, archive, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	sameTree(t, sink.files, tree)
}

func TestPackRefusesDamage(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(fstest.MapFS)
		want  error
	}{
		"digest":  {func(m fstest.MapFS) { m["index.html"].Data[3] ^= 1 }, ErrDamaged},
		"shorter": {func(m fstest.MapFS) { m["style.css"].Data = m["style.css"].Data[1:] }, ErrDamaged},
		"longer":  {func(m fstest.MapFS) { m["empty.bin"].Data = []byte("x") }, ErrDamaged},
		"missing": {func(m fstest.MapFS) { delete(m, "empty.bin") }, fs.ErrNotExist},
		"table": {func(m fstest.MapFS) {
			m[FilesName].Data = append([]byte("{}\n"), m[FilesName].Data...)
		}, ErrDamaged},
		"totals": {func(m fstest.MapFS) {
			m[MetaName].Data = bytes.Replace(m[MetaName].Data, []byte(`"files": `), []byte(`"files": 1`), 1)
		}, ErrDamaged},
		"no meta":  {func(m fstest.MapFS) { delete(m, MetaName) }, ErrNotPHM},
		"no table": {func(m fstest.MapFS) { delete(m, FilesName) }, fs.ErrNotExist},
		"newer": {func(m fstest.MapFS) {
			m[MetaName].Data = bytes.Replace(m[MetaName].Data, []byte(`"phm": 1`), []byte(`"phm": 99`), 1)
		}, ErrNewer},
	} {
		tree := sample(t)
		c.spoil(tree)
		if _, err := Pack(io.Discard, tree, PackOptions{}); !errors.Is(err, c.want) {
			t.Errorf("%s: Pack = %v, want %v", name, err, c.want)
		}
		if _, err := PackTar(io.Discard, tree, PackOptions{}); !errors.Is(err, c.want) {
			t.Errorf("%s: PackTar = %v, want %v", name, err, c.want)
		}
	}
}

func TestPackFullDisk(t *testing.T) {
	tree := sample(t)
	n := len(pack(t, tree))
	full := errors.New("no space left on device")
	for _, after := range []int{0, 100, n / 2, n - 1} {
		if _, err := Pack(&fullWriter{after, full}, tree, PackOptions{}); !errors.Is(err, full) {
			t.Errorf("after %d bytes: %v", after, err)
		}
	}
}

type fullWriter struct {
	left int
	err  error
}

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, w.err
	}
	return len(p), nil
}

func TestPackTar(t *testing.T) {
	bodies := sampleBodies()
	bodies[strings.Repeat("long/", 60)+"é.html"] = "deep"
	tree := makePHM(t, "index.html", bodies)
	a, b := packTar(t, tree, "samba-v12/"), packTar(t, tree, "samba-v12/")
	if !bytes.Equal(a, b) {
		t.Error("packing twice gives two archives")
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(a)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(h.Name, "samba-v12/")
		names = append(names, name)
		body, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(body, tree[name].Data) {
			t.Errorf("%s: %v, %.60q", h.Name, err, body)
		}
		if h.Mode != 0o644 || h.Typeflag != tar.TypeReg || h.Uname != "" {
			t.Errorf("%s: header %+v", h.Name, h)
		}
	}
	if want := wantOrder(tree); !slices.Equal(names, want) {
		t.Errorf("entries are %q, want %q", names, want)
	}
	if _, err := PackTar(io.Discard, tree, PackOptions{Prefix: "../x"}); !errors.Is(err, ErrPath) {
		t.Errorf("a prefix that leaves the tree: %v", err)
	}
}

func TestPackTimes(t *testing.T) {
	for in, want := range map[time.Time]int{
		{}:              1980,
		time.Unix(0, 0): 1980,
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC): 2100,
		retrieved: 2026,
	} {
		if got := clampTime(in).Year(); got != want {
			t.Errorf("%v: %d, want %d", in, got, want)
		}
	}
}

func BenchmarkPack(b *testing.B) {
	bodies := map[string]string{"index.html": "x"}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		var s strings.Builder
		for s.Len() < 20_000 {
			s.WriteString([]string{"<p>", "the ", "mirror ", "of ", "a ", "site ", "</p>\n", "<a href=\"x.html\">",
				"</a>"}[rnd.IntN(9)])
		}
		bodies["docs/"+strings.Repeat("p", i%20+1)+string(rune('a'+i/20))+".html"] = s.String()
	}
	tree := makePHM(b, "index.html", bodies)
	n := int64(0)
	for _, s := range bodies {
		n += int64(len(s))
	}
	b.SetBytes(n)
	for b.Loop() {
		if _, err := Pack(io.Discard, tree, PackOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPackNamesComeBack: an archive of any names that the format permits is one that the format's reader
// accepts, whichever way its files are packed. archive/zip takes "~" for a character that needs the UTF-8
// mark.
func TestPackNamesComeBack(t *testing.T) {
	big := strings.Repeat("a { color: red }\n", inMemory/17+100)
	tree := makePHM(t, "index.html", map[string]string{
		"index.html": "x", "index~0123456789.html": "y", "~user/home.html": "z", "a {b}!$&'()+,;=@[]^_`.html": "w",
		"caf\u00e9~1.html": "v", "~big.css": big,
	})
	archive := pack(t, tree)
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if f.NonUTF8 {
			t.Errorf("%s: releases before this one refuse it", f.Name)
		}
	}
	sink, err := unpack(t, archive, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	sameTree(t, sink.files, tree)

	// The archives of earlier releases: the mark on no ASCII name.
	old := central(archive, func(name string, record []byte) {
		if isASCII(name) {
			record[cdFlags+1] &^= zipUTF8 >> 8
		}
	})
	if sink, err = unpack(t, old, Limits{}); err != nil {
		t.Fatal(err)
	}
	sameTree(t, sink.files, tree)
	// Info-ZIP on Unix marks no name. Elsewhere one may be in any code page.
	unmark := func(_ string, record []byte) { record[cdFlags+1] &^= zipUTF8 >> 8 }
	if sink, err = unpack(t, central(archive, unmark), Limits{}); err != nil {
		t.Fatal(err)
	}
	sameTree(t, sink.files, tree)
	unmarked := central(archive, func(name string, record []byte) {
		unmark(name, record)
		record[cdCreator+1] = 0
	})
	if _, err := unpack(t, unmarked, Limits{}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a name that may be in any code page: %v", err)
	}
}

// What no archive may hold is not packed: no import would take it.
func TestLimitsHold(t *testing.T) {
	for _, c := range []struct {
		entries, files int
		total, bytes   int64
		holds          bool
	}{
		{10, 8, 100, 100, true},
		{10, 9, 100, 100, false},
		{10, 8, 100, 101, false},
	} {
		err := Limits{Entries: c.entries, Total: c.total}.hold(&Meta{Files: c.files, Bytes: c.bytes})
		if c.holds != (err == nil) || (err != nil && !errors.Is(err, ErrUnsafe)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	most := Limits{}.withDefaults()
	if err := most.hold(&Meta{Files: most.Entries - 1}); err == nil {
		t.Error("a mirror is packed that no import takes")
	}
}
