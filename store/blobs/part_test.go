// SPDX-License-Identifier: Apache-2.0

package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const partURL = "http://h.example/big.iso"

// beginPart makes the first n bytes of body a part and writes the rest of its bytes.
func beginPart(t *testing.T, st *folder, url string, body []byte, n int) *BlobWriter {
	t.Helper()
	w, err := st.blobs.spool.Create()
	if err == nil {
		_, err = w.Write(body[:n])
	}
	if err == nil {
		err = st.parts.Keep(w, url, []byte(`{"validator":"x"}`))
	}
	if err == nil {
		_, err = w.Write(body[n:])
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// inParts returns the sizes of the files in the folder of parts.
func inParts(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	es, err := os.ReadDir(filepath.Join(dir, "site/parts"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, e := range es {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = fi.Size()
	}
	return out
}

func takePart(t *testing.T, st *folder, url string) *BlobWriter {
	t.Helper()
	w, about, err := st.parts.Take(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if w != nil && string(about) != `{"validator":"x"}` {
		t.Errorf("about is %s", about)
	}
	return w
}

func TestPartOutlivesItsProcess(t *testing.T) {
	body := bodyOfSize(3<<20, 1)
	for _, c := range []struct {
		name string
		left bool // by Leave; else as kill -9 leaves it
		want int64
	}{{"left", true, 2<<20 - 1}, {"killed", false, 1<<20 - 1}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			st := openFolder(t, dir, true)
			w := beginPart(t, st, partURL, body[:2<<20], 1<<20)
			if c.left {
				if err := w.Leave(); err != nil {
					t.Fatal(err)
				}
			} else {
				w.f.Close() // the kernel does
			}
			st.close(t)
			st = openFolder(t, dir, true)
			if w := takePart(t, st, partURL+"x"); w != nil {
				t.Error("another URL has the part, too")
			}
			w = takePart(t, st, partURL)
			if w == nil || w.Size() != c.want {
				t.Fatalf("took %+v", w)
			}
			// Killed again before a byte has come: nothing is lost.
			w.f.Close()
			st.close(t)
			st = openFolder(t, dir, true)
			if w = takePart(t, st, partURL); w == nil || w.Size() != c.want {
				t.Fatalf("took %+v the second time", w)
			}
			w.Write(body[c.want:])
			d, n, err := w.Commit(time.Unix(5, 0))
			if err != nil || d != sha256.Sum256(body) || n != int64(len(body)) {
				t.Fatalf("%x, %d bytes, %v", d, n, err)
			}
			if !bytes.Equal(blobBytes(t, st.blobs, d), body) {
				t.Error("the blob has other bytes")
			}
			if left := inParts(t, dir); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if w := takePart(t, st, partURL); w != nil {
				t.Error("the part is there still")
			}
		})
	}
}

// A part grows without being noted at every write, and what a kill costs is bounded.
func TestPartIsNotedAsItGrows(t *testing.T) {
	dir := t.TempDir()
	st := openFolder(t, dir, false)
	body := bodyOfSize(noteBytes+2<<20, 2)
	w := beginPart(t, st, partURL, body[:2<<20], 1<<20)
	if w.part.size != 1<<20 {
		t.Errorf("noted at %d", w.part.size)
	}
	for at := 2 << 20; at < len(body); at += 1 << 20 {
		w.Write(body[at : at+1<<20])
	}
	if w.part.size != 1<<20+noteBytes {
		t.Errorf("noted at %d", w.part.size)
	}
	st.parts.site.Now = func() time.Time { return w.part.noted.Add(noteAge) }
	w.Write(body[:1])
	if w.part.size != w.Size() {
		t.Errorf("noted at %d of %d after %v", w.part.size, w.Size(), noteAge)
	}
	w.Abort()
	if left := inParts(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Nothing is built on bytes that are not those that came, regardless of what a crash, a disk or a person
// left in the folder.
func TestPartThatIsNotWhole(t *testing.T) {
	body := bodyOfSize(2<<20, 3)
	name := partName(partURL)
	for _, c := range []struct {
		name   string
		damage func(dir *os.Root) error
		left   int // files afterwards
	}{
		{"other byte", func(d *os.Root) error { return writeAt(d, name+partBody, 1000) }, 0},
		{"other last byte", func(d *os.Root) error { return writeAt(d, name+partBody, 1<<20-1) }, 0},
		{"shorter", func(d *os.Root) error { return truncate(d, name+partBody, 1<<20-1) }, 0},
		{"empty", func(d *os.Root) error { return truncate(d, name+partBody, 0) }, 0},
		{"note is junk", func(d *os.Root) error { return d.WriteFile(name+partJSON, []byte(`{"url":`), 0o644) }, 0},
		{"note of another URL", func(d *os.Root) error {
			return d.Rename(name+partJSON, partName("http://h.example/")+partJSON)
		}, 0},
		{"no note", func(d *os.Root) error { return d.Remove(name + partJSON) }, 0},
		{"no body", func(d *os.Root) error { return d.Remove(name + partBody) }, 0},
		{"body is a link", func(d *os.Root) error {
			return errors.Join(d.Remove(name+partBody), d.Symlink("../site.db", name+partBody))
		}, 0},
		{"left aside", func(d *os.Root) error {
			return errors.Join(d.Rename(name+partJSON, name+partJSON+partAside), d.Remove(name+partBody))
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			st := openFolder(t, dir, true)
			beginPart(t, st, partURL, body, 1<<20).f.Close()
			st.close(t)
			r, err := os.OpenRoot(filepath.Join(dir, "site/parts"))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if err := c.damage(r); err != nil {
				t.Fatal(err)
			}
			st = openFolder(t, dir, true)
			if w := takePart(t, st, partURL); w != nil {
				t.Errorf("took %d bytes", w.Size())
			}
			if left := inParts(t, dir); len(left) != c.left {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func writeAt(d *os.Root, name string, off int64) error {
	f, err := d.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], off)
	b[0] ^= 1
	_, werr := f.WriteAt(b[:], off)
	return errors.Join(err, werr, f.Close())
}

func truncate(d *os.Root, name string, n int64) error {
	f, err := d.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(n), f.Close())
}

func TestTakePartStops(t *testing.T) {
	dir := t.TempDir()
	st := openFolder(t, dir, true)
	beginPart(t, st, partURL, bodyOfSize(2<<20, 3), 1<<20).Leave()
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("told to")
	stop(why)
	if _, _, err := st.parts.Take(ctx, partURL); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if w := takePart(t, st, partURL); w == nil {
		t.Error("the part is gone")
	} else {
		w.Abort()
	}
}

// A body that has begun again takes the place of the older part; what becomes a blob that is there already
// leaves nothing.
func TestPartInPlaceOfAnOlderOne(t *testing.T) {
	dir := t.TempDir()
	st := openFolder(t, dir, true)
	old, body := bodyOfSize(2<<20, 4), bodyOfSize(2<<20, 5)
	d := sha256.Sum256(body)
	if err := st.blobs.Put(d, body, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := beginPart(t, st, partURL, old, 1<<20).Leave(); err != nil {
		t.Fatal(err)
	}
	w := beginPart(t, st, partURL, body, 1<<20)
	if got, _, err := w.Commit(time.Unix(2, 0)); err != nil || got != d {
		t.Fatalf("%x, %v", got, err)
	}
	if left := inParts(t, dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// An ordinary body that does not come whole is no part.
	w, err := st.blobs.spool.Create()
	if err != nil {
		t.Fatal(err)
	}
	w.Write(body[:10])
	if err := w.Leave(); err != nil || st.coming(t) != 0 || len(inParts(t, dir)) != 0 {
		t.Errorf("%v; %d in tmp, %d parts", err, st.coming(t), len(inParts(t, dir)))
	}
}

func TestCollectParts(t *testing.T) {
	dir := t.TempDir()
	st := openFolder(t, dir, true)
	if f, err := st.parts.Collect(false, nil); err != nil || f != (PartsFreed{}) {
		t.Errorf("without a folder: %+v, %v", f, err)
	}
	beginPart(t, st, partURL, bodyOfSize(2<<20, 6), 1<<20).Leave()
	beginPart(t, st, partURL+"2", bodyOfSize(1<<20, 7), 1<<10).Leave()
	if err := os.WriteFile(filepath.Join(dir, "site/parts/junk"), make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	drop := func(url string, grown time.Time) bool {
		if age := time.Since(grown); age < 0 || age > time.Hour {
			t.Errorf("%s grew %v ago", url, age)
		}
		return url == partURL
	}
	for _, dry := range []bool{true, false} {
		f, err := st.parts.Collect(dry, drop)
		if err != nil || f.Parts != 1 || f.Kept != 1 || f.Freed < 2<<20+1000 || f.Freed > 2<<20+2000 {
			t.Errorf("dry %v: %+v, %v", dry, f, err)
		}
	}
	if left := inParts(t, dir); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	if w := takePart(t, st, partURL); w != nil {
		t.Error("the part is there still")
	}
	if w := takePart(t, st, partURL+"2"); w == nil {
		t.Error("the other part is gone")
	} else {
		w.Abort()
	}
}
