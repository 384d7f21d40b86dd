// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"testing"
)

// heavy says that the units from one on have bodies of so many bytes, the others of 5000, and that unchanged
// ones are answered in 400 bytes or, when whole, with their bodies.
type heavy struct {
	from  ID
	size  float64
	whole bool
}

func (h heavy) Bytes(u ID) (same, changed float64) {
	size := 5000.0
	if u >= h.from {
		size = h.size
	}
	if h.whole {
		return size, size
	}
	return 400, 400 + size
}

// Bodies that come whole are requested less often the more their bytes cost, and light ones as often as
// before, even beside a heavy unit of the same history.
func TestBytesArePaid(t *testing.T) {
	asked := func(priceMB float64, w Weights) (light, big int) {
		f := newFake(t, 40)
		for w := range 20 {
			f.full(ID(w%20), ID(20+w%20))
		}
		f.o.PriceMB, f.o.Weights = priceMB, w
		for w := range 30 {
			a := f.run(ID(w%20), ID(20+(w+7)%20))
			light, big = light+count(a, 0, 20), big+count(a, 20, 40)
		}
		return light, big
	}
	whole := heavy{from: 20, size: 20e6, whole: true}
	light0, big0 := asked(0, whole)
	light1, big1 := asked(0.004, whole)
	light2, big2 := asked(0.02, whole)
	t.Logf("free %d and %d, 0.004 %d and %d, 0.02 %d and %d", light0, big0, light1, big1, light2, big2)
	if !(big2 < big1 && big1 < big0) || big2 > big0/4 {
		t.Errorf("heavy units: %d requests at no price of bytes, %d at 0.004, %d at 0.02", big0, big1,
			big2)
	}
	if light1 < light0*8/10 || light2 < light0*8/10 {
		t.Errorf("light units: %d requests, then %d and %d", light0, light1, light2)
	}
	// Where the server answers 304 only the changes weigh.
	if _, big := asked(0.004, heavy{from: 20, size: 20e6}); big < big1 {
		t.Errorf("answered by 304: %d requests, whole: %d", big, big1)
	}
	// No change is worth 2 GB at a thousandth for a megabyte; only max_skip requests it.
	if _, big := asked(0.001, heavy{from: 20, size: 2e9}); big > 0 {
		t.Errorf("%d requests for what no change is worth", big)
	}
}

// The reason has the price of the unit, with that of its bytes.
func TestReasonHasThePriceOfBytes(t *testing.T) {
	f := newsAndArchive(t)
	f.o.PriceMB, f.o.Weights = 0.001, heavy{from: 10, size: 3e6, whole: true}
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	light, big := p.Reason(0).Price, p.Reason(20).Price
	if want := (1 + 3.0) / (1 + 0.005); math.Abs(float64(big/light)-want) > 0.01*want {
		t.Errorf("prices %v and %v: %v times, want %v", light, big, big/light, want)
	}
}

func TestPriceOfBytesIsChecked(t *testing.T) {
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1), MostPriceMB + 1} {
		if _, err := Standard().Plan(NewModel(), Options{PriceMB: bad}); err == nil {
			t.Errorf("price %v of a megabyte was taken", bad)
		}
	}
}
