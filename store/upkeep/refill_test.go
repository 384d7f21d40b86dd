// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Without a published tree a refill knows nothing; of a tree it knows all files, and takes the bodies that
// their lines describe. Facts that have files come back.
func TestRefill(t *testing.T) {
	s := openTest(t, t.TempDir())
	if n, err := s.Refill(); n != 0 || err != nil {
		t.Errorf("without a tree: %d, %v", n, err)
	}
	image := random(100, 1)
	sum := func(b []byte) string {
		d := sha256.Sum256(b)
		return hex.EncodeToString(d[:])
	}
	files := []phm.File{
		{Path: "a.html", URL: "http://a/a.html", Type: "text/html", Size: 4, SHA256: sum([]byte("page"))},
		{Path: "b.png", URL: "http://a/b.png", Type: "image/png", Size: 100, SHA256: sum(image)},
		{Path: "c.png", URL: "http://a/c.png", Type: "image/png", Size: 100, SHA256: sum([]byte("other bytes"))},
		{Path: "d.png", URL: "http://a/d.png", Type: "image/png", Size: 100, SHA256: sum([]byte("missing"))},
	}
	var table, meta bytes.Buffer
	w := phm.NewFilesWriter(&table)
	for i := range files {
		must(t, w.Write(&files[i]))
	}
	counted, err := w.Finish()
	must(t, err)
	m := &phm.Meta{Entry: "a.html", Version: 7, Retrieved: time.Unix(1000, 0)}
	m.Count(counted)
	must(t, phm.WriteMeta(&meta, m))
	publish(t, s, 1, phm.MetaName, meta.String())
	tree := filepath.Join(s.Dir, "current")
	for name, b := range map[string][]byte{phm.FilesName: table.Bytes(), "b.png": image, "c.png": image} {
		must(t, os.WriteFile(filepath.Join(tree, name), b, 0o644))
	}
	must(t, os.WriteFile(filepath.Join(s.Dir, home.LastingFact+"kept"), []byte("fact"), 0o644))
	if n, err := s.Refill(); n != len(files) || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	for _, f := range files {
		u := site.Canonical(f.URL)
		r, ok, err := s.Records.Get(u)
		if err != nil || !ok || r.Path != f.Path || r.InSet != (f.Path == "b.png") {
			t.Errorf("%s: %+v, %v", f.URL, r, err)
		}
		if has, err := os.ReadFile(blobFile(s, r.Digest)); r.InSet && !bytes.Equal(has, image) {
			t.Errorf("the body: %d bytes, %v", len(has), err)
		}
	}
	vs, err := s.Versions.List()
	if err != nil || len(vs) == 0 || vs[len(vs)-1].Number != 7 {
		t.Errorf("%v, %v", vs, err)
	}
	if v, err := s.Meta([]byte("fact/kept")); string(v) != "fact" {
		t.Errorf("%q, %v", v, err)
	}
}

// A collection removes what nothing refers to, and a purge also each byte of some URLs.
func TestCompactAndPurge(t *testing.T) {
	s := openTest(t, t.TempDir())
	secret := string(random(64, 9)) // is in a pack as it is
	commit(t, s, 0, newURLs(0, 3), document(t, s, 0, string(random(90_000, 1))), document(t, s, 1, secret),
		document(t, s, 2, "stays"))
	foldAll(t, s, 1)
	commit(t, s, 3, nil, document(t, s, 0, "small"))
	foldAll(t, s, 1)
	dry, err := s.Compact(t.Context(), true)
	if err != nil || dry.Packs != 1 || dry.Freed < 80_000 {
		t.Errorf("%+v, %v", dry, err)
	}
	if done, err := s.Compact(t.Context(), false); err != nil || done.Packs != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if ps := verify(t, s); len(ps) > 0 {
		t.Error(ps)
	}
	if !inPacks(t, s, secret) {
		t.Fatal("the packs do not have it as it is")
	}
	gone := recordOf(1, "")
	gone.InSet, gone.Body = false, record.NoBody
	commit(t, s, 3, nil, gone)
	foldAll(t, s, 1)
	if _, err := s.Purge(t.Context(), func(url string) bool { return url == testURL(1).String() }); err != nil {
		t.Error(err)
	}
	must(t, s.WipeFree())
	if ps := verify(t, s); len(ps) > 0 {
		t.Error(ps)
	}
	for id, want := range map[int]string{0: "small", 2: "stays"} {
		r, _, err := s.Records.Get(testURL(id))
		must(t, err)
		f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), r.At)
		if err != nil || string(f.Body) != want {
			t.Errorf("page %d: %q, %v", id, f.Body, err)
		}
	}
	if inPacks(t, s, secret) {
		t.Error("what was purged is still in a pack")
	}
}

// inPacks reports whether some pack has bytes.
func inPacks(t *testing.T, s *Site, text string) (has bool) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(s.Dir, "packs/*"))
	must(t, err)
	for _, p := range packs {
		b, err := os.ReadFile(p)
		must(t, err)
		has = has || bytes.Contains(b, []byte(text))
	}
	return has
}

// random are bytes that do not get smaller, the same for each seed.
func random(n int, seed byte) []byte {
	d := sha256.Sum256([]byte{seed})
	var b bytes.Buffer
	for b.Len() < n {
		d = sha256.Sum256(d[:])
		b.Write(d[:])
	}
	return b.Bytes()[:n]
}
