// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/fetch/heads"
	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// After any damage of the file a head is the one that was written, or lost; runs continue, Verify reports
// lost heads, and gc drops them.
func TestDamagedHeadsAreLostAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	st, s := openHeads(t, dir)
	rng := rand.New(rand.NewPCG(3, 4))
	want := map[string]string{}
	var done []*record.Done
	for id := range 6 {
		text := headKinds[id%2].text(rng, id, time.Unix(1700000000, 0).UTC())
		want[testURL(id).String()] = text
		done = append(done, answered(id, 1, headOf(t, text)))
	}
	commit(t, s, 0, newURLs(0, 6), done...)
	foldAll(t, s, 1)
	s.Close()
	st.Close()
	name := filepath.Join(dir, "sites/x", headsFile(1))
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string][]byte{
		"missing":      nil,
		"empty":        {},
		"another form": append([]byte("mHd\x02"), whole[4:]...),
	}
	each := sized(11, 3) // bytes
	for i := 0; i < len(whole); i += each {
		flipped := append([]byte(nil), whole...)
		flipped[i] ^= 1 << (i % 8)
		damages[fmt.Sprintf("bit of byte %d", i)] = flipped
		if i%(4*each) == 0 {
			damages[fmt.Sprintf("cut at %d", i)] = whole[:i]
			damages[fmt.Sprintf("zeros from %d", i)] = append(append([]byte(nil), whole[:i]...),
				make([]byte, len(whole)-i)...)
			damages[fmt.Sprintf("moved at %d", i)] = append(append([]byte(nil), whole[:i]...), whole...)
		}
	}
	n := 0
	for what, bytes := range damages {
		os.Remove(name)
		if bytes != nil {
			if err := os.WriteFile(name, bytes, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		st, s := openHeadsVolatile(t, dir)
		lost := 0
		for u, r := range resources(t, s) {
			h, err := s.Records.ReadHead(r.URL, r.Head)
			switch {
			case err != nil && !errors.Is(err, disk.ErrDamaged):
				t.Fatalf("%s: %v", what, err)
			case err != nil:
				lost++
			case h.String() != want[u]:
				t.Fatalf("%s: %s has\n%s", what, u, h)
			}
		}
		said := 0
		if _, err := s.Verify(t.Context(), func(p Problem) {
			if p.Kind == BadHead {
				said++
			}
		}); err != nil || said != lost {
			t.Fatalf("%s: %d are lost, Verify says %d, %v", what, lost, said, err)
		}
		if n++; n%20 == 0 || len(bytes) < frameHeader { // a run, on a copy
			s.Close()
			st.Close()
			goOnWithDamagedHeads(t, what, copyState(t, dir))
			continue
		}
		s.Close()
		st.Close()
	}
}

// goOnWithDamagedHeads makes a run over a site and collects its garbage: then all heads are right or gone.
func goOnWithDamagedHeads(t *testing.T, what, dir string) {
	t.Helper()
	_, s := openHeads(t, dir)
	commit(t, s, 6, nil, answered(0, 2, headOf(t, plainHead)))
	same := answered(1, 1, headOf(t, "HTTP/1.1 304 Not Modified\nServer: t\n"))
	same.Outcome, same.Run, same.Checked = site.Unchanged, 2, 2000
	commit(t, s, 6, nil, same)
	foldAll(t, s, 2)
	if h, _ := headsOf(t, s, 0); h == nil || h.String() != plainHead {
		t.Errorf("%s: the new head is %v", what, h)
	}
	headsOf(t, s, 1) // freshened, or none
	if _, err := s.compactor().compactHeads(t.Context(), false); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for id := range 6 {
		headsOf(t, s, id)
	}
	if h, _ := headsOf(t, s, 0); h == nil || h.String() != plainHead {
		t.Errorf("%s: the new head is %v after gc", what, h)
	}
}

// FuzzHeadsFile reads heads from a file that holds anything.
func FuzzHeadsFile(f *testing.F) {
	root, err := os.OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { root.Close() })
	made, err := openHeadFiles(root)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { made.close() })
	made.enc = new(frameEncoder)
	if err := made.packs.begin(1, 0); err != nil {
		f.Fatal(err)
	}
	url, rng := testURL(1).String(), rand.New(rand.NewPCG(5, 6))
	for n := range 2 {
		made.add(url, headOf(f, headKinds[0].text(rng, n, time.Unix(1700000000, 0))))
	}
	f.Add(made.enc.bundle(nil, made.raw, made.ends), uint16(1))
	f.Add([]byte(olderMagic+"\x00\x00\x00\x00\x05\x00\x00\x00\x00\x01\x02\x03"), uint16(8))
	f.Fuzz(func(t *testing.T, b []byte, off uint16) {
		if err := os.WriteFile(filepath.Join(root.Name(), headsFile(1)), b, 0o644); err != nil {
			t.Fatal(err)
		}
		clear(made.older)
		made.packs.unpacked.drop(0)
		at := record.HeadPlace{File: 1, Off: int64(off)}
		h, err := made.read(url, at)
		if (err != nil && !errors.Is(err, disk.ErrDamaged)) || (err == nil && h.Size() > 2*heads.MaxSize) {
			t.Fatal(err)
		}
		made.bundled(at)
	})
}
