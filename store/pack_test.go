// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

func TestPackRollsOver(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	s.Frames.Packs.Max = 4000
	var done []*record.Done
	for i := range 50 {
		done = append(done, document(t, s, i, string(random(500+i, byte(i)))))
	}
	big := document(t, s, 50, string(random(10000, 99))) // longer than a pack
	commit(t, s, 0, newURLs(0, 51), append(done, big)...)
	closeTest(t, st, s)
	packs, _ := filepath.Glob(filepath.Join(dir, "sites/x/packs/*.pack"))
	if len(packs) < 7 {
		t.Errorf("only %d packs", len(packs))
	}
	for _, p := range packs {
		if fi, err := os.Stat(p); err != nil || (fi.Size() > 4000 && fi.Size() < 10000) {
			t.Errorf("%s: %v, %v", p, fi.Size(), err)
		}
	}
	_, s = openTest(t, dir, Options{})
	if num, _ := s.Frames.Packs.Where(); int(num) != len(packs) {
		t.Errorf("continues in pack %d of %d", num, len(packs))
	}
	foldAll(t, s, 1)
	if n := len(resources(t, s)); n != 51 {
		t.Errorf("%d resources", n)
	}
}

// What was not committed is cut off, also when a new pack was begun.
func TestPackUncommittedTail(t *testing.T) {
	for _, roll := range []bool{false, true} {
		dir := t.TempDir()
		st, s := openTest(t, dir, Options{})
		a := document(t, s, 0, "kept")
		commit(t, s, 0, newURLs(0, 1), a)
		if roll {
			s.Frames.Packs.Max = 10
		}
		document(t, s, 1, "never committed")
		document(t, s, 2, "neither")
		closeTest(t, st, s)
		st, s = openTest(t, dir, Options{})
		if num, size := s.Frames.Packs.Where(); num != 1 || size != int64(a.At.Len) {
			t.Errorf("roll %v: continues at %d in pack %d", roll, size, num)
		}
		s.Frames.Packs.Max = int64(a.At.Len) + 1
		b := document(t, s, 1, "another")
		if (roll && (b.At.Pack != 2 || b.At.Off != 0)) || (!roll && b.At.Pack != 2) {
			t.Errorf("the next frame lies at %+v", b.At)
		}
		commit(t, s, 1, newURLs(1, 2), b)
		closeTest(t, st, s)
		openTest(t, dir, Options{})
	}
}

func TestPackConcurrentAppends(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	s.Frames.Packs.Max = 20000
	done := make([]*record.Done, 400)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := g; i < len(done); i += 8 {
				done[i] = document(t, s, i, fmt.Sprintf("body %d %x", i, random(i, byte(i))))
			}
		})
	}
	wg.Wait()
	commit(t, s, 0, newURLs(0, len(done)), done...)
	r := bodies.NewFrameReader()
	for i, d := range done {
		f, err := s.Frames.ReadFrame(r, d.At)
		if err != nil || sha256.Sum256(f.Body) != d.Digest {
			t.Errorf("frame %d: %v", i, err)
		}
	}
}

func TestPackBadPlaces(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	d := document(t, s, 0, "body")
	commit(t, s, 0, newURLs(0, 1), d)
	r := bodies.NewFrameReader()
	for _, at := range []record.Place{
		{}, {Pack: 9, Len: 100}, {Pack: 1, Off: -1, Len: 100}, {Pack: 1, Off: 1, Len: d.At.Len - 1},
		{Pack: 1, Off: 0, Len: d.At.Len + 1}, {Pack: 1, Len: 1<<32 - 1},
		{Pack: 1, Off: 1<<63 - 1, Len: 1 << 31}, {Pack: 1, Off: 1 << 62, Len: 100}, {Pack: 1, Len: 3},
	} {
		if _, err := s.Frames.ReadFrame(r, at); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%+v: %v", at, err)
		}
	}
	if f, err := s.Frames.ReadFrame(r, d.At); err != nil || string(f.Body) != "body" {
		t.Error(err)
	}
}
