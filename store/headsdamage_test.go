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

	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/upkeep"
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
	name := filepath.Join(dir, "sites/x", bodies.HeadsFile(1))
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
		if _, err := s.Verify(t.Context(), func(p upkeep.Problem) {
			if p.Kind == upkeep.BadHead {
				said++
			}
		}); err != nil || said != lost {
			t.Fatalf("%s: %d are lost, Verify says %d, %v", what, lost, said, err)
		}
		if n++; n%20 == 0 || len(bytes) < bodies.HeaderSize { // a run, on a copy
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
	if _, err := s.Compact(t.Context(), false); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for id := range 6 {
		headsOf(t, s, id)
	}
	if h, _ := headsOf(t, s, 0); h == nil || h.String() != plainHead {
		t.Errorf("%s: the new head is %v after gc", what, h)
	}
}
