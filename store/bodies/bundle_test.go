// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bytes"
	"errors"
	"testing"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// On a full disk the commit fails, and nothing waits forever.
func TestGatherOnAFullDisk(t *testing.T) {
	s := opened(t)
	good := s.Packs.w
	broken, err := s.Packs.root.Open(PackName(1)) // cannot be written
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	s.Packs.w = broken
	var done []*record.Done
	for id := range 200 { // more than may wait
		done = append(done, gathered(t, s, id, string(random(10_000, byte(id)))))
	}
	for range 2 {
		if err := s.Commit(done); err == nil {
			t.Error("a batch is committed without its documents")
		}
	}
	s.Packs.w = good
}

// Damaged bundles are ErrDamaged, regardless of their content, and cost no memory.
func FuzzBundle(f *testing.F) {
	s := opened(f)
	var done []*record.Done
	for id := range 5 {
		done = append(done, gathered(f, s, id, page(id)))
	}
	raw := frameOf(f, s, written(f, s, done...)[0])
	f.Add(bytes.Clone(raw[HeaderSize:]), uint32(1))
	f.Add([]byte{0, 0, 0, 0}, uint32(1))
	f.Add([]byte{2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1}, uint32(2))
	r := NewFrameReader()
	f.Fuzz(func(t *testing.T, b []byte, doc uint32) {
		raw := append([]byte(bundleMagic+"\x00\x00\x00\x00\x00\x00\x00\x00"), b...)
		seal(raw)
		at, err := s.Packs.Append(raw)
		if err != nil {
			t.Fatal(err)
		}
		at.Doc = max(doc, 1)
		fr, err := s.ReadFrame(r, at)
		if err != nil && !errors.Is(err, disk.ErrDamaged) {
			t.Fatal(err)
		}
		if len(fr.Body) > maxBundle {
			t.Fatalf("%d bytes", len(fr.Body))
		}
		s.Packs.unpacked.drop(0)
	})
}

// What a reader has stays as it is although others are read meanwhile, and few are kept.
func TestUnpackedBundlesAreShared(t *testing.T) {
	s := opened(t)
	const n = 2 * maxUnpacked
	var all []record.Place
	for i := range n {
		a, b := gathered(t, s, 2*i, page(2*i)), gathered(t, s, 2*i+1, page(2*i+1))
		all = append(all, written(t, s, a, b)...)
	}
	first, second := NewFrameReader(), NewFrameReader()
	held, err := s.ReadFrame(first, all[0])
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for id, at := range all {
			if f, err := s.ReadFrame(second, at); err != nil || string(f.Body) != page(id) {
				t.Errorf("page %d: %v", id, err)
			}
		}
	}
	if string(held.Body) != page(0) {
		t.Error("what a reader has was written over")
	}
	if k := len(s.Packs.unpacked.list); k != maxUnpacked {
		t.Errorf("%d are kept", k)
	}
}
