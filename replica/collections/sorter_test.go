// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/hash"
	"mirrord/replica/text"
)

// Any records come back sorted, once, with any memory.
func TestSorter(t *testing.T) {
	keys := map[string]func(r *rand.Rand, i int) uint64{
		"random":     func(r *rand.Rand, i int) uint64 { return r.Uint64() },
		"the same":   func(r *rand.Rand, i int) uint64 { return 1 << 63 },
		"two":        func(r *rand.Rand, i int) uint64 { return -r.Uint64N(2) },
		"ascending":  func(r *rand.Rand, i int) uint64 { return uint64(i) },
		"descending": func(r *rand.Rand, i int) uint64 { return 1<<40 - uint64(i) },
		"high":       func(r *rand.Rand, i int) uint64 { return r.Uint64() << 62 },
	}
	for name, key := range keys {
		for _, n := range []int{0, 1, 2, 3000, 30_000} {
			for _, limit := range []int{1, 1000, 50_000, 1 << 30} {
				if n/limit > 3000 {
					continue
				}
				r := rand.New(rand.NewPCG(uint64(n), uint64(limit)))
				spill, steps := &memorySpill{}, 0
				s := newSorter(voteOrder(), spill, limit, func(n int) error { steps += n; return nil })
				var want []vote
				for i := range n {
					v := vote{key(r, i), r.Uint32N(100), r.Uint32()}
					want = append(want, v)
					if err := s.add(v); err != nil {
						t.Fatal(err)
					}
				}
				slices.SortFunc(want, vote.compare)
				var got []vote
				for v, err := range s.all() {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, v)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, limit %d: %d records of %d, or in another order", name, limit, len(got), n)
				}
				if steps < n {
					t.Errorf("%s, limit %d: %d steps for %d records", name, limit, steps, n)
				}
				if err := s.close(); err != nil || spill.open != 0 {
					t.Errorf("%v, %d files open", err, spill.open)
				}
			}
		}
	}
}

// Sorting ends when it is stopped.
func TestSorterEnds(t *testing.T) {
	for after := range 40 {
		steps := 0
		s := newSorter(voteOrder(), &memorySpill{}, 3000, func(int) error {
			if steps++; steps > after {
				return errSpill
			}
			return nil
		})
		err := func() error {
			for i := range uint32(5000) {
				if err := s.add(vote{hash.Mix(uint64(i)), i, i}); err != nil {
					return err
				}
			}
			for _, err := range s.all() {
				if err != nil {
					return err
				}
			}
			return nil
		}()
		if !errors.Is(err, errSpill) {
			t.Errorf("after %d steps: %v", after, err)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}

// Members come back whole, for any bytes and any length of their addresses.
func TestMembers(t *testing.T) {
	for _, memory := range []int64{1, 1 << 30} {
		f := NewFinder(&memorySpill{}, FinderOptions{Memory: memory})
		var want []member
		digest := make([]byte, digestSize)
		for i, path := range []string{
			"", "/", "a", "ab", "abc", "abcd", "/abcde", "\x00", "a\x00", "\x00a",
			strings.Repeat("/long", 50_000), "é",
		} {
			for j, host := range []string{"", "h", "\x00", strings.Repeat("host.", 20_000)} {
				page := uint32(10*i + j)
				digest[0], digest[8], digest[8+text.Bins-1] = byte(i), byte(j), byte(page)
				digest[digestSize-4] = byte(i + j)
				if err := f.members.add(packMember(page%3, page, Address{host, path}, digest)); err != nil {
					t.Fatal(err)
				}
				want = append(want, member{
					page:  page,
					at:    Address{host, path},
					text:  uint64(i),
					words: uint32(i + j),
				})
			}
		}
		slices.SortFunc(want, func(a, b member) int {
			if a.page%3 != b.page%3 {
				return cmp.Compare(a.page%3, b.page%3)
			}
			if c := plainEnds(a.at.Path, b.at.Path); c != 0 {
				return c
			}
			return strings.Compare(a.at.Host, b.at.Host)
		})
		n := 0
		for packed, err := range f.members.all() {
			if err != nil {
				t.Fatal(err)
			}
			set, m := packed.set(), packed.unpack()
			w, s := want[n], m.sketch
			if n++; set != w.page%3 || m.page != w.page || m.at != w.at || m.text != w.text ||
				m.words != w.words || s[0] != byte(w.page%10) || s[text.Bins-1] != byte(w.page) {
				t.Errorf("memory %d: member %d is page %d of set %d at %.20q, want page %d at %.20q", memory, n, m.page,
					set, m.at, w.page, w.at)
			}
		}
		if n != len(want) {
			t.Errorf("memory %d: %d members, want %d", memory, n, len(want))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
