// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"mirrord/replica/text"
)

func digestOf(id uint32, words uint32) *PageDigest {
	p := &PageDigest{
		ID:     id,
		Body:   uint64(id) << 40,
		Digest: text.ContentDigest{Text: uint64(id) + 1, Words: words, Site: id},
	}
	for i := range p.Digest.Sketch {
		p.Digest.Sketch[i] = byte(int(id) * i)
	}
	return p
}

// folder is a new folder of a site.
func folder(t testing.TB) PageFiles {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return PageFiles{Root: root}
}

func openDigests(t testing.TB, s PageFiles) *Digests {
	t.Helper()
	d, err := s.Digests()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDigests(t *testing.T) {
	s := folder(t)
	d := openDigests(t, s)
	for i := range uint32(500) {
		if n, err := d.Append(digestOf(i, 10)); n != i || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	s.Reader = true // who may write them as well
	d = openDigests(t, s)
	if n, err := d.Append(digestOf(500, 10)); n != 500 || err != nil {
		t.Fatal(n, err)
	}
	want := func(keep func(uint32) bool) {
		t.Helper()
		var ids []uint32
		for i := range uint32(501) {
			if keep(i) {
				ids = append(ids, i)
			}
		}
		at := 0
		for n, p := range d.All() {
			if int(n) != at || p.ID != ids[at] || *p != *digestOf(p.ID, 10) {
				t.Fatalf("entry %d is %+v", n, p)
			}
			if one, ok, err := d.At(n); one != *p || !ok || err != nil {
				t.Fatalf("entry %d alone is %+v, %v, %v", n, one, ok, err)
			}
			at++
		}
		if at != len(ids) || int(d.Len()) != at {
			t.Fatalf("%d entries of %d", at, len(ids))
		}
	}
	want(func(uint32) bool { return true })
	odd := func(id uint32) bool { return id%2 == 1 }
	if err := d.Keep(func(n uint32, p *PageDigest) bool { return odd(p.ID) }); err != nil {
		t.Fatal(err)
	}
	want(odd)
	if _, ok, err := d.At(400); ok || err != nil {
		t.Errorf("an entry that is not there: %v, %v", ok, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDigests(t, s)
	defer d.Close()
	want(odd)
}

// Entries are written many at a time, and can be read before that and after it.
func TestDigestsAreWrittenTogether(t *testing.T) {
	s := folder(t)
	d := openDigests(t, s)
	n := uint32(2*entryTail/d.size + 3)
	writes := 0
	for i := range n {
		waiting := len(d.tail)
		if at, err := d.Append(digestOf(i, 10)); at != i || err != nil {
			t.Fatal(at, err)
		}
		if len(d.tail) < waiting {
			writes++
		}
		if at := i / 2; i > 0 { // some are in the file by then
			if p, ok, err := d.At(at); !ok || err != nil || p != *digestOf(at, 10) {
				t.Fatal(p, ok, err)
			}
		}
		if p, ok, err := d.At(i); !ok || err != nil || p != *digestOf(i, 10) {
			t.Fatal(p, ok, err)
		}
	}
	if writes != 2 {
		t.Errorf("%d writes", writes)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDigests(t, s)
	defer d.Close()
	seen := uint32(0)
	for i, p := range d.All() {
		if i != seen || *p != *digestOf(i, 10) {
			t.Fatalf("entry %d after %d: %v", i, seen, p.Digest.Words)
		}
		seen++
	}
	if seen != n {
		t.Errorf("%d entries of %d", seen, n)
	}
}

// What may not be written is read.
func TestDigestsOfOthers(t *testing.T) {
	s := folder(t)
	d := openDigests(t, s)
	if _, err := d.Append(digestOf(1, 10)); err != nil {
		t.Fatal(err)
	}
	d.Close()
	d = openDigests(t, s)
	d.readOnly = true
	if _, err := d.Append(digestOf(2, 10)); err == nil {
		t.Error("written")
	}
	if err := d.Keep(func(uint32, *PageDigest) bool { return false }); err != nil || d.Len() != 1 {
		t.Errorf("%d entries, %v", d.Len(), err)
	}
	d.Close()
	none := newEntries[PageDigest](DigestsFile, digestMagic)
	none.readOnly = true
	for range none.All() {
		t.Error("an entry of no file")
	}
	if _, ok, err := none.At(0); ok || err != nil || none.Close() != nil {
		t.Error("no file is not like an empty one")
	}
}

// A file of another user, who may read the site and create files in its folder, does not keep a run from
// having its own.
func TestDigestsMadeByOthers(t *testing.T) {
	s := folder(t)
	d := openDigests(t, s)
	if _, err := d.Append(digestOf(1, 10)); err != nil {
		t.Fatal(err)
	}
	d.Close()
	// as good as another owner; root does not mind either
	if err := os.Chmod(filepath.Join(s.Root.Name(), DigestsFile), 0o444); err != nil {
		t.Fatal(err)
	}
	d = openDigests(t, s)
	defer d.Close()
	if _, err := d.Append(digestOf(2, 10)); err != nil {
		t.Error(err)
	}
}

// When there is no room to write the file again, it stays, and nothing else does.
func TestDigestsKeepFails(t *testing.T) {
	s := folder(t)
	d := openDigests(t, s)
	defer d.Close()
	for i := range uint32(10) {
		if _, err := d.Append(digestOf(i, 10)); err != nil {
			t.Fatal(err)
		}
	}
	err := d.Keep(func(n uint32, p *PageDigest) bool {
		if n == 5 { // nothing can take the place of a folder
			if err := s.Root.Remove(DigestsFile); err != nil {
				t.Fatal(err)
			}
			if err := s.Root.MkdirAll(DigestsFile+"/full", 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	if err == nil {
		t.Error("no error")
	}
	if _, err := s.Root.Stat(DigestsFile + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file on its way in stayed:", err)
	}
	if p, ok, err := d.At(3); p != *digestOf(3, 10) || !ok || err != nil {
		t.Errorf("%+v, %v, %v", p, ok, err)
	}
}

// What pages say has a file of its own; a file of another form is begun again.
func TestTexts(t *testing.T) {
	s := folder(t)
	open := func() *Texts {
		t.Helper()
		d, err := s.Texts()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := open()
	want := []TextEntry{
		{ID: 3, Body: 1<<63 + 5, Said: text.Said{Text: 7, Gist: 1 << 62}},
		{ID: 1 << 31, Body: 2, Said: text.Said{Text: 1<<64 - 1, Gist: 9}},
	}
	for i := range want {
		if n, err := d.Append(&want[i]); int(n) != i || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open()
	for i := range want {
		if p, ok, err := d.At(uint32(i)); p != want[i] || !ok || err != nil {
			t.Errorf("%+v, %v, %v", p, ok, err)
		}
	}
	d.Close()
	if fi, err := s.Root.Stat(TextsFile); err != nil || fi.Size() != 16+2*32 {
		t.Errorf("%d bytes, %v", fi.Size(), err)
	}
	old := append([]byte("mTx0"), make([]byte, 60)...)
	if err := os.WriteFile(filepath.Join(s.Root.Name(), TextsFile), old, 0o644); err != nil {
		t.Fatal(err)
	}
	d = open()
	defer d.Close()
	if n, err := d.Append(&want[0]); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// A file of any bytes is read to its end, and can be written on.
func FuzzDigests(f *testing.F) {
	var buf bytes.Buffer
	buf.Write(newEntries[PageDigest](DigestsFile, digestMagic).head)
	for i := range uint32(3) {
		buf.Write(newEntries[PageDigest](DigestsFile, digestMagic).append(nil, digestOf(i, i)))
	}
	f.Add(buf.Bytes())
	f.Add(buf.Bytes()[:200])
	f.Add([]byte("mDg2"))
	f.Add([]byte{})
	s := folder(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(s.Root.Name(), DigestsFile), b, 0o644); err != nil {
			t.Fatal(err)
		}
		d := openDigests(t, s)
		defer d.Close()
		n := uint32(0)
		for at := range d.All() {
			if at < n || at >= d.Len() {
				t.Fatalf("entry %d of %d", at, d.Len())
			}
			n = at + 1
		}
		at, err := d.Append(digestOf(9, 9))
		if err != nil {
			t.Fatal(err)
		}
		if p, ok, err := d.At(at); p != *digestOf(9, 9) || !ok || err != nil {
			t.Fatalf("%+v, %v, %v", p, ok, err)
		}
	})
}
