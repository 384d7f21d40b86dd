// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"testing"
)

// sparseFile holds of a file only the pieces that are not zero.
type sparseFile struct {
	size   int64
	pieces map[int64][]byte // by number
}

const pieceSize = 64 << 10

func (f *sparseFile) Write(p []byte) (int, error) {
	n, err := f.WriteAt(p, f.size)
	f.size += int64(n)
	return n, err
}

func (f *sparseFile) WriteAt(p []byte, at int64) (done int, err error) {
	for done < len(p) {
		k, from := (at+int64(done))/pieceSize, (at+int64(done))%pieceSize
		part := p[done:min(len(p), done+int(pieceSize-from))]
		if f.pieces[k] == nil && len(bytes.Trim(part, "\x00")) > 0 {
			f.pieces[k] = make([]byte, pieceSize)
		}
		if f.pieces[k] != nil {
			copy(f.pieces[k][from:], part)
		}
		done += len(part)
	}
	return done, nil
}

func (f *sparseFile) ReadAt(p []byte, at int64) (done int, err error) {
	for done < len(p) && at < f.size {
		k, from := at/pieceSize, at%pieceSize
		n := int(min(int64(len(p)-done), pieceSize-from, f.size-at))
		if piece := f.pieces[k]; piece != nil {
			copy(p[done:done+n], piece[from:])
		} else {
			clear(p[done : done+n])
		}
		done, at = done+n, at+int64(n)
	}
	if done < len(p) {
		err = io.EOF
	}
	return done, err
}

// A file of more than 4 GB has offsets of eight bytes in the cluster of that file, and clusters behind it are
// found. Files of others have such clusters compressed, too.
func TestLarge(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it writes 5 GB: set MIRRORD_LONG")
	}
	const size = 5<<30 + 3
	for _, plain := range []bool{true, false} {
		f := &sparseFile{pieces: map[int64][]byte{}}
		w, err := NewWriter(f, Options{Types: []string{"video/mp4"}})
		if err != nil {
			t.Fatal(err)
		}
		e := Entry{
			Namespace: Content,
			Path:      "film.mp4",
			Type:      "video/mp4",
			Plain:     plain,
		}
		s, err := w.Stream(e, size)
		if err != nil {
			t.Fatal(err)
		}
		zeros, left := make([]byte, 1<<20), int64(size-3)
		for ; left > 0; left -= int64(len(zeros)) {
			if _, err := s.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Write([]byte("end")); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		after := Entry{Namespace: Content, Path: "zz", Type: "video/mp4"}
		if err := w.Add(after, []byte("after it")); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		z, err := Open(f, f.size)
		if err != nil {
			t.Fatal(err)
		}
		b, err := z.Blob(found(t, z, Content, "film.mp4"))
		if err != nil || b.Size != size {
			t.Fatalf("plain %v: %+v, %v", plain, b, err)
		}
		var tail [3]byte
		n, err := io.CopyN(io.Discard, b, size-3)
		if err == nil {
			_, err = io.ReadFull(b, tail[:])
		}
		if string(tail[:]) != "end" || err != nil {
			t.Errorf("plain %v: %q after %d bytes, %v", plain, tail, n, err)
		}
		b.Close()
		if body, err := content(z, found(t, z, Content, "zz")); err != nil || string(body) != "after it" {
			t.Errorf("plain %v: %q, %v", plain, body, err)
		}
		if err := z.CheckSum(); err != nil {
			t.Error(err)
		}
	}
}

// The same of a small file that says so: offsets of eight bytes, plain and compressed.
func TestWideOffsets(t *testing.T) {
	data := sample(t, Options{})
	z := open(t, data)
	f := found(t, z, Content, "large.png")
	body, err := content(z, f)
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.Sum256(body)
	// the cluster of a stream has two offsets: the blob loses eight bytes, each offset gets twice as long
	at, _, err := z.bounds(f.d.cluster)
	if err != nil {
		t.Fatal(err)
	}
	wide := appendOffset(appendOffset([]byte{plainCluster | wideOffsets}, 8, 16), 8, uint64(16+len(body)-8))
	wide = append(wide, body[:len(body)-8]...)
	if len(wide) != 1+8+len(body) {
		t.Fatalf("%d bytes in place of %d", len(wide), 1+8+len(body))
	}
	copy(data[at:], wide)
	z = open(t, data)
	got, err := content(z, f)
	if err != nil || len(got) != len(body)-8 {
		t.Fatalf("%d bytes of %d, %v", len(got), len(body), err)
	}
	if sha256.Sum256(append(got, body[len(body)-8:]...)) != want {
		t.Error("other bytes")
	}
}
