// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// page is a page of a site: most of it is what all pages have.
func page(id int) string {
	return strings.Repeat("the same on all pages ", 200) + fmt.Sprintf("%x %x page %d", random(600, 1),
		random(200, byte(id)), id)
}

// bundled commits pages 0 to n-1 in one bundle, and returns their places.
func bundled(t testing.TB, s *Site, n int) (places []record.Place) {
	t.Helper()
	var done []*record.Done
	for id := range n {
		done = append(done, gathered(t, s, id, page(id)))
	}
	commit(t, s, 0, newURLs(0, n), done...)
	foldAll(t, s, 1)
	return placesOf(t, s, n)
}

func placesOf(t testing.TB, s *Site, n int) (places []record.Place) {
	t.Helper()
	for id := range n {
		r, ok, err := s.Records.Get(testURL(id))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		places = append(places, r.At)
	}
	return places
}

func wantPages(t testing.TB, s *Site, places []record.Place) {
	t.Helper()
	r := bodies.NewFrameReader()
	for id, at := range places {
		f, err := s.Frames.ReadFrame(r, at)
		if err != nil || string(f.Body) != page(id) || string(f.Links) != "links" {
			t.Errorf("page %d at %v: %v, %.20q", id, at, err, f.Body)
		}
	}
}

// The documents of a batch lie in one frame, which is much smaller than one for each, and are read again
// from it, by another process too. One that comes alone has an ordinary frame, and so has a large one.
func TestBatchIsOneFrame(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	const n = 30
	places := bundled(t, s, n)
	for id, at := range places {
		if first := places[0]; at.Off != first.Off || at.Len != first.Len || at.Doc != uint32(id+1) {
			t.Errorf("page %d lies at %v, the first one at %v", id, at, first)
		}
	}
	if alone := document(t, s, 0, page(0)); int(places[0].Len) > n*int(alone.At.Len)/3 {
		t.Errorf("%d bytes, a page alone takes %d", places[0].Len, alone.At.Len)
	}
	single, large := gathered(t, s, n, page(n)), gathered(t, s, n+1, string(random(600<<10, 1)))
	commit(t, s, n, newURLs(n, n+2), single, large)
	foldAll(t, s, 1)
	all := placesOf(t, s, n+2)
	if all[n].Doc != 0 || all[n+1].Doc != 0 {
		t.Errorf("alone: %v, large: %v", all[n], all[n+1])
	}
	wantPages(t, s, all[:n+1])
	closeTest(t, st, s)
	_, s = openTest(t, dir, Options{})
	wantPages(t, s, all[:n+1])
}

// Many workers hand documents on while batches are committed: each record refers to its document.
func TestGatherWhileCommitting(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	const workers, each = 4, 60
	body := func(id int) string { return page(id) + string(random(8000, byte(id))) }
	done := make(chan *record.Done)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				id := w*each + i
				done <- gathered(t, s, id, body(id))
			}
		})
	}
	go func() {
		wg.Wait()
		close(done)
	}()
	known := uint32(0)
	commit(t, s, 0, newURLs(0, workers*each))
	known = workers * each
	var batch []*record.Done
	for d := range done {
		if batch = append(batch, d); len(batch) == 17 {
			commit(t, s, known, nil, batch...)
			batch = nil
		}
	}
	commit(t, s, known, nil, batch...)
	foldAll(t, s, 1)
	r := bodies.NewFrameReader()
	for id, at := range placesOf(t, s, workers*each) {
		if f, err := s.Frames.ReadFrame(r, at); err != nil || string(f.Body) != body(id) {
			t.Errorf("page %d at %v: %v", id, at, err)
		}
	}
}

// What was gathered and not committed is gone with the process, and nothing refers to it.
func TestGatheredAndNotCommitted(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	places := bundled(t, s, 3)
	size := sizeOf(t, filepath.Join(s.Dir, "packs"))
	for id := 3; id < 200; id++ {
		gathered(t, s, id, string(random(10_000, byte(id))))
	}
	closeTest(t, st, s)
	_, s = openTest(t, dir, Options{})
	if now := sizeOf(t, filepath.Join(s.Dir, "packs")); now != size {
		t.Errorf("the packs have %d bytes, and had %d", now, size)
	}
	wantPages(t, s, places)
}

// A page that changes is a delta over its document in a frame of many. When the others of that frame go, the
// rest moves, and the delta with it; when the delta goes, so does its base.
func TestDeltaOverOneOfMany(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	const n = 20
	places := bundled(t, s, n)
	changed := page(7) + " changed"
	again := page(7) + " changed again"
	for _, body := range []string{changed, again} {
		r, _, err := s.Records.Get(testURL(7))
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, n, nil, documentOver(t, s, 7, body, r.At))
		foldAll(t, s, 1)
	}
	if k := deltasOf(t, s); k != 1 {
		t.Fatalf("%d deltas", k)
	}
	if under, err := s.Frames.Packs.Under(placesOf(t, s, n)[7]); err != nil || len(under) != 1 {
		t.Fatalf("%+v, %v", under, err)
	}
	var gone []*record.Done
	for id := range n {
		if id != 7 && id != 9 && id != 11 {
			r, _, err := s.Records.Get(testURL(id))
			if err != nil {
				t.Fatal(err)
			}
			r.InSet = false
			gone = append(gone, &record.Done{Resource: r})
		}
	}
	commit(t, s, n, nil, gone...)
	foldAll(t, s, 1)
	compact(t, s, false) // the records forget their bodies
	c, err := s.Purge(t.Context(), func(string) bool { return false })
	if err != nil || c.Packs != 1 || len(c.Damaged) > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	now := placesOf(t, s, n)
	if now[9] == places[9] || now[9].Doc == 0 || now[9].Len >= places[9].Len {
		t.Errorf("page 9 lay at %v, and lies at %v", places[9], now[9])
	}
	wantBody(t, s, now[7], again)
	wantBody(t, s, now[9], page(9))
	wantBody(t, s, now[11], page(11))
	for _, b := range textsOf(t, s) {
		if strings.Contains(b, "page 5") {
			t.Error("what nothing refers to is still in a frame")
		}
	}
}

func wantBody(t testing.TB, s *Site, at record.Place, want string) {
	t.Helper()
	if f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), at); err != nil || string(f.Body) != want {
		t.Errorf("at %v: %v, %.40q", at, err, f.Body)
	}
}

// textsOf unpacks all frames.
func textsOf(t testing.TB, s *Site) (out []string) {
	t.Helper()
	packs, _, err := s.Frames.Packs.List()
	if err != nil {
		t.Fatal(err)
	}
	r := bodies.NewFrameReader()
	for _, p := range packs {
		raw, err := os.ReadFile(filepath.Join(s.Dir, "packs", bodies.PackName(p.Num)))
		if err != nil {
			t.Fatal(err)
		}
		for at := (record.Place{Pack: p.Num}); at.Off < p.Size; at.Off += int64(at.Len) {
			at.Len, at.Doc = bodies.HeaderSize+binary.LittleEndian.Uint32(raw[at.Off+4:]), 0
			if string(raw[at.Off:][:4]) == "mPb1" {
				at.Doc = 1
			}
			for text, err := s.Frames.Packs.Payload(r, at); err == nil; text, err = s.Frames.Packs.Payload(r, at) {
				out = append(out, string(text))
				if at.Doc == 0 {
					break
				}
				at.Doc++
			}
		}
	}
	return out
}

// A URL that is taken out leaves nothing in a frame that others share, and a delta over its document becomes
// a full frame.
func TestPurgeOneOfMany(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	const n = 12
	places := bundled(t, s, n)
	like := documentRecord(n, page(3)+" as well", nil)
	w := s.Frames.NewFrameWriter()
	var err error
	if like.At, err = s.Frames.AppendFrameOver(w, bodies.FrameMetaOf(&like.Resource), nil,
		[]byte(page(3)+" as well"), record.Place{}, places[3]); err != nil {
		t.Fatal(err)
	}
	commit(t, s, n, newURLs(n, n+1), like)
	foldAll(t, s, 1)
	if k := deltasOf(t, s); k != 1 {
		t.Fatalf("%d deltas", k)
	}
	out := testURL(3)
	if err := s.Versions.Erase(&facts.Erasure{URLs: []site.URL{out}}); err != nil {
		t.Fatal(err)
	}
	c, err := s.Purge(t.Context(), func(url string) bool { return url == out.String() })
	if err != nil || len(c.Damaged) > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	now := placesOf(t, s, n+1)
	for id, at := range now[:n] {
		if id != 3 {
			wantBody(t, s, at, page(id))
		}
	}
	wantBody(t, s, now[n], page(3)+" as well")
	for _, b := range textsOf(t, s) {
		if strings.Contains(b, out.String()) {
			t.Error("a frame names the URL that was taken out")
		}
	}
}

// A damaged frame of many costs all of its documents; each is repaired from its own copy, and so are
// deltas over them. Those without a copy are lost, and no others.
func TestHealOneOfMany(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{}, upkeep.BadFrame)
	const n = 6
	places := bundled(t, s, n)
	commit(t, s, n, newURLs(n, n+1), documentOver(t, s, n, page(2)+" changed", places[2]))
	foldAll(t, s, 1)
	damageAt(t, s, places[0], int64(places[0].Len)-3)
	bad := 0
	if _, err := s.Verify(t.Context(), func(p upkeep.Problem) {
		if bad++; p.Kind != upkeep.BadFrame {
			t.Errorf("%s", p)
		}
	}); err != nil || bad != n+1 {
		t.Fatalf("%d problems, %v", bad, err)
	}
	var urls []string
	for id := range n + 1 {
		urls = append(urls, testURL(id).String())
	}
	h, err := s.Heal(t.Context(), urls, func(r *record.Resource) iter.Seq[upkeep.BodyCopy] {
		if r.ID >= n-1 {
			return slices.Values([]upkeep.BodyCopy{})
		}
		return slices.Values([]upkeep.BodyCopy{{Body: []byte(page(int(r.ID))), Links: []byte("links")}})
	})
	if err != nil || len(h.URLs) != n || len(h.Lost) != 1 || h.Lost[0].URL != urls[n-1] {
		t.Fatalf("repaired %v, lost %v, %v", h.URLs, h.Lost, err)
	}
	now := placesOf(t, s, n+1)
	wantPages(t, s, now[:n-1])
	wantBody(t, s, now[n], page(2)+" changed")
}
