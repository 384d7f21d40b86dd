// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mirrord/fetch/heads"
	"mirrord/store/record"
)

// What heads cost on disk: at most 80 bytes a page beyond the random bytes, also when it comes again with the
// same head but for dates.
func TestHeadsCostFewBytes(t *testing.T) {
	const pages, each = 300, 100 // each: of a batch
	runs := sized(2, 6)          // after the first
	for _, kind := range headKinds {
		t.Run(kind.name, func(t *testing.T) {
			_, s := openHeads(t, t.TempDir())
			rng := rand.New(rand.NewPCG(1, 2))
			when := time.Date(2026, 11, 20, 18, 11, 13, 0, time.UTC)
			want := map[int]*heads.Head{}
			run := func(number int, text func(page int) string) {
				for first := 0; first < pages; first += each {
					var done []*record.Done
					for id := first; id < first+each; id++ {
						want[id] = headOf(t, text(id))
						done = append(done, answered(id, number, want[id]))
					}
					var news []record.NewURL
					if number == 1 {
						news = newURLs(first, first+each)
					}
					commit(t, s, min(uint32(first), known(t, s)), news, done...)
				}
				foldAll(t, s, number)
				for id, h := range want {
					r, _, err := s.Records.Get(testURL(id))
					if err != nil {
						t.Fatal(err)
					}
					if got, err := s.Records.ReadHead(testURL(id), r.Head); err != nil || !got.Equal(h) {
						t.Fatalf("page %d: %v\n%v\n%v", id, err, got, h)
					}
				}
			}
			raw := 0
			run(1, func(page int) string {
				text := kind.text(rng, page, when.Add(time.Duration(page)*time.Second))
				raw += len(text)
				return text
			})
			first := headBytes(t, s)
			mean := float64(first) / pages
			t.Logf("first: %.1f bytes a page of %d, of which %d are random", mean, raw/pages, kind.random)
			if mean-float64(kind.random) > 80 {
				t.Errorf("%.1f bytes a page", mean)
			}
			for n := range runs { // the same heads, later
				later := time.Duration(7*24*(n+1)) * time.Hour
				run(2+n, func(page int) string {
					var b strings.Builder
					for line := range strings.Lines(want[page].String()) {
						name, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
						if d, err := time.Parse(imf, v); err == nil && !strings.EqualFold(name, "last-modified") {
							was := when.Add(time.Duration(page)*time.Second + later - 7*24*time.Hour) // of the run before
							line = name + ": " +
								d.Add(when.Add(time.Duration(page*3%100)*time.Second+later).Sub(was)).Format(imf) + "\n"
						}
						b.WriteString(line)
					}
					return b.String()
				})
			}
			again := float64(headBytes(t, s)-first)/pages/float64(runs) - float64(kind.random)
			t.Logf("again: %.1f bytes a page", again)
			if again > 80 {
				t.Errorf("%.1f bytes for a page that comes again", again)
			}
		})
	}
}
