// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// makeTar writes a tar of a tree in the order of names, each with its name changed by rename.
func makeTar(
	t testing.TB, tree fstest.MapFS, names []string, rename func(string) string, more ...tar.Header,
) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range more {
		body := make([]byte, h.Size)
		if err := errors.Join(w.WriteHeader(&h), second2(w.Write(body))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		h := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     rename(name),
			Size:     int64(len(tree[name].Data)),
			Mode:     0o644,
			ModTime:  retrieved,
		}
		if err := errors.Join(w.WriteHeader(h), second2(w.Write(tree[name].Data))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func second2(_ int, err error) error { return err }

func same(s string) string { return s }

// packTar is the tar that an export writes, unpacked.
func packTar(t testing.TB, tree fs.FS, prefix string) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := PackTar(&b, tree, PackOptions{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	r, err := zstd.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func zstdOf(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err == nil {
		err = errors.Join(second2(z.Write(b)), z.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipOf(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if err := errors.Join(second2(z.Write(b)), z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestTarComesBack: a tar of any order, below a directory or not, plain or compressed, is verified and
// unpacked like the archive form.
func TestTarComesBack(t *testing.T) {
	bodies := sampleBodies()
	bodies["a~b/"+strings.Repeat("long/", 60)+"caf\u00e9 ~.html"] = "deep"
	tree := makePHM(t, "index.html", bodies)
	order := wantOrder(tree)
	backwards := slices.Clone(order)
	slices.Reverse(backwards)
	odd := slices.Clone(order) // the two files of the format in the middle, two others out of order
	odd[0], odd[1], odd[4], odd[6] = odd[4], odd[6], odd[0], odd[1]
	dir := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755} }
	for name, b := range map[string][]byte{
		"own":        packTar(t, tree, ""),
		"own, below": packTar(t, tree, "samba-v12/"),
		"backwards":  makeTar(t, tree, backwards, same),
		"odd order":  makeTar(t, tree, odd, same),
		"with dots": makeTar(t, tree, backwards, func(s string) string {
			return "./" + s
		}, dir("./"), dir("./docs/")),
		"with dirs": makeTar(t, tree, order, func(s string) string {
			return "x/" + s
		}, dir("x/"), dir("x/docs/"), dir("x/img")),
		"git's comment": makeTar(t, tree, order, same, tar.Header{
			Typeflag:   tar.TypeXGlobalHeader,
			PAXRecords: map[string]string{"comment": "x"},
		}),
		"prefix of dots": makeTar(t, tree, order, func(s string) string { return "./a.b/" + s }),
	} {
		for packing, c := range map[string][]byte{"plain": b, "zstd": zstdOf(t, b), "gzip": gzipOf(t, b)} {
			sink, err := unpack(t, c, Limits{})
			if err != nil {
				t.Errorf("%s, %s: %v", name, packing, err)
				continue
			}
			sameTree(t, sink.files, tree)
			report, err := verifyArchive(bytes.NewReader(c), int64(len(c)), Limits{}, VerifyOptions{})
			if err != nil || report.Err() != nil || report.Files != len(bodies) {
				t.Errorf("%s, %s: %v, %+v", name, packing, err, report)
			}
		}
	}
}

// TestTarRefuses: a hostile or broken tar is refused with a typed error, and not one file of it is written.
func TestTarRefuses(t *testing.T) {
	tree := sample(t)
	order := wantOrder(tree)
	reg := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644} }
	with := func(h ...tar.Header) []byte { return makeTar(t, tree, order, same, h...) }
	lacking := func(drop string) []byte {
		return makeTar(t, tree, slices.DeleteFunc(slices.Clone(order), func(s string) bool {
			return s == drop
		}), same)
	}
	type c struct {
		tar    []byte
		want   error
		limits Limits
	}
	cases := map[string]c{
		"symlink": {
			tar:  with(tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc/passwd"}),
			want: ErrUnsafe,
		},
		"hard link": {
			tar:  with(tar.Header{Typeflag: tar.TypeLink, Name: "l", Linkname: "index.html"}),
			want: ErrUnsafe,
		},
		"device": {tar: with(tar.Header{Typeflag: tar.TypeChar, Name: "l"}), want: ErrUnsafe},
		"fifo":   {tar: with(tar.Header{Typeflag: tar.TypeFifo, Name: "l"}), want: ErrUnsafe},
		"beside": {
			tar:  makeTar(t, tree, order, func(s string) string { return "x/" + s }, reg("y/a")),
			want: ErrUnsafe,
		},
		"below too deep": {
			tar:  makeTar(t, tree, order, func(s string) string { return "x/y/" + s }),
			want: ErrNotPHM,
		},
		// the prefix is cut off
		"prefix leads out": {tar: makeTar(t, tree, order, func(s string) string { return "../" + s }), want: nil},
		"twice":            {tar: makeTar(t, tree, append(slices.Clone(order), "style.css"), same), want: ErrTaken},
		"two phm.json":     {tar: makeTar(t, tree, append(slices.Clone(order), MetaName), same), want: ErrTaken},
		"other case":       {tar: with(reg("Index.HTML")), want: ErrTaken},
		"unlisted":         {tar: with(reg("virus.exe")), want: ErrDamaged},
		"missing":          {tar: lacking("style.css"), want: ErrDamaged},
		"no phm.json":      {tar: lacking(MetaName), want: ErrNotPHM},
		"no phm.files":     {tar: lacking(FilesName), want: ErrNotPHM},
		"cut short":        {tar: packTar(t, tree, "")[:3000], want: ErrDamaged},
		"file limit":       {tar: with(), want: ErrUnsafe, limits: Limits{File: 100}},
		"total limit":      {tar: with(), want: ErrUnsafe, limits: Limits{Total: 4000}},
		"entries limit":    {tar: with(), want: ErrUnsafe, limits: Limits{Entries: 3}},
		"bomb": {
			tar:  zstdOf(t, with(tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Size: 70 << 20})),
			want: ErrUnsafe,
		},
		"no tar in zstd": {tar: zstdOf(t, bytes.Repeat([]byte("<html>404"), 200)), want: ErrDamaged},
		"cut zstd":       {tar: zstdOf(t, with())[:200], want: ErrDamaged},
		"cut gzip":       {tar: gzipOf(t, with())[:200], want: ErrDamaged},
		"no gzip":        {tar: []byte("\x1f\x8bx"), want: ErrDamaged},
	}
	for _, name := range []string{
		"../x", "a/../../x", "/etc/passwd", "C:/x", "a\\x", "a//b", ".bashrc", "docs/.ssh/id", "CON", "a\nb", "x.",
		"cafe\u0301", "web.config", "PHM.JSON", "phm.files/x",
	} {
		cases["name "+name] = c{tar: with(reg(name)), want: ErrPath}
	}
	for name, c := range cases {
		sink, err := unpack(t, c.tar, c.limits)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if c.want != nil && len(sink.order) > 0 {
			t.Errorf("%s: %q were written", name, sink.order)
		}
		if _, err := verifyArchive(bytes.NewReader(c.tar), int64(len(c.tar)), c.limits, VerifyOptions{}); errors.Is(
			c.want, ErrUnsafe) && !errors.Is(err, c.want) {
			t.Errorf("%s: verify: %v", name, err)
		}
	}
}

// TestTarWithHoles: a file whose holes the tar leaves out would unpack to any number of bytes, regardless
// of the permitted ratio.
func TestTarWithHoles(t *testing.T) {
	const size = 8 << 20
	zeros := make([]byte, size)
	zeros[0] = 'x'
	tree := makePHM(t, "index.html", map[string]string{"index.html": "<p>", "zeros.bin": string(zeros)})
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range wantOrder(tree) {
		h := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     name,
			Size:     int64(len(tree[name].Data)),
			Mode:     0o644,
			ModTime:  retrieved,
		}
		body := tree[name].Data
		if name == "zeros.bin" {
			h.Size, body = 1, body[:1]
			h.PAXRecords = map[string]string{
				"NOT.sparse.numblocks": "1",
				"NOT.sparse.map":       "0,1",
				"NOT.sparse.size":      strconv.Itoa(size),
				"NOT.sparse.name":      name,
			}
		}
		if err := errors.Join(w.WriteHeader(h), second2(w.Write(body))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// archive/tar does not write such files
	holes := bytes.ReplaceAll(b.Bytes(), []byte("NOT.sparse."), []byte("GNU.sparse."))
	sink, err := unpack(t, holes, Limits{})
	if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "sparse") || len(sink.order) > 0 {
		t.Errorf("%v; %q were written", err, sink.order)
	}
}

// TestTarLies: a body that is not the table's ends the unpacking without phm.json, and verify names the file.
func TestTarLies(t *testing.T) {
	tree := sample(t)
	b := bytes.Replace(packTar(t, tree, ""), []byte("<p>text</p>"), []byte("<p>TEXT</p>"), 1)
	sink, err := unpack(t, b, Limits{})
	if !errors.Is(err, ErrDamaged) || sink.files[MetaName] != nil {
		t.Errorf("%v, %q", err, sink.order)
	}
	report, err := verifyArchive(bytes.NewReader(b), int64(len(b)), Limits{}, VerifyOptions{})
	if err != nil || len(report.Problems) != 1 || report.Problems[0].Kind != BadDigest ||
		report.Problems[0].Path != "docs/index.html" {
		t.Errorf("%v, %+v", err, report)
	}
}

// TestTarIsFS: files can be opened in any order, and one that is passed says so.
func TestTarIsFS(t *testing.T) {
	tree := sample(t)
	b := zstdOf(t, packTar(t, tree, "x/"))
	f, err := Open(bytes.NewReader(b), int64(len(b)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{
		{"style.css", "docs/a.html", "style.css", "style.css"},
		{"index.html", MetaName, "img/a.png", FilesName, "empty.bin"},
	} {
		for _, name := range names {
			if body, err := fs.ReadFile(f, name); err != nil || !bytes.Equal(body, tree[name].Data) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range []string{"docs", ".", "", "../x", "x/index.html"} {
		if _, err := f.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q) = %v", name, err)
		}
	}
	first, err := f.Open("docs/a.html")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open("index.html"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(first); !errors.Is(err, errPassed) {
		t.Errorf("a file that is passed: %v", err)
	}
	var again bytes.Buffer
	if _, err := Pack(&again, f, PackOptions{}); err != nil || !bytes.Equal(again.Bytes(), pack(t, tree)) {
		t.Errorf("packing a tar gives another archive than packing the tree: %v", err)
	}
}

func FuzzTar(f *testing.F) {
	tree := sample(f)
	f.Add(packTar(f, tree, "x/"))
	f.Add(makeTar(f, tree, wantOrder(tree)[:4], path.Base))
	f.Add(zstdOf(f, packTar(f, tree, "")))
	f.Add(gzipOf(f, packTar(f, tree, "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		sink, err := unpack(t, b, Limits{Total: 1 << 20}) // the sink checks every path
		if err != nil {
			if _, ok := sink.files[MetaName]; ok {
				t.Fatalf("%s was written in spite of %v", MetaName, err)
			}
			return
		}
		report, err := Verify(sink.files, VerifyOptions{})
		if err != nil || report.Err() != nil {
			t.Fatalf("unpacked, and then: %v, %v", err, report)
		}
	})
}
