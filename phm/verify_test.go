// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"mirrord/internal/inorder"
)

var hrefs = regexp.MustCompile(`(href|src)="([^"#]*)`)

// toyLinked names the pages and style sheets of the samples.
func toyLinked(f *File) bool {
	return strings.HasPrefix(f.Type, "text/html") || f.Type == "text/css" || f.Type == "image/svg+xml"
}

// toyLinks is a LinkChecker for the samples, which have links in double quotes only.
func toyLinks(f *File, raw []byte, exists func(string) bool) (broken []string) {
	for _, m := range hrefs.FindAllSubmatch(raw, -1) {
		if ref := string(m[2]); !strings.Contains(ref, ":") && !exists(path.Join(path.Dir(f.Path), ref)) {
			broken = append(broken, ref+" leads nowhere")
		}
	}
	return broken
}

func TestVerifyGood(t *testing.T) {
	tree := sample(t)
	r, err := Verify(tree, VerifyOptions{Links: toyLinks, Linked: toyLinked})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil || r.Files != 7 || r.Linked != 4 || r.Bytes != r.Meta.Bytes {
		t.Errorf("%v, %+v", err, r)
	}
	archive := pack(t, tree)
	r, err = verifyArchive(bytes.NewReader(archive), int64(len(archive)), Limits{}, VerifyOptions{
		Links:  toyLinks,
		Linked: toyLinked,
	})
	if err != nil || r.Err() != nil || r.Files != 7 {
		t.Errorf("archive: %v, %+v", err, r)
	}
}

func TestVerifyFinds(t *testing.T) {
	replace := func(name, old, now string) func(fstest.MapFS) {
		return func(m fstest.MapFS) {
			if !bytes.Contains(m[name].Data, []byte(old)) {
				panic(old)
			}
			m[name].Data = bytes.Replace(m[name].Data, []byte(old), []byte(now), 1)
		}
	}
	for name, c := range map[string]struct {
		spoil func(fstest.MapFS)
		want  []string // beginnings of problems
	}{
		"missing": {func(m fstest.MapFS) { delete(m, "style.css") }, []string{"missing: style.css: "}},
		"extra": {func(m fstest.MapFS) {
			m["a/.DS_Store"] = &fstest.MapFile{}
		}, []string{"extra: a/.DS_Store: "}},
		"link": {func(m fstest.MapFS) {
			m["style.css"].Mode = fs.ModeSymlink | 0o777
		}, []string{"missing: style.css: ", "type: style.css: "}}, // it leads nowhere
		"size": {func(m fstest.MapFS) {
			m["style.css"].Data = nil
		}, []string{"size: style.css: it has 0 bytes, not 3200"}},
		"digest": {replace("style.css", "margin", "MARGIN"), []string{"digest: style.css: "}},
		"directory": {func(m fstest.MapFS) {
			delete(m, "style.css")
			m["style.css/x"] = &fstest.MapFile{}
		}, []string{"type: style.css: ", "extra: style.css/x: "}},
		"entry": {replace(MetaName, `"index.html"`, `"nothing.html"`),
			[]string{"meta: phm.json: the entry point"}},
		"counts": {replace(MetaName, `"files": 7`, `"files": 8`), []string{"meta: phm.json: it states 8 files"}},
		"bytes":  {replace(MetaName, `"bytes": `, `"bytes": 1`), []string{"meta: phm.json: it states 1"}},
		"table line": {replace(FilesName, `{"path":"style.css"`, `{"path":"/style.css"`),
			[]string{"name: phm.files:7: check path \"/style.css\"", "meta: ", "meta: ", "digest: phm.files: ",
				"link: docs/index.html: ", "extra: style.css: "}},
		"table order": {replace(FilesName, `{"path":"style.css"`, `{"path":"a.css"`),
			[]string{"table: phm.files:7: ", "meta: ", "meta: ", "digest: phm.files: ", "link: docs/index.html: ",
				"extra: style.css: "}},
		"table case": {replace(FilesName, `{"path":"img/a.png"`, `{"path":"indeX.html"`),
			[]string{"table: phm.files:5: ", "name: reserve \"index.html\"", "meta: ", "meta: ", "meta: ",
				"digest: phm.files: ", "link: docs/index.html: ", "missing: indeX.html", "extra: img/a.png",
				"extra: img/café.pdf", "extra: index.html"}},
		"many": {func(m fstest.MapFS) {
			m["docs/a.html"].Data = bytes.ToUpper(m["docs/a.html"].Data)
			delete(m, "img/a.png")
			m["index.html"].Data = nil
		}, []string{"digest: docs/a.html", "missing: img/a.png", "size: index.html"}},
		"no table": {func(m fstest.MapFS) {
			delete(m, FilesName)
		}, []string{"read: phm.files", "meta", "meta", "meta", "read: phm.files", "extra", "extra", "extra",
			"extra", "extra", "extra", "extra"}},
	} {
		tree := sample(t)
		c.spoil(tree)
		r, err := Verify(tree, VerifyOptions{Links: toyLinks, Linked: toyLinked})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !errors.Is(r.Err(), ErrDamaged) {
			t.Errorf("%s: Err() = %v", name, r.Err())
		}
		beside, err := Verify(tree, VerifyOptions{
			Links:  toyLinks,
			Linked: toyLinked,
			Crew:   inorder.Crew{Go: func(f func()) { go f() }, Size: 3},
		})
		if err != nil || !reflect.DeepEqual(beside, r) {
			t.Errorf("%s: with workers %v, %+v", name, err, beside)
		}
		if len(r.Problems) != len(c.want) {
			t.Errorf("%s: got %d problems %v, want %d", name, len(r.Problems), r.Problems, len(c.want))
			continue
		}
		for i, p := range r.Problems {
			if !strings.HasPrefix(p.String(), c.want[i]) {
				t.Errorf("%s: got %v, want %s…", name, p, c.want[i])
			}
		}
	}
}

func TestVerifyBrokenLink(t *testing.T) {
	bodies := sampleBodies()
	bodies["docs/a.html"] += `<a href="nowhere.html">`
	r, err := Verify(makePHM(t, "index.html", bodies), VerifyOptions{Links: toyLinks, Linked: toyLinked})
	if err != nil || len(r.Problems) != 1 ||
		r.Problems[0] != (Problem{Kind: BrokenLink, Path: "docs/a.html", Detail: "nowhere.html leads nowhere"}) {
		t.Errorf("%v, %+v", err, r.Problems)
	}
}

func TestVerifyRefuses(t *testing.T) {
	tree := sample(t)
	tree[MetaName].Data = bytes.Replace(tree[MetaName].Data, []byte(`"phm": 1`), []byte(`"phm": 7`), 1)
	if _, err := Verify(tree, VerifyOptions{}); !errors.Is(err, ErrNewer) ||
		!strings.Contains(err.Error(), "it is 7, this program reads up to 1") {
		t.Errorf("newer: %v", err)
	}
	if _, err := Verify(fstest.MapFS{"index.html": {}}, VerifyOptions{}); !errors.Is(err, ErrNotPHM) {
		t.Errorf("no PHM: %v", err)
	}
	for name, c := range hostile(t) {
		r, err := verifyArchive(bytes.NewReader(c.archive), int64(len(c.archive)), c.limits, VerifyOptions{})
		if err == nil && r.Err() == nil {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

func TestVerifyOrderOfArchive(t *testing.T) {
	es := entriesOf(sample(t))
	es[0], es[3] = es[3], es[0]
	archive := makeZip(t, es)
	r, err := verifyArchive(bytes.NewReader(archive), int64(len(archive)), Limits{}, VerifyOptions{})
	if err != nil || len(r.Problems) != 1 || r.Problems[0].Kind != BadOrder {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestVerifyBoundsReport(t *testing.T) {
	tree := sample(t)
	for i := range maxProblems + 40 {
		tree[fmt.Sprintf("extra%04d", i)] = &fstest.MapFile{}
	}
	r, err := Verify(tree, VerifyOptions{})
	if err != nil || len(r.Problems) != maxProblems || r.More != 40 ||
		!strings.HasSuffix(r.Err().Error(), "and 1039 more") {
		t.Errorf("%v, %d, %d, %v", err, len(r.Problems), r.More, r.Err())
	}
}

// TestVerifyRealDirectory: a directory on disk, in which links lead out of the tree.
func TestVerifyRealDirectory(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	tree := sample(t)
	for name, f := range tree {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if r, err := Verify(root.FS(), VerifyOptions{Links: toyLinks, Linked: toyLinked}); err != nil ||
		r.Err() != nil {
		t.Fatalf("%v, %v", err, r.Err())
	}
	if err := os.Rename(filepath.Join(dir, "style.css"), filepath.Join(outside, "style.css")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "style.css"), filepath.Join(dir, "style.css")); err != nil {
		t.Fatal(err)
	}
	r, err := Verify(root.FS(), VerifyOptions{})
	if err != nil || r.Err() == nil {
		t.Fatalf("a link out of the tree was not found: %v, %+v", err, r)
	}
	for _, p := range r.Problems {
		if p.Path != "style.css" || (p.Kind != NotRegular && p.Kind != Unreadable) {
			t.Errorf("found %v", p)
		}
	}
	if _, err := Copy(root.FS(), newSink(t)); err == nil {
		t.Error("Copy followed a link out of the tree")
	}
}

// TestNoFileIsWaitedFor: a named pipe where a file should be is found, and not opened, which would wait for a
// writer for ever.
func TestNoFileIsWaitedFor(t *testing.T) {
	for _, name := range []string{"style.css", FilesName, MetaName} {
		dir, tree := t.TempDir(), sample(t)
		if err := os.CopyFS(dir, tree); err != nil {
			t.Fatal(err)
		}
		pipe := filepath.Join(dir, name)
		if err := errors.Join(os.Remove(pipe), syscall.Mkfifo(pipe, 0o600)); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		report, err := Verify(root.FS(), VerifyOptions{})
		if err == nil {
			err = report.Err()
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: verify: %v", name, err)
		}
		sink := newSink(t)
		if _, err := Copy(root.FS(), sink); !errors.Is(err, ErrDamaged) || sink.files[MetaName] != nil {
			t.Errorf("%s: copy: %v", name, err)
		}
	}
}
