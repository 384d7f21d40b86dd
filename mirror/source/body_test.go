// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"slices"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/store/disk"
)

// A body that is small, or may be a document, is held in memory; a large one goes to a file.
func TestBodySink(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	pool := &BodyOptions{
		Blobs:       st.Spool,
		MaxDocument: 1 << 20,
		Now:         time.Now,
		Log:         slog.New(slog.DiscardHandler),
	}
	for _, c := range []struct {
		name   string
		mime   string
		size   int
		inFile bool
	}{
		{"nothing", "text/html", 0, false},
		{"a page", "text/html", smallDoc, false},
		{"a large page", "text/html", smallDoc + 1, true},
		{"an image", "image/png", smallBody, false},
		{"a large image", "image/png", smallBody + 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := pool.New(site.Canonical("http://h.example/x"))
			defer b.Close()
			data := bytes.Repeat([]byte("x"), c.size)
			w, err := b.Begin(&fetch.Head{MIME: c.mime, Length: -1})
			if err != nil {
				t.Fatal(err)
			}
			for part := range bytes.SplitSeq(data, nil) { // each write has one byte
				if _, err := w.Write(part); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.File() != nil; got != c.inFile {
				t.Fatalf("in a file: %v, want %v", got, c.inFile)
			}
			if b.Digest() != sha256.Sum256(data) {
				t.Error("another digest")
			}
			if !c.inFile && !bytes.Equal(b.Bytes(), data) {
				t.Errorf("%d bytes, want %d", len(b.Bytes()), len(data))
			}
			b.Close()
			if b.File() != nil || b.Bytes() != nil {
				t.Error("a closed body has bytes")
			}
		})
	}
}

// failingParts has no beginnings, and cannot keep one.
type failingParts struct{ err error }

func (p failingParts) Keep(*blobs.BlobWriter, string, []byte) error { return p.err }
func (p failingParts) Take(context.Context, string) (*blobs.BlobWriter, []byte, error) {
	return nil, nil, p.err
}

// What the disk refuses is an error of the exchange's beginning, not of the site.
func TestBodySinkResume(t *testing.T) {
	want := disk.ErrDamaged
	pool := &BodyOptions{Parts: failingParts{want}, Now: time.Now}
	b := pool.New(site.Canonical("http://h.example/x"))
	defer b.Close()
	if err := b.Resume(t.Context(), new(fetch.Request)); err != want {
		t.Errorf("%v, want %v", err, want)
	}
}

// A body of which the length is known to be too much for memory goes to a file without a buffer.
func TestBodyBuffers(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	pool := &BodyOptions{
		Blobs:       st.Spool,
		MaxDocument: 1 << 20,
		Now:         time.Now,
		Log:         slog.New(slog.DiscardHandler),
	}
	b := pool.New(site.Canonical("http://h.example/x"))
	defer b.Close()
	w, err := b.Begin(&fetch.Head{MIME: "text/html", Length: smallDoc + 1})
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("y"), smallDoc+1)
	for part := range slices.Chunk(data, 32<<10) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if b.File() == nil || b.buf != nil || b.Digest() != sha256.Sum256(data) {
		t.Errorf("file %v, buffer %v, digest %x", b.File() != nil, b.buf != nil, b.Digest())
	}
}

// The memory of a body that was closed is that of a later one, whose bytes are its own.
func TestBuffersAreUsedAgain(t *testing.T) {
	pool := &BodyOptions{MaxDocument: 1 << 20, Now: time.Now}
	again := 0
	var last *byte
	for i := range 100 { // the race detector drops some
		b := pool.New(site.Canonical("http://h.example/x"))
		want := bytes.Repeat([]byte{byte(i)}, 1000+i)
		w, err := b.Begin(&fetch.Head{MIME: "text/html", Length: int64(len(want))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(want); err != nil || !bytes.Equal(b.Bytes(), want) {
			t.Fatalf("%d bytes, %v", len(b.Bytes()), err)
		}
		if first := &b.Bytes()[0]; first == last {
			again++
		} else {
			last = first
		}
		b.Close()
		b.Close()
	}
	if again < 20 {
		t.Errorf("%d of 100 bodies in memory of earlier ones", again)
	}
}
