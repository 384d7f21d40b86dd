// SPDX-License-Identifier: Apache-2.0

package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"mirrord/archive"
	"mirrord/phm"
	"mirrord/testing/phmtest"
)

// someTree is a small PHM of files that do not compress.
func someTree(t testing.TB) fstest.MapFS {
	t.Helper()
	files := map[string][]byte{}
	for _, p := range []string{"index.html", "notes~1.txt", "z.bin"} {
		files[p] = make([]byte, 20_000)
		rand.NewChaCha8([32]byte{p[0]}).Read(files[p])
	}
	return phmtest.Tree(t, time.Date(2026, 11, 20, 3, 31, 0, 0, time.UTC), files)
}

// packedForms returns the forms that are one file.
func packedForms() []archive.Form {
	return slices.DeleteFunc(archive.Exports(), func(f archive.Form) bool { return f.Pack == nil })
}

// packed writes a tree as one file, which is not read back yet.
func packed(t testing.TB, form archive.Form, tree fstest.MapFS) *Output {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "some"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	out := NewOutput(t.Context(), f)
	if _, err := form.Pack(out, tree, archive.Packing{Name: "some"}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReadBackFindsDamage: any byte of a written file that the disk changed, or that did not arrive, is
// found.
func TestReadBackFindsDamage(t *testing.T) {
	for _, form := range packedForms() {
		out := packed(t, form, someTree(t))
		whole, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		check := func(data []byte) error {
			if err := os.WriteFile(out.Name(), data, 0o600); err != nil {
				t.Fatal(err)
			}
			return out.ReadBack(form)
		}
		if err := check(whole); err != nil {
			t.Fatalf("%s: %v", form.Name, err)
		}
		for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
			if check(whole[:n]) == nil {
				t.Errorf("%s: %d of %d bytes pass", form.Name, n, len(whole))
			}
		}
		if check(append(bytes.Clone(whole), 0)) == nil && !form.Placed {
			t.Errorf("%s: one byte more passes", form.Name)
		}
		for at := 0; at < len(whole); at += 1499 {
			bad := bytes.Clone(whole)
			bad[at] ^= 0x10
			if err := check(bad); err == nil || !strings.Contains(err.Error(), "does not read back") {
				t.Errorf("%s: byte %d may change: %v", form.Name, at, err)
			}
		}
	}
}

// TestExportKeepsTheOlderFile: an archive that does not read back does not take the place of the one that
// stood there.
func TestExportKeepsTheOlderFile(t *testing.T) {
	tree := someTree(t)
	for _, format := range packedForms() {
		out := filepath.Join(t.TempDir(), "some."+format.Name)
		if err := ExportTree(t.Context(), tree, out, format); err != nil {
			t.Fatal(err)
		}
		old, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		changed := someTree(t)
		changed[phm.MetaName].Data = bytes.Replace(changed[phm.MetaName].Data, []byte(`"entry"`),
			[]byte(`"title": "Another", "entry"`), 1)
		over, end := context.WithCancel(t.Context())
		end()
		err = ExportTree(over, changed, out, format)
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "does not read back") {
			t.Errorf("%s: interrupted: %v", format.Name, err)
		}
		lost := someTree(t)
		delete(lost, "z.bin")
		if ExportTree(t.Context(), lost, out, format) == nil {
			t.Errorf("%s: a tree without one of its files is exported", format.Name)
		}
		if now, err := os.ReadFile(out); err != nil || !bytes.Equal(now, old) {
			t.Errorf("%s: the older file was replaced: %v", format.Name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) != 1 {
			t.Errorf("%s: left behind: %q", format.Name, left)
		}
	}
	// A directory keeps each file whose new bytes are not those of the table.
	out := filepath.Join(t.TempDir(), "dir")
	if err := ExportTree(t.Context(), tree, out, archive.Named("dir")); err != nil {
		t.Fatal(err)
	}
	bad := someTree(t)
	bad["z.bin"].Data[0] ^= 1
	bad["z.bin"].ModTime = time.Unix(1, 0)
	if err := ExportTree(t.Context(), bad, out, archive.Named("dir")); !errors.Is(err, phm.ErrDamaged) {
		t.Errorf("a damaged file is exported: %v", err)
	}
	if now, err := os.ReadFile(filepath.Join(out, "z.bin")); err != nil ||
		!bytes.Equal(now, tree["z.bin"].Data) {
		t.Errorf("the older file was replaced: %v", err)
	}
}

// An archive that is closed to others is closed when another one has taken its place.
func TestExportKeepsPermissions(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a.phm")
	if err := os.WriteFile(out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ExportTree(t.Context(), someTree(t), out, archive.Named(out)); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(out); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
}

// BenchmarkReadBack states what reading back adds to packing: pack/op and back/op are of the same tree in
// turn.
func BenchmarkReadBack(b *testing.B) {
	for _, format := range packedForms() {
		b.Run(format.Name, func(b *testing.B) {
			tree := someTree(b)
			pages, table := 3000, new(bytes.Buffer)
			w := phm.NewFilesWriter(table)
			for i := range pages {
				var body bytes.Buffer
				for j := range 300 {
					fmt.Fprintf(&body, "<p id=%d>the %.8x of a site that is %x</p>\n", j,
						sha256.Sum256(fmt.Append(nil, i, j/4)), j*i)
				}
				sum, p := sha256.Sum256(body.Bytes()), fmt.Sprintf("p%06d.html", i)
				tree[p] = &fstest.MapFile{Data: body.Bytes()}
				if err := w.Write(&phm.File{
					Path:   p,
					URL:    "http://h.example/" + p,
					Type:   "text/html",
					Size:   int64(body.Len()),
					SHA256: hex.EncodeToString(sum[:]),
				}); err != nil {
					b.Fatal(err)
				}
			}
			sums, err := w.Finish()
			m := &phm.Meta{Entry: "p000000.html", Primary: "http://h.example"}
			m.Count(sums)
			meta := new(bytes.Buffer)
			if err = errors.Join(err, phm.WriteMeta(meta, m)); err != nil {
				b.Fatal(err)
			}
			tree[phm.FilesName].Data, tree[phm.MetaName].Data = table.Bytes(), meta.Bytes()
			var packing, back time.Duration
			for b.Loop() {
				began := time.Now()
				out := packed(b, format, tree)
				packing += time.Since(began)
				began = time.Now()
				if err := out.ReadBack(format); err != nil {
					b.Fatal(err)
				}
				back += time.Since(began)
			}
			b.ReportMetric(float64(back)/float64(packing), "back/pack")
			b.ReportMetric(float64(m.Bytes)/1e6*float64(b.N)/packing.Seconds(), "packMB/s")
		})
	}
}
