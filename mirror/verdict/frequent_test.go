// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Of many groups the one that half of the pages are in is found, wherever they are, and never one that is
// smaller than it was counted.
func TestFrequent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, same := range []int{0, 1, 300, 5000} {
		keys := make([]groupKey, 10_000)
		for i := range keys {
			if keys[i].shape = uint32(i) + 10; i < same {
				keys[i].shape = 1
			}
		}
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		var f frequent
		for _, k := range keys {
			f.add(k)
		}
		if len(f.n) > mostCounted || f.lost == 0 {
			t.Errorf("%d groups are counted, %d pages lost", len(f.n), f.lost)
		}
		if n := f.n[groupKey{shape: 1}]; n > same || n+f.lost < same {
			t.Errorf("%d of %d pages are counted, %d lost", n, same, f.lost)
		}
		if same < 300 {
			continue
		}
		f = f.recount()
		for _, k := range keys {
			f.addKnown(k)
		}
		if best, n := f.largest(); best.shape != 1 || n != same {
			t.Errorf("%d pages of shape %d, want %d of shape 1", n, best.shape, same)
		}
	}
}

// A site of more shapes than are counted at once: half of its pages became one.
func TestSameShapeOfMany(t *testing.T) {
	const all = 4 * mostCounted
	for _, same := range []int{0, all/2 - 1, all / 2} {
		records := pages(t, "http://h/")
		for i := range all - 1 {
			p := page(t, fmt.Sprintf("http://h/%d", i))
			p.Shape, p.ShapeNew, p.Changed = uint32(10+i), true, 3
			if i%2 == 0 && i/2 < same || i == 1 && same == all/2 {
				p.Shape, p.Size = 9, int64(500+i%10)
			}
			records = append(records, p)
		}
		c := known(t, records...)
		n := 0
		for i := range records {
			c.Records.(*memory).links[0] = append(c.Records.(*memory).links[0], uint32(i))
			if records[i].Shape == 9 {
				n++
			}
		}
		_, group, err := largestGroup(c)
		want := n
		if n < all/2 {
			want = 0
		}
		if err != nil || len(group) != want {
			t.Errorf("%d of %d pages became one: a group of %d, %v", n, all, len(group), err)
		}
	}
}
