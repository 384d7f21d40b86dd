// SPDX-License-Identifier: Apache-2.0

package space

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/phm"
)

// exported exports the space of a world, and opens what came of it.
func (w *world) exported() (dir string, a *ExportedFolder) {
	w.t.Helper()
	dir = w.t.TempDir()
	out, err := os.OpenRoot(dir)
	w.must(err)
	defer out.Close()
	_, err = Export(w.t.Context(), w.dir, "s", out, w.options().Open)
	w.must(err)
	a, err = OpenArchive(dir)
	w.must(err)
	w.t.Cleanup(func() { w.must(a.Close()) })
	return dir, a
}

// An exported space has the files of the space, and each of its mirrors is the PHM that was published.
func TestExport(t *testing.T) {
	w := newWorld(t)
	w.publish("a", map[string]string{
		"index.html": page(w.urlOf("b", "d/x.html#f"), w.urlOf("a", "p.png")),
		"p.png":      "picture",
		"d/q.html":   "text",
	})
	w.publish("b", map[string]string{"index.html": "b", "d/x.html": page(w.urlOf("a", "index.html"))})
	w.publish("c.", map[string]string{"index.html": page(w.urlOf("b", "index.html"))})
	for _, name := range []string{"a", "b", "c."} {
		w.members[name] = true
	}
	w.update()
	dir, a := w.exported()
	for p, body := range w.files() {
		if got, err := os.ReadFile(filepath.Join(dir, p)); err != nil || string(got) != body {
			t.Errorf("%s: %q, %v, want %q", p, got, err, body)
		}
	}
	if got := names(a.Mirrors); a.Name != "s" || !slices.Equal(got, []string{"a", "b", "c."}) {
		t.Errorf("%+v", a.Archived)
	}
	for name, s := range w.sites {
		r, err := phm.Verify(a.PHM(name), phm.VerifyOptions{})
		if err != nil || r.Err() != nil || r.Files != len(s.files) || r.Meta.Version != s.version {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if found, err := a.Verify(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("%+v, %v", found, err)
	}

	w.must(os.WriteFile(filepath.Join(dir, "@@c%2E/index.html"), []byte("other"), 0o644))
	w.must(os.Remove(filepath.Join(dir, "@@b/d/x.html")))
	found, err := a.Verify(t.Context())
	w.must(err)
	if len(found) != 3 { // other bytes, missing, links to it
		t.Errorf("%+v", found)
	}
	w.must(os.Remove(filepath.Join(dir, "@@a/p.png")))
	if r, err := phm.Verify(a.PHM("a"), phm.VerifyOptions{}); err != nil || r.Err() == nil {
		t.Errorf("a picture is missing: %+v, %v", r, err)
	}
}

// What cannot be exported whole is not exported.
func TestExportRefuses(t *testing.T) {
	w := newWorld(t)
	w.publish("a", map[string]string{"index.html": page(w.urlOf("b", "index.html"))})
	w.publish("b", map[string]string{"index.html": "b"})
	w.members["a"], w.members["b"] = true, true
	w.update()
	try := func(want string) {
		t.Helper()
		out, err := os.OpenRoot(t.TempDir())
		w.must(err)
		defer out.Close()
		_, err = Export(t.Context(), w.dir, "s", out, w.options().Open)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	w.publish("b", map[string]string{"index.html": "newer"})
	try("mirrord space --update")
	w.killed(2)
	try("interrupted")
	w.update()
	name := filepath.Join(w.dir, FilesDir("s"), "@@b/index.html")
	w.must(os.Remove(name))
	w.must(os.WriteFile(name, []byte("other"), 0o644))
	try("other bytes")
}

// The description of an exported space is read as foreign: names lead nowhere else.
func TestOpenArchive(t *testing.T) {
	for text, want := range map[string]string{
		`{"space_format": 1, "name": "s", "mirrors": [{"name": "a"}]}`:                "",
		`{"space_format": 2, "name": "s"}`:                                            "format 2",
		`{"space_format": 1, "name": "../s"}`:                                         "job name",
		`{"space_format": 1, "name": "s", "mirrors": [{"name": "../a"}]}`:             "job name",
		`{"space_format": 1, "name": "s", "mirrors": [{"name": "a"}, {"name": "a"}]}`: "twice",
		`[]`: "cannot unmarshal",
		``:   "EOF",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ArchiveName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := OpenArchive(dir)
		switch {
		case want == "" && err == nil:
			if _, err := a.PHM("a").Open("../../x"); err == nil {
				t.Error("a file outside was opened")
			}
			a.Close()
		case want == "" || err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
