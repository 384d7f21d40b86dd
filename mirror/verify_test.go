// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/upkeep"
)

// verifyDir verifies the site of a state directory and returns what was found, by kind.
func verifyDir(t *testing.T, dir string) (ps []upkeep.Problem) {
	t.Helper()
	readSite(t, dir, func(s *store.Site) {
		st, err := report.Verify(t.Context(), s, func(p upkeep.Problem) { ps = append(ps, p) })
		if err != nil || st.Problems != len(ps) {
			t.Errorf("%d problems of %d, %v", len(ps), st.Problems, err)
		}
	})
	return ps
}

// Any change to a published tree is found.
func TestVerifyFindsDamage(t *testing.T) {
	t.Parallel()
	web := newCrashSite(t, 12)
	clean := t.TempDir()
	for version := 1; version <= 2; version++ {
		web.set(version, 0)
		if sum, err := crashRun(t.Context(), clean, web.srv.URL+"/"); err != nil ||
			sum.Verdict != mirror.Complete || sum.Version != version {
			t.Fatalf("%+v, %v", sum, err)
		}
	}
	if ps := verifyDir(t, clean); len(ps) > 0 {
		t.Fatalf("a clean site: %v", ps)
	}
	// sign makes the file table agree with a file again, so that only the deeper checks can see the change.
	sign := func(t *testing.T, tree string) {
		t.Helper()
		resignTree(t, tree)
	}
	edit := func(t *testing.T, tree, file, was, now string) {
		t.Helper()
		p := filepath.Join(tree, file)
		data, err := os.ReadFile(p)
		if err != nil || !bytes.Contains(data, []byte(was)) {
			t.Fatalf("%s has no %q, %v", file, was, err)
		}
		if err := os.Remove(p); err != nil { // it may be a link to a blob
			t.Fatal(err)
		}
		if err := os.WriteFile(p, bytes.Replace(data, []byte(was), []byte(now), 1), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, tree string)
		want string // in some problem
	}{
		{"a byte of a page", func(t *testing.T, tree string) {
			edit(t, tree, "d1/p1.html", "page 1", "page X")
		}, "digest"},
		{"a page is cut", func(t *testing.T, tree string) {
			if err := os.Truncate(filepath.Join(tree, "d1/p1.html"), 10); err != nil {
				t.Fatal(err)
			}
		}, "size"},
		{"a page is missing", func(t *testing.T, tree string) {
			if err := os.Remove(filepath.Join(tree, "d1/p1.html")); err != nil {
				t.Fatal(err)
			}
		}, "missing"},
		{"a file too many", func(t *testing.T, tree string) {
			if err := os.WriteFile(filepath.Join(tree, "stray"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "extra"},
		{"phm.json is missing", func(t *testing.T, tree string) {
			if err := os.Remove(filepath.Join(tree, phm.MetaName)); err != nil {
				t.Fatal(err)
			}
		}, phm.MetaName},
		{"a link leads nowhere", func(t *testing.T, tree string) {
			edit(t, tree, "index.html", `"d1/p1.html"`, `"d1/p0.html"`)
			sign(t, tree)
		}, "links to no file"},
		{"a link leads out of the tree", func(t *testing.T, tree string) {
			edit(t, tree, "index.html", `"d1/p1.html"`, `"/d1/p1.html"`)
			sign(t, tree)
		}, "not relative"},
		{"a link climbs out of the tree", func(t *testing.T, tree string) {
			edit(t, tree, "index.html", `"d1/p1.html"`, `"../d1/p1.html"`)
			sign(t, tree)
		}, "../d1/p1.html leads out of the mirror's directory"},
		{"a link climbs out and seems to come back", func(t *testing.T, tree string) {
			edit(t, tree, "index.html", `"d1/p1.html"`, `"d1/%2e%2e/..\d1/p1.html"`)
			sign(t, tree)
		}, "leads out of the mirror's directory"},
		{"a base climbs out of the tree", func(t *testing.T, tree string) {
			edit(t, tree, "index.html", `<title>`, `<base href="../"><title>`)
			sign(t, tree)
		}, "leads out of the mirror's directory"},
		{"a style sheet's link climbs out of the tree", func(t *testing.T, tree string) {
			edit(t, tree, "style.css", "more.css", "../more.css")
			sign(t, tree)
		}, "leads out of the mirror's directory"},
		{"a link goes to the origin", func(t *testing.T, tree string) {
			edit(t, tree, "index.html", `"d1/p1.html"`, `"`+web.srv.URL+`/d1/p1.html"`)
			sign(t, tree)
		}, "links to the origin"},
		{"a link is written another way", func(t *testing.T, tree string) {
			edit(t, tree, "index.html", `"d1/p1.html"`, `"d%31/p1.html"`)
			sign(t, tree)
		}, "again would change"},
		{"a style sheet's link", func(t *testing.T, tree string) {
			edit(t, tree, "style.css", "more.css", "none.css")
			sign(t, tree)
		}, "links to no file"},
		{"an image of its own", func(t *testing.T, tree string) {
			edit(t, tree, "img/0.png", "image", "IMAGE")
			sign(t, tree)
		}, "not the body that was stored"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, onlyFiles{os.DirFS(clean)}); err != nil {
				t.Fatal(err)
			}
			site := filepath.Join(dir, "sites", crashJob)
			if err := os.Symlink("trees/000002", filepath.Join(site, "current")); err != nil {
				t.Fatal(err)
			}
			c.do(t, filepath.Join(site, "trees/000002"))
			found := false
			ps := verifyDir(t, dir)
			for _, p := range ps {
				found = found || strings.Contains(p.String(), c.want)
			}
			if !found {
				t.Errorf("%q is not found: %v", c.want, ps)
			}
		})
	}
}

// onlyFiles hides symbolic links.
type onlyFiles struct{ fs.FS }

func (f onlyFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	es, err := fs.ReadDir(f.FS, name)
	var out []fs.DirEntry
	for _, e := range es {
		if e.Type()&fs.ModeSymlink == 0 {
			out = append(out, e)
		}
	}
	return out, err
}

// resignTree writes phm.files and phm.json again for the files as they are.
func resignTree(t *testing.T, tree string) {
	t.Helper()
	old, err := os.Open(filepath.Join(tree, phm.FilesName))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	var buf bytes.Buffer
	w := phm.NewFilesWriter(&buf)
	for f, err := range phm.Files(old) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(f.Path)))
		if err != nil {
			t.Fatal(err)
		}
		f.Size, f.SHA256 = int64(len(data)), sha256Hex(data)
		if err := w.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	table, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	m, err := phm.OpenMeta(os.DirFS(tree))
	if err != nil {
		t.Fatal(err)
	}
	m.Count(table)
	var meta bytes.Buffer
	if err := phm.WriteMeta(&meta, m); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{phm.FilesName: buf.Bytes(), phm.MetaName: meta.Bytes()} {
		if err := os.WriteFile(filepath.Join(tree, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A tree and the archive made of it verify without any site; a check that is called off ends.
func TestVerifyTreeAndArchive(t *testing.T) {
	web := newCrashSite(t, 60)
	dir := t.TempDir()
	if _, err := crashRun(t.Context(), dir, web.srv.URL+"/"); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "sites", crashJob, "current"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	rep, err := report.VerifyTree(t.Context(), root.FS())
	if err != nil || rep.Err() != nil || rep.Linked < 60 {
		t.Errorf("%+v, %v", rep, err)
	}
	var buf bytes.Buffer
	if _, err := phm.Pack(&buf, root.FS(), phm.PackOptions{}); err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(buf.Bytes())
	packed, err := report.VerifyArchive(t.Context(), r, r.Size(), true)
	if err != nil || packed.Err() != nil || packed.Linked != rep.Linked {
		t.Errorf("%+v, %v", packed, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := report.VerifyTree(ctx, root.FS()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := report.VerifyArchive(ctx, r, r.Size(), true); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := report.VerifyTree(t.Context(), os.DirFS(t.TempDir())); !errors.Is(err, phm.ErrNotPHM) {
		t.Errorf("%v", err)
	}
	readSite(t, dir, func(s *store.Site) {
		if _, err := report.Verify(ctx, s, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
