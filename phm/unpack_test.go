// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

func unpack(t testing.TB, archive []byte, l Limits) (*memSink, error) {
	sink := newSink(t)
	tree, err := Open(bytes.NewReader(archive), int64(len(archive)), l)
	if err == nil {
		_, err = Unpack(tree, sink)
	}
	return sink, err
}

func TestUnpackRoundTrip(t *testing.T) {
	tree := sample(t)
	archive := pack(t, tree)
	sink, err := unpack(t, archive, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	sameTree(t, sink.files, tree)
	if again := pack(t, sink.files); !bytes.Equal(again, archive) {
		t.Error("pack, unpack, pack gives another archive")
	}
	if got := sink.order[len(sink.order)-1]; got != MetaName {
		t.Errorf("the last file is %q", got)
	}
	if got := sink.files["style.css"].ModTime; !got.Equal(retrieved.Add(-9 * 3600e9)) {
		t.Errorf("modified %v", got)
	}
}

// TestPrimary: the origin that a set is named after is one of its files', or was before the site moved to
// https or to www.
func TestPrimary(t *testing.T) {
	check := func(primary string) error {
		tree := sample(t)
		tree[MetaName].Data = bytes.Replace(tree[MetaName].Data, []byte(`"files": 7`),
			[]byte(`"primary": "`+primary+`", "files": 7`), 1)
		archive := makeZip(t, entriesOf(tree))
		_, err := unpack(t, archive, Limits{})
		report, verr := verifyArchive(bytes.NewReader(archive), int64(len(archive)), Limits{}, VerifyOptions{})
		if verr == nil {
			verr = report.Err()
		}
		if (err == nil) != (verr == nil) {
			t.Errorf("%s: unpack says %v, verify %v", primary, err, verr)
		}
		return err
	}
	for _, good := range []string{"", "https://h.example", "http://h.example", "https://www.h.example"} {
		if err := check(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for name, bad := range hostilePrimaries() {
		if err := check(bad); !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Not even when the table has a file of it.
	f := &File{URL: "http://169.254.169.254/latest/"}
	if m := (&Meta{Primary: "http://169.254.169.254"}); m.checkAddresses(hasOrigin(f.URL, m.Primary)) == nil {
		t.Error("a metadata service is accepted as a site")
	}
}

func TestUnpackAccepts(t *testing.T) {
	tree := sample(t)
	es := entriesOf(tree)
	slices.Reverse(es)
	for name, entries := range map[string][]entry{
		"another order": es,
		"directories": append([]entry{
			{name: "docs/", mode: fs.ModeDir | 0o755}, {name: "img/", mode: fs.ModeDir | 0o755},
		}, entriesOf(tree)...),
	} {
		sink, err := unpack(t, makeZip(t, entries), Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sameTree(t, sink.files, tree)
	}
}

func TestUnpackFullDisk(t *testing.T) {
	archive := pack(t, sample(t))
	sink := newSink(t)
	sink.limit = 2000
	tree, err := Open(bytes.NewReader(archive), int64(len(archive)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack(tree, sink); err == nil {
		t.Fatal("no error")
	}
	if _, ok := sink.files[MetaName]; ok {
		t.Errorf("%s was written", MetaName)
	}
}

func TestArchiveIsFS(t *testing.T) {
	tree := sample(t)
	archive := pack(t, tree)
	a, err := OpenArchive(bytes.NewReader(archive), int64(len(archive)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Names(), wantOrder(tree)) {
		t.Errorf("names are %q", a.Names())
	}
	for name, f := range tree {
		if body, err := fs.ReadFile(a, name); err != nil || !bytes.Equal(body, f.Data) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"docs", ".", "", "../x", "nothing"} {
		if _, err := a.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q) = %v", name, err)
		}
	}
	// What works on a directory works on an archive.
	var b bytes.Buffer
	if _, err := Pack(&b, a, PackOptions{}); err != nil || !bytes.Equal(b.Bytes(), archive) {
		t.Errorf("packing an archive gives another one: %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, sample(f)))
	cases := hostile(f)
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		if a := cases[name].archive; len(a) < 20_000 {
			f.Add(a)
		}
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		sink, err := unpack(t, archive, Limits{Total: 1 << 20}) // the sink checks every path
		seen := map[string]string{}
		for path := range sink.files {
			if other, ok := seen[Fold(path)]; ok {
				t.Fatalf("%q and %q are one name", path, other)
			}
			seen[Fold(path)] = path
		}
		if err != nil {
			if _, ok := sink.files[MetaName]; ok {
				t.Fatalf("%s was written in spite of %v", MetaName, err)
			}
			return
		}
		report, err := Verify(sink.files, VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := report.Err(); err != nil {
			t.Fatalf("unpacked, and then: %v", err)
		}
	})
}

// FuzzUnpackTable has a well-formed archive around a name, a table line and a body that are not: it reaches
// what follows the checks that random bytes do not pass.
func FuzzUnpackTable(f *testing.F) {
	for _, name := range []string{
		"a.html", "../x", "a/../b", "INDEX.html", "index.html/x", "C:\\x", "é", "e\u0301", "con", "phm.json",
		"a\x00", ".x", "a/b/c",
	} {
		f.Add(name, name, []byte("body"), uint32(0o100644), true)
		f.Add(name, "other.html", []byte{}, uint32(0o120777), false)
	}
	index := []byte("<title>x</title>")
	f.Fuzz(func(t *testing.T, name, listed string, body []byte, mode uint32, deflate bool) {
		line := func(path string, body []byte) string {
			sum := sha256.Sum256(body)
			b, err := AppendFile(nil, &File{
				Path:   path,
				URL:    "https://h.example/",
				Size:   int64(len(body)),
				SHA256: hex.EncodeToString(sum[:]),
			})
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		lines := []string{line("index.html", index), line(listed, body)}
		if listed < "index.html" {
			slices.Reverse(lines)
		}
		meta := fmt.Sprintf(`{"phm":1,"entry":"index.html","files":2,"bytes":%d}`, len(index)+len(body))
		change := func(h *zip.FileHeader) {
			h.CreatorVersion, h.ExternalAttrs = 3<<8, mode<<16
			if !deflate {
				h.Method = zip.Store
			}
		}
		if strings.HasSuffix(name, "/") {
			body = nil
		}
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, e := range []entry{
			{
				name: MetaName,
				body: meta,
			}, {name: FilesName, body: strings.Join(lines, "")}, {name: "index.html", body: string(index)},
			{name: name, body: string(body), change: change},
		} {
			h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
			if e.change != nil {
				e.change(h)
			}
			w, err := z.CreateHeader(h)
			if err != nil {
				return
			}
			if _, err := w.Write([]byte(e.body)); err != nil {
				return
			}
		}
		if z.Close() != nil {
			return
		}
		sink, err := unpack(t, b.Bytes(), Limits{})
		safe := name == listed && CheckPath(name) == nil && mode&0o170000 == 0o100000 &&
			Fold(name) != "index.html" && !strings.HasPrefix(Fold(name), "index.html/")
		if safe && err != nil {
			t.Fatalf("%q was refused: %v", name, err)
		}
		if err == nil && !bytes.Equal(sink.files[name].Data, body) {
			t.Fatalf("%q has other bytes", name)
		}
		if err != nil && len(sink.order) > 0 {
			t.Fatalf("%q were written before %v", sink.order, err)
		}
	})
}

// A truncated archive is reported as damaged, at any length; other files are not.
func TestUnpackCut(t *testing.T) {
	archive := pack(t, sample(t))
	for _, n := range []int{4, 31, len(archive) / 2, len(archive) - 1} {
		if _, err := unpack(t, archive[:n], Limits{}); !errors.Is(err, ErrDamaged) || !errors.Is(err, ErrNotPHM) ||
			!strings.Contains(err.Error(), "cut short") {
			t.Errorf("%d of %d bytes: %v", n, len(archive), err)
		}
	}
	for _, text := range []string{"", "PK", "text of some other kind"} {
		if _, err := unpack(t, []byte(text), Limits{}); !errors.Is(err, ErrNotPHM) || errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
