// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"testing"
	"time"
)

// heavySite has small pages and large ones, of which one in 20 changes in a week; whole says that the large
// ones come with their bodies even if nothing has changed.
func heavySite(t *testing.T, whole bool) *History {
	t.Helper()
	var b Builder
	for w := range 60 {
		var rs []Record
		for p := range 40 {
			size := int64(4000)
			if p >= 20 {
				size = 5_000_000
			}
			if w == 0 || p%20 == w%20 {
				rs = append(rs, Record{Path: fmt.Sprintf("p%02d.bin", p), Blob: fmt.Sprint(w), Size: size})
			}
		}
		if err := b.Add(time.Date(2026, 1, 5+7*w, 6, 0, 0, 0, time.UTC), "", rs); err != nil {
			t.Fatal(err)
		}
	}
	for p := 20; whole && p < 40; p++ {
		b.Whole(fmt.Sprintf("p%02d.bin", p))
	}
	return b.History()
}

// A price of bytes saves bytes where large pages come whole, at the price of finding their changes later;
// where they are answered by 304 it hardly changes anything.
func TestPriceOfBytes(t *testing.T) {
	at := func(whole bool, priceMB float64) Stretch {
		p, err := AtPrice(heavySite(t, whole), Options{PriceMB: priceMB}, 0.001)
		if err != nil {
			t.Fatal(err)
		}
		return p.Whole
	}
	free, priced := at(true, 0), at(true, 0.03)
	t.Logf("whole: %.1f MB and %.1f h late for nothing, %.1f MB and %.1f h at 0.03", free.MB, *free.Late,
		priced.MB, *priced.Late)
	if priced.MB > free.MB/2 || *priced.Late <= *free.Late || *priced.Found < 0.5 {
		t.Errorf("whole: %+v for nothing, %+v at 0.03", free, priced)
	}
	small, same := at(false, 0), at(false, 0.03)
	if small.MB > free.MB/5 || same.MB < 0.8*small.MB {
		t.Errorf("answered by 304: %+v for nothing, %+v at 0.03", small, same)
	}
}

// What a full sync transfers is what requests for everything do.
func TestBytesOfAFullSync(t *testing.T) {
	h := heavySite(t, true)
	w := NewWorld(h, 1)
	for w.Step() {
		for p := range h.pages {
			w.Page(Page(p))
		}
		w.Listing(Root)
		if m := w.Measure(); m.Bytes != m.FullBytes || m.Bytes < 20*5_000_000 {
			t.Fatalf("version %d: %d bytes of %d", w.Now(), m.Bytes, m.FullBytes)
		}
	}
}
