// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Texts come back as they were added: short and long ones, alike and not, over many blocks and chunks.
func TestTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var list List
	var want [][]byte
	var numbers []uint32
	for i := range 20_000 {
		ends := [...]string{".html", ".html", "", "l", ".tar.gz.html"}
		b := fmt.Appendf(nil, "http://host%d.example/%s%s", i%3, strings.Repeat("p", r.IntN(300)), ends[r.IntN(5)])
		switch i % 1000 {
		case 0:
			b = bytes.Repeat([]byte{byte(i / 1000)}, textChunk/2)
		case 1:
			b = nil
		case 2:
			b = bytes.Clone(want[i-1]) // again
		}
		want = append(want, b)
		n := list.Add(b)
		if n == 0 {
			t.Fatal("number 0")
		}
		numbers = append(numbers, n)
	}
	for i, n := range numbers {
		if got := list.Append([]byte("x"), n); string(got[1:]) != string(want[i]) {
			t.Fatalf("%d: %.40q, want %.40q", i, got[1:], want[i])
		}
	}
	var reader Reader
	for i, n := range numbers { // in order, with gaps, and back again
		for _, at := range []int{i, i - i%7, min(i+i%5, len(numbers)-1)} {
			if i%3 == 0 || at != i {
				n = numbers[at]
				if got := reader.Read(&list, n); string(got) != string(want[at]) {
					t.Fatalf("read %d: %.40q, want %.40q", at, got, want[at])
				}
			}
		}
	}
	if got := list.Append(nil, 0); got != nil {
		t.Errorf("number 0 is %q", got)
	}
}

// Neighbours of one directory take a few bytes.
func TestTextsShare(t *testing.T) {
	var list List
	const n = 100_000
	for i := range n {
		list.Add(fmt.Appendf(nil, "https://www.example.org/some/folder/of/the/site/page-%d.html", i))
	}
	if got := list.Size(); got > 9*n {
		t.Errorf("%d bytes for %d URLs", got, n)
	}
}
