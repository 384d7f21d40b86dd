// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"mirrord/archive/wacz"
	"mirrord/archive/warc"
	"mirrord/internal/lines"
)

// scratchFile is a file without a name.
func scratchFile(t *testing.T) func() (lines.Scratch, error) {
	return func() (lines.Scratch, error) { return os.CreateTemp(t.TempDir(), "scratch") }
}

// Web archives are written as a stream: memory does not grow with their bytes, nor with the size of a body.
func TestLargeArchivesInBulk(t *testing.T) {
	small, large := 160, int64(5<<20) // bodies of 16 KiB, and one
	if os.Getenv("MIRRORD_LONG") != "" {
		small, large = 1_000_000, 34<<30 // 50 GB together
	}
	const most = 100 << 20
	for _, name := range []string{"warc", "wacz"} {
		form, _ := Find(name)
		out := &countingWriter{}
		w, err := form.Captures(out, About{Details: wacz.Details{Software: "test"}, Scratch: scratchFile(t)})
		if err != nil {
			t.Fatal(err)
		}
		before, peak := heapNow(), int64(0)
		var p warc.Packer
		add := func(i int, size int64, body io.Reader, sum [32]byte) {
			c := &Capture{
				URL:    fmt.Sprintf("http://h.test/d%d/f%07d.bin", i/1000, i),
				Date:   time.Unix(1_700_000_000+int64(i), 0),
				Head:   []byte("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n"),
				Size:   size,
				Digest: sum,
			}
			packed, err := PackCapture(&p, c, body)
			if err == nil {
				err = w.Add(packed)
			}
			if err != nil {
				t.Fatalf("%s: %d: %v", name, i, err)
			}
			if i%(small/8) == 0 {
				peak = max(peak, heapNow()-before)
			}
		}
		noise := make([]byte, 1<<20) // what cannot be packed
		rand.NewChaCha8([32]byte{7}).Read(noise)
		body := noise[:16<<10]
		sum := sha256.Sum256(body)
		for i := range small {
			add(i, int64(len(body)), bytes.NewReader(body), sum)
		}
		add(small, large, io.LimitReader(&again{noise, 0}, large), [32]byte{1})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		peak = max(peak, heapNow()-before)
		want := int64(small)*int64(len(body)) + large
		if out.n < want || peak > most {
			t.Errorf("%s: %d bytes, %d of memory", name, out.n, peak)
		}
		t.Logf("%s: %d bytes, %d of memory", name, out.n, peak)
	}
}

// heapNow is what the heap holds.
func heapNow() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

type countingWriter struct{ n int64 }

func (c *countingWriter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// again reads the same bytes again and again.
type again struct {
	b  []byte
	at int
}

func (r *again) Read(p []byte) (int, error) {
	n := copy(p, r.b[r.at:])
	r.at = (r.at + n) % len(r.b)
	return n, nil
}
