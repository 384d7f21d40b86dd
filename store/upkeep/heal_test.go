// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mirrord/store/bodies"
	"mirrord/store/record"
)

// damageAt flips a bit of a frame.
func damageAt(t *testing.T, s *Site, at record.Place, off int64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(s.Dir, "packs", bodies.PackName(at.Pack)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at.Off+off); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 8
	if _, err := f.WriteAt(b[:], at.Off+off); err != nil {
		t.Fatal(err)
	}
	s.Frames.Packs.Forget()
}

// A damaged frame over which others are deltas comes again at another place, and the deltas are written again
// over it, with all records following; but when it has other links they are lost.
func TestHealMovesFrames(t *testing.T) {
	for _, c := range []struct {
		name  string
		off   int64 // of the damage
		links string
		lost  bool
	}{
		{"payload", 100, "links", false},
		{"header", 8, "links", false},
		{"other links", 100, "more links", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openTest(t, t.TempDir())
			body := string(random(20_000, 1))
			texts := []string{body, body + " of the second page", body + " of the third page"}
			var done []*record.Done
			last := record.Place{}
			for i, b := range texts {
				done = append(done, documentOver(t, s, i, b, last))
				last = done[i].At
			}
			commit(t, s, 0, newURLs(0, len(texts)), done...)
			foldAll(t, s, 1)
			for i, d := range done {
				if under, err := s.Frames.Packs.Under(d.At); err != nil || (len(under) > 0) != (i > 0) {
					t.Fatalf("page %d is over %v, %v", i, under, err)
				}
			}
			damageAt(t, s, done[0].At, c.off)
			var urls []string
			for i := range texts {
				urls = append(urls, testURL(i).String())
			}
			if h, err := s.Heal(t.Context(), urls, nil); err != nil || len(h.URLs) > 0 || len(h.Lost) != 3 {
				t.Fatalf("without a copy: %+v, %v", h, err)
			}
			copies := func(r *record.Resource) iter.Seq[BodyCopy] {
				if r.ID > 0 {
					return slices.Values([]BodyCopy{})
				}
				return slices.Values([]BodyCopy{
					{Body: []byte("wrong")}, {Body: []byte(body), Links: []byte(c.links)},
				})
			}
			h, err := s.Heal(t.Context(), urls, copies)
			if want := map[bool]int{true: 2}[c.lost]; err != nil || len(h.Lost) != want || len(h.URLs) != 3-want {
				t.Fatalf("repaired %v, lost %v, %v", h.URLs, h.Lost, err)
			}
			for i, b := range texts {
				rec, _, err := s.Records.Get(testURL(i))
				if err != nil {
					t.Fatal(err)
				}
				f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
				if lost := c.lost && i > 0; lost != (err != nil) || (!lost && string(f.Body) != b) {
					t.Errorf("page %d: %v", i, err)
				} else if !lost && rec.At == done[i].At {
					t.Errorf("page %d lies at %v, and lay at %v", i, rec.At, done[i].At)
				}
			}
			if again, err := s.Heal(t.Context(), urls, nil); err != nil || len(again.Lost) != len(h.Lost) {
				t.Errorf("after it: %+v, %v", again, err)
			}
			for _, l := range h.Lost { // nothing is left for the check of the helper to find
				commit(t, s, uint32(len(texts)), nil, document(t, s, slices.Index(urls, l.URL), "again"))
			}
			foldAll(t, s, 1)
		})
	}
}

// A missing blob, and one of other bytes, are replaced by a copy that the caller knows, and by no other.
func TestHealBlobFromCopy(t *testing.T) {
	for _, harm := range []func(name string) error{
		os.Remove,
		func(name string) error { return os.WriteFile(name, []byte("0ther bytes"), 0o644) },
	} {
		s := openTest(t, t.TempDir())
		const body = "other bytes"
		d := blobOf(t, s, 0, body)
		commit(t, s, 0, newURLs(0, 1), d)
		foldAll(t, s, 1)
		if err := harm(blobFile(s, d.Digest)); err != nil {
			t.Fatal(err)
		}
		url := testURL(0).String()
		for i, copied := range []string{"wrong bytes", body} {
			h, err := s.Heal(t.Context(), []string{url}, func(*record.Resource) iter.Seq[BodyCopy] {
				return slices.Values([]BodyCopy{{Body: []byte(copied)}})
			})
			if err != nil || len(h.URLs) != i || len(h.Lost) != 1-i {
				t.Errorf("%s: %s", copied, fmt.Sprint(h, err))
			}
		}
		got, err := os.ReadFile(blobFile(s, d.Digest))
		if string(got) != body {
			t.Errorf("%q, %v", got, err)
		}
	}
}
