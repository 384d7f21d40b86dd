// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Texts come back as they were added: short and long ones, alike and not, over many blocks and chunks.
func TestTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var list texts
	var want [][]byte
	var numbers []uint32
	for i := range 20_000 {
		b := fmt.Appendf(nil, "http://host%d.example/%s", i%3, strings.Repeat("p", r.IntN(300)))
		switch i % 1000 {
		case 0:
			b = bytes.Repeat([]byte{byte(i / 1000)}, textChunk/2)
		case 1:
			b = nil
		case 2:
			b = bytes.Clone(want[i-1]) // again
		}
		want = append(want, b)
		n := list.add(b)
		if n == 0 {
			t.Fatal("number 0")
		}
		numbers = append(numbers, n)
	}
	for i, n := range numbers {
		if got := list.append([]byte("x"), n); string(got[1:]) != string(want[i]) {
			t.Fatalf("%d: %.40q, want %.40q", i, got[1:], want[i])
		}
	}
	var reader textReader
	for i, n := range numbers { // in order, with gaps, and back again
		for _, at := range []int{i, i - i%7, min(i+i%5, len(numbers)-1)} {
			if i%3 == 0 || at != i {
				n = numbers[at]
				if got := reader.read(&list, n); string(got) != string(want[at]) {
					t.Fatalf("read %d: %.40q, want %.40q", at, got, want[at])
				}
			}
		}
	}
	if got := list.append(nil, 0); got != nil {
		t.Errorf("number 0 is %q", got)
	}
}

// Neighbours of one directory take a few bytes.
func TestTextsShare(t *testing.T) {
	var list texts
	const n = 100_000
	for i := range n {
		list.add(fmt.Appendf(nil, "https://www.example.org/some/folder/of/the/site/page-%d.html", i))
	}
	if got := len(list.chunks)*textChunk + 4*len(list.blocks); got > 14*n {
		t.Errorf("%d bytes for %d URLs", got, n)
	}
}

func TestSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 1000, 2*sortRun + 7} {
		ids, keys := make([]uint32, n), make([]int, n)
		for i, id := range r.Perm(n) {
			ids[i], keys[i] = uint32(id), r.Int()
		}
		key := func(id uint32) int { return keys[id] }
		want := slices.SortedFunc(slices.Values(ids), func(a, b uint32) int { return cmp.Compare(key(a), key(b)) })
		if got := Sorted(ids, key, cmp.Compare[int]); !slices.Equal(got, want) {
			t.Errorf("%d numbers are not in order", n)
		}
	}
}
