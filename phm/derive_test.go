// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// toyRelink is a Relink for the samples. New paths lie in the root or where they were, so a link is a path
// from the root with as many "../" as the file is deep.
func toyRelink(f *File, raw []byte, to func(string) (string, bool)) ([]byte, error) {
	self, ok := to(f.Path)
	if !ok {
		return nil, errors.New("the file itself is outside")
	}
	up := strings.Repeat("../", strings.Count(self, "/"))
	return hrefs.ReplaceAllFunc(raw, func(m []byte) []byte {
		attr, ref, _ := strings.Cut(string(m), `="`)
		if strings.Contains(ref, ":") {
			return m
		}
		old := path.Join(path.Dir(f.Path), ref)
		switch ref, inside := to(old); {
		case inside && ref == old && self == f.Path:
			return m
		case inside:
			return []byte(attr + `="` + up + ref)
		case ref != "":
			return []byte(attr + `="` + ref)
		}
		return m
	}), nil
}

func flatten(fsys fs.FS, sink Sink, relink Relink) (*Meta, error) {
	return Derive(fsys, sink, Derivation{Flatten: true, Relink: relink, Linked: toyLinked})
}

func mask(fsys fs.FS, sink Sink, relink Relink, words ...string) (*Meta, error) {
	m, err := NewTypes(words...)
	if err != nil {
		return nil, err
	}
	return Derive(fsys, sink, Derivation{Mask: m, Relink: relink, Linked: toyLinked})
}

func mustVerify(t *testing.T, fsys fs.FS) *Report {
	t.Helper()
	r, err := Verify(fsys, VerifyOptions{Links: toyLinks, Linked: toyLinked})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFlatten(t *testing.T) {
	bodies := sampleBodies()
	bodies["docs/style.css"], bodies["docs/STYLE.css"[:5]+"x/Style.css"] = "a{}", "b{}"
	bodies["x/phm.json"], bodies["x/@y/index.html"] = "{}", `<a href="../phm.json">`
	bodies["docs/a.html"] += `<a href="nowhere.html">`
	tree := makePHM(t, "docs/index.html", bodies)
	sink := newSink(t)
	m, err := flatten(tree, sink, toyRelink)
	if err != nil {
		t.Fatal(err)
	}
	if m.Entry != "index.html" || m.Derived != "flatten" || m.Files != len(bodies) {
		t.Errorf("meta is %+v", m)
	}
	from := map[string]string{}
	for f, err := range Files(bytes.NewReader(sink.files[FilesName].Data)) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(f.Path, "/") {
			t.Errorf("%q is in a directory", f.Path)
		}
		from[f.From] = f.Path
	}
	for old, want := range map[string]string{
		"docs/index.html": "index.html", "index.html": "index" + qualifier("index.html") + ".html",
		"x/@y/index.html": "index" + qualifier("x/@y/index.html") + ".html",
		"docs/style.css":  "style.css", "style.css": "style" + qualifier("style.css") + ".css",
		"img/café.pdf": "café.pdf", "x/phm.json": "%70hm.json", "empty.bin": "empty.bin",
	} {
		if from[old] != want {
			t.Errorf("%s went to %q, want %q", old, from[old], want)
		}
	}
	if got, want := string(sink.files[from["index.html"]].Data),
		`<title>Home</title><a href="index.html">d</a><img src="a.png"><a href="café.pdf">p</a>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(sink.files["a.html"].Data); !strings.Contains(got, `"https://elsewhere.example/"`) ||
		!strings.Contains(got, `"nowhere.html"`) || !strings.Contains(got, `"index.html#top"`) {
		t.Errorf("links that are not inside changed: %s", got)
	}
	r, err := Verify(sink.files, VerifyOptions{})
	if err != nil || r.Err() != nil {
		t.Errorf("%v, %v", err, r.Err())
	}
	again := newSink(t)
	if _, err := flatten(tree, again, toyRelink); err != nil {
		t.Fatal(err)
	}
	sameTree(t, again.files, sink.files)
	twice := newSink(t)
	if _, err := flatten(sink.files, twice, toyRelink); err != nil {
		t.Fatal(err)
	}
	sameTree(t, twice.files, sink.files)
}

func TestMask(t *testing.T) {
	tree := sample(t)
	sink := newSink(t)
	m, err := mask(tree, sink, toyRelink, "images", "Application/PDF", "images")
	if err != nil {
		t.Fatal(err)
	}
	lost := int64(len(tree["img/a.png"].Data) + len(tree["img/café.pdf"].Data))
	if m.Files != 5 || m.Derived != "mask" || m.Entry != "index.html" ||
		!slices.Equal(m.Masked, []string{"images", "application/pdf"}) || m.MaskedFiles != 2 ||
		m.MaskedBytes != lost {
		t.Errorf("meta is %+v", m)
	}
	want :=
		`<title>Home</title><a href="docs/index.html">d</a><img src="https://h.example/img/a.png"><a href="https://h.example/img/caf%C3%A9.pdf">p</a>`
	if got := string(sink.files["index.html"].Data); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !bytes.Equal(sink.files["style.css"].Data, tree["style.css"].Data) {
		t.Error("a file without such links changed")
	}
	mustVerify(t, sink.files)
	// Both at once give what one after the other gives, but for the note of where a file lay.
	both, flat := newSink(t), newSink(t)
	images, err := NewTypes("images", "application/pdf")
	if err != nil {
		t.Fatal(err)
	}
	m, err = Derive(tree, both, Derivation{
		Flatten: true,
		Mask:    images,
		Relink:  toyRelink,
		Linked:  toyLinked,
	})
	if err != nil || m.Derived != "flatten+mask" || m.MaskedFiles != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	mustVerify(t, both.files)
	if _, err := flatten(sink.files, flat, toyRelink); err != nil {
		t.Fatal(err)
	}
	sameTree(t, flat.files, both.files)
	// A mask that hides nothing gives the same files.
	all := newSink(t)
	if _, err := mask(tree, all, toyRelink, "movies"); err != nil {
		t.Fatal(err)
	}
	delete(all.files, MetaName)
	delete(tree, MetaName)
	sameTree(t, all.files, tree)
}

func TestDeriveRefuses(t *testing.T) {
	tree := sample(t)
	if m, err := mask(tree, newSink(t), toyRelink, "text/html"); err != nil || m.Entry != "index.html" ||
		m.MaskedFiles != 2 {
		t.Errorf("the entry point stays: %+v, %v", m, err)
	}
	if _, err := mask(tree, newSink(t), nil, "movies"); !errors.Is(err, errNoRelink) {
		t.Errorf("no relink: %v", err)
	}
	boom := errors.New("boom")
	if _, err := flatten(tree, newSink(t), func(*File, []byte, func(string) (string, bool)) ([]byte, error) {
		return nil, boom
	}); !errors.Is(err, boom) {
		t.Errorf("relink fails: %v", err)
	}
	full := newSink(t)
	full.limit = 1000
	if _, err := mask(tree, full, toyRelink, "movies"); err == nil {
		t.Error("full disk: no error")
	}
	tree["docs/a.html"].Data[0] = '!'
	for name, err := range map[string]error{
		"mask":    second(mask(tree, newSink(t), toyRelink, "movies")),
		"flatten": second(flatten(tree, newSink(t), toyRelink)),
		"copy":    second(Copy(tree, newSink(t))),
		"pack":    second(Pack(io.Discard, tree, PackOptions{})),
	} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s of a damaged file: %v", name, err)
		}
	}
}

func second(_ *Meta, err error) error { return err }

func TestMaskHides(t *testing.T) {
	for _, c := range []struct {
		words, path, mime string
		want              bool
	}{
		{"images", "a", "image/png", true}, {"images", "a.svg", "image/svg+xml; charset=utf-8", true},
		{"images", "a.PNG", "", true}, {"images", "a.png", "text/html", false},
		{"movies", "a.mkv", "application/octet-stream", true},
		{"movies", "a.mp3", "application/octet-stream", false}, {"movies", "a.ogv", "application/ogg", true},
		{"sounds", "a.ogg", "application/ogg", true}, {"sounds", "a", "audio/x-thing", true},
		{"sounds", "a", "", false}, {"sounds", "mp3", "", false},
		{"application/pdf", "a", "application/pdf;x=y", true}, {"application/pdf", "a.pdf", "", true},
		{"pdf", "a", "application/pdf", true},
		{"font/*", "a", "font/woff2", true}, {"font/*", "a", "fonts/woff2", false},
		{"movies,font/*,sounds", "a.mp3", "audio/mpeg", true},
	} {
		m, err := NewTypes(strings.Split(c.words, ",")...)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Has(c.mime, c.path); got != c.want {
			t.Errorf("%s of %s (%s): %v", c.words, c.path, c.mime, got)
		}
	}
	for _, bad := range []string{"", "pictures", "*/*", "image/", "/png", "image", "image/png;x", "image/*x"} {
		if _, err := NewTypes(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestDeriveKeepsAnOriginOfTheSet: phm.json names no origin of which the derived set has no file.
func TestDeriveKeepsAnOriginOfTheSet(t *testing.T) {
	tree := sample(t)
	for old, now := range map[string]string{"https://h.example/index.html": "http://other.example:8080/"} {
		tree[FilesName].Data = bytes.Replace(tree[FilesName].Data, []byte(`"url":"`+old+`"`),
			[]byte(`"url":"`+now+`"`), 1)
	}
	sum, err := sumOf(tree, FilesName)
	if err != nil {
		t.Fatal(err)
	}
	m, err := OpenMeta(tree)
	if err != nil {
		t.Fatal(err)
	}
	m.Primary, m.TableSum = "https://h.example", sum
	var b bytes.Buffer
	if err := WriteMeta(&b, m); err != nil {
		t.Fatal(err)
	}
	tree[MetaName].Data = b.Bytes()
	mustVerify(t, tree)
	for words, want := range map[string]string{
		"images":                      "https://h.example",
		"text/*,images,application/*": "http://other.example:8080",
	} {
		sink := newSink(t)
		got, err := mask(tree, sink, toyRelink, strings.Split(words, ",")...)
		if err != nil || got.Primary != want {
			t.Errorf("%s: primary %q, %v; want %q", words, got.Primary, err, want)
		}
		mustVerify(t, sink.files)
	}
}
