// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"mirrord/archive/wacz"
	"mirrord/archive/warc"
	"mirrord/internal/inorder"
	"mirrord/internal/lines"
	"mirrord/phm"
)

// heap is a scratch file in memory.
type heap struct{ bytes.Buffer }

func (h *heap) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(h.Bytes()).ReadAt(p, off)
}
func (h *heap) Close() error { return nil }

func inHeap() (lines.Scratch, error) { return new(heap), nil }

// captured writes some captures in a form: a page that came twice, and a body that is too large for memory.
func captured(t *testing.T, f Form) []byte {
	t.Helper()
	var out bytes.Buffer
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	w, err := f.Captures(&out, About{
		Details: wacz.Details{
			Title:    "Some site",
			Software: "test",
			Created:  at,
			MainURL:  "http://a.test/",
			MainDate: at,
		},
		Scratch: inHeap,
	})
	if err != nil {
		t.Fatal(err)
	}
	head := func(mime string) []byte {
		return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n", mime)
	}
	large := strings.Repeat("0123456789abcdef", (MemberSize+16)/16)
	for i, c := range []struct {
		url, mime, body string
		again           time.Time
	}{
		{"http://a.test/", "text/html; charset=utf-8", "<title>A</title>", time.Time{}},
		{"http://a.test/large", "text/plain", large, time.Time{}},
		{"http://a.test/", "text/html; charset=utf-8", "<title>A</title>", at},
	} {
		x := &Capture{URL: c.url, Date: at.Add(time.Duration(i) * time.Hour), Head: head(c.mime)}
		x.Size, x.Digest, x.Again = int64(len(c.body)), sha256.Sum256([]byte(c.body)), c.again
		if strings.HasPrefix(c.mime, "text/html") {
			x.Listed, x.Title = x.Date, "A"
		}
		p, err := PackCapture(new(warc.Packer), x, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Every form of captures is known by what it holds, reads back, and shows damage.
func TestCaptures(t *testing.T) {
	for _, f := range Forms() {
		if f.Captures == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			file := captured(t, f)
			r, size := bytes.NewReader(file), int64(len(file))
			if in, err := FormOf(r, size); err != nil || in.Name != f.Name {
				t.Errorf("it is recognized as %s: %v", in.Name, err)
			}
			got, err := f.Verify(r, size, inorder.Crew{})
			if err != nil || got.Err() != nil || got.Files != 4 {
				t.Fatalf("verify: %+v, %v", got, err)
			}
			if _, err := Open(r, size, phm.Limits{}); err == nil {
				t.Error("it opens as a tree")
			}
			if f.Replaceable(r, size) != nil || f.Replaceable(strings.NewReader("text"), 4) == nil {
				t.Error("what may be replaced is not told from what may not")
			}
			if !bytes.Equal(file, captured(t, f)) {
				t.Error("the same captures give another file")
			}
			bad := bytes.Clone(file)
			bad[len(bad)/3] ^= 1
			for _, damaged := range [][]byte{bad, file[:size/2]} {
				got, err := f.Verify(bytes.NewReader(damaged), int64(len(damaged)), inorder.Crew{})
				if err == nil && got.Err() == nil {
					t.Error("damage is not found")
				}
			}
		})
	}
}

var _ io.ReaderAt = (*heap)(nil)
