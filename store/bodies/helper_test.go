// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/site"
	"mirrord/store/record"
)

// opened opens packs in a new folder.
func opened(t testing.TB) *Frames {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Frames{Packs: Open(root, nil)}
	t.Cleanup(func() { s.Packs.Close() })
	if err := s.Packs.Begin(1, 0); err != nil {
		t.Fatal(err)
	}
	return s
}

func testURL(n int) site.URL { return site.Canonical(fmt.Sprintf("http://h.example/page%d.html", n)) }

// documentRecord is the result of a document that is not stored yet.
func documentRecord(id int, body string) *record.Done {
	return &record.Done{Resource: record.Resource{
		ID:     uint32(id),
		URL:    testURL(id),
		Size:   int64(len(body)),
		Digest: sha256.Sum256([]byte(body)),
		Body:   record.PackBody,
	}}
}

// document stores a document by itself.
func document(t testing.TB, s *Frames, id int, body string) *record.Done {
	t.Helper()
	d := documentRecord(id, body)
	var err error
	d.At, err = s.AppendFrame(s.NewFrameWriter(), FrameMetaOf(&d.Resource), []byte("links"), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// gathered stores a document with others.
func gathered(t testing.TB, s *Frames, id int, body string) *record.Done {
	t.Helper()
	d := documentRecord(id, body)
	var err error
	d.At, err = s.GatherFrame(s.NewFrameWriter(), FrameMetaOf(&d.Resource), []byte("links"), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// written returns where documents lie that may have been gathered.
func written(t testing.TB, s *Frames, done ...*record.Done) (places []record.Place) {
	t.Helper()
	if err := s.Commit(done); err != nil {
		t.Fatal(err)
	}
	for _, d := range done {
		r, err := s.Placed(d)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, r.At)
	}
	return places
}

// damageAt flips a bit of a frame.
func damageAt(t *testing.T, s *Frames, at record.Place, off int64) {
	t.Helper()
	name := filepath.Join(s.Packs.root.Name(), PackName(at.Pack))
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	raw[at.Off+off] ^= 8
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Packs.Forget()
}

// page is a page of a site: most of it is what all pages have.
func page(id int) string {
	return strings.Repeat("the same on all pages ", 200) + fmt.Sprintf("%x %x page %d", random(600, 1),
		random(200, byte(id)), id)
}

func random(n int, seed byte) []byte {
	d := sha256.Sum256([]byte{seed})
	var b bytes.Buffer
	for b.Len() < n {
		d = sha256.Sum256(d[:])
		b.Write(d[:])
	}
	return b.Bytes()[:n]
}
