// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"reflect"
	"testing"
	"time"
)

func TestPairs(t *testing.T) {
	st := open(t, t.TempDir(), true)
	if ps, err := st.Pairs(); err != nil || len(ps) != 0 {
		t.Fatalf("pairs of a new state: %v, %v", ps, err)
	}
	first := PairRecord{
		Base1:     "https://a.test/",
		Base2:     "https://b.test/a/",
		Tested:    time.Unix(1000, 0).UTC(),
		Level:     "1",
		Mirrors:   true,
		Confident: true,
		Equal:     true,
		Good:      1,
		Answered:  19,
		Tests:     19,
	}
	second := PairRecord{
		Base1:  "https://a.test/",
		Base2:  "https://c.test/",
		Tested: time.Unix(2000, 0).UTC(),
		Level:  "mismatch",
	}
	again := first
	again.Level, again.Equal, again.Tested = "4", false, time.Unix(3000, 0).UTC()
	for _, p := range []PairRecord{second, first, again} {
		if err := st.SavePair(p); err != nil {
			t.Fatal(err)
		}
	}
	ps, err := st.Pairs()
	if err != nil || len(ps) != 2 || !reflect.DeepEqual(ps[0], again) || !reflect.DeepEqual(ps[1], second) {
		t.Fatalf("pairs %+v, %v", ps, err)
	}
	p, ok, err := st.LoadPair("https://a.test/", "https://b.test/a/")
	if !reflect.DeepEqual(p, again) || !ok || err != nil {
		t.Errorf("got %+v, %v, %v", p, ok, err)
	}
	if _, ok, err := st.LoadPair("https://b.test/a/", "https://a.test/"); ok || err != nil {
		t.Errorf("the pair is there in the other order: %v, %v", ok, err)
	}
}
