package phm

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing"
)

// toyRelink is a Relink for the samples. New paths lie in the root or where they were, so a link is a path from the root with
// as many "../" as the file is deep.
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

func mustVerify(t *testing.T, fsys fs.FS) *Report {
	t.Helper()
	r, err := Verify(fsys, VerifyOptions{Links: toyLinks})
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
	m, err := Flatten(tree, sink, toyRelink)
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
			t.Errorf("%q lies in a directory", f.Path)
		}
		from[f.From] = f.Path
	}
	for old, want := range map[string]string{
		"docs/index.html": "index.html", "index.html": "index" + qualifier("index.html") + ".html", "x/@y/index.html": "index" + qualifier("x/@y/index.html") + ".html",
		"docs/style.css": "style.css", "style.css": "style" + qualifier("style.css") + ".css", "img/café.pdf": "café.pdf", "x/phm.json": "%70hm.json", "empty.bin": "empty.bin",
	} {
		if from[old] != want {
			t.Errorf("%s went to %q, want %q", old, from[old], want)
		}
	}
	if got, want := string(sink.files[from["index.html"]].Data), `<title>Home</title><a href="index.html">d</a><img src="a.png"><a href="café.pdf">p</a>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(sink.files["a.html"].Data); !strings.Contains(got, `"https://elsewhere.example/"`) || !strings.Contains(got, `"nowhere.html"`) || !strings.Contains(got, `"index.html#top"`) {
		t.Errorf("links that are not inside changed: %s", got)
	}
	r, err := Verify(sink.files, VerifyOptions{})
	if err != nil || r.Err() != nil {
		t.Errorf("%v, %v", err, r.Err())
	}
	again := newSink(t)
	if _, err := Flatten(tree, again, toyRelink); err != nil {
		t.Fatal(err)
	}
	sameTree(t, again.files, sink.files)
	twice := newSink(t)
	if _, err := Flatten(sink.files, twice, toyRelink); err != nil {
		t.Fatal(err)
	}
	sameTree(t, twice.files, sink.files)
}

func TestMask(t *testing.T) {
	tree := sample(t)
	sink := newSink(t)
	m, err := Mask(tree, sink, func(f *File) bool { return f.Type == "application/pdf" || f.Type == "image/png" }, toyRelink)
	if err != nil {
		t.Fatal(err)
	}
	if m.Files != 5 || m.Derived != "mask" || m.Entry != "index.html" {
		t.Errorf("meta is %+v", m)
	}
	want := `<title>Home</title><a href="docs/index.html">d</a><img src="https://h.example/img/a.png"><a href="https://h.example/img/caf%C3%A9.pdf">p</a>`
	if got := string(sink.files["index.html"].Data); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !bytes.Equal(sink.files["style.css"].Data, tree["style.css"].Data) {
		t.Error("a file without such links changed")
	}
	mustVerify(t, sink.files)
	// Dropping nothing gives the same files.
	all := newSink(t)
	if _, err := Mask(tree, all, func(*File) bool { return false }, toyRelink); err != nil {
		t.Fatal(err)
	}
	delete(all.files, MetaName)
	delete(tree, MetaName)
	sameTree(t, all.files, tree)
}

func TestDeriveRefuses(t *testing.T) {
	none := func(*File) bool { return false }
	tree := sample(t)
	if _, err := Mask(tree, newSink(t), func(f *File) bool { return f.Path == "index.html" }, toyRelink); err == nil || !strings.Contains(err.Error(), "entry point") {
		t.Errorf("dropping the entry point: %v", err)
	}
	if _, err := Mask(tree, newSink(t), none, nil); !errors.Is(err, errNoRelink) {
		t.Errorf("no relink: %v", err)
	}
	boom := errors.New("boom")
	if _, err := Flatten(tree, newSink(t), func(*File, []byte, func(string) (string, bool)) ([]byte, error) { return nil, boom }); !errors.Is(err, boom) {
		t.Errorf("relink fails: %v", err)
	}
	full := newSink(t)
	full.limit = 1000
	if _, err := Mask(tree, full, none, toyRelink); err == nil {
		t.Error("full disk: no error")
	}
	tree["docs/a.html"].Data[0] = '!'
	for name, err := range map[string]error{"mask": second(Mask(tree, newSink(t), none, toyRelink)), "flatten": second(Flatten(tree, newSink(t), toyRelink)), "copy": second(Copy(tree, newSink(t))), "pack": second(Pack(io.Discard, tree, PackOptions{}))} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s of a damaged file: %v", name, err)
		}
	}
}

func second(_ *Meta, err error) error { return err }

func TestHasLinks(t *testing.T) {
	for _, c := range []struct {
		path, mime string
		want       bool
	}{{"a.html", "text/html; charset=x", true}, {"a", "text/css", true}, {"a.svg", "image/svg+xml", true}, {"a", "application/rss+xml", true}, {"a.webmanifest", "application/manifest+json", true},
		{"a.html", "", true}, {"a.HTM", "", true}, {"a.png", "", false}, {"a", "", false}, {"a.html", "text/plain", false}, {"a.js", "text/javascript", false}} {
		if got := HasLinks(&File{Path: c.path, Type: c.mime}); got != c.want {
			t.Errorf("%s %s: %v", c.path, c.mime, got)
		}
	}
}
