// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"testing"
	"time"
)

func TestWaits(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var w, again Waits
	w.Set(7, now.Add(time.Hour))
	w.Set(1<<32-1, now.Add(2*time.Hour))
	w.Set(9, now.Add(time.Hour))
	w.Forget(9)
	w.Set(3, now.Add(365*24*time.Hour))
	b, changed := w.Encode()
	if err := again.Decode(b); err != nil || !changed {
		t.Fatal(err, changed)
	}
	if _, changed := again.Encode(); changed {
		t.Error("changed by being read")
	}
	for _, c := range []struct {
		id         uint32
		at         time.Duration
		waits, due bool
	}{
		{7, 0, true, false},
		{7, time.Hour, false, true},
		{1<<32 - 1, time.Hour, true, false},
		{9, 0, false, false},
		{3, 0, false, true}, // longer than anybody waits
	} {
		_, waits := again.Until(c.id, now.Add(c.at))
		if due := again.Due(c.id, now.Add(c.at)); waits != c.waits || due != c.due {
			t.Errorf("%v: waits %v, due %v", c, waits, due)
		}
	}
	for n := range b {
		if err := new(Waits).Decode(append(b[:n:n], 0x80)); err == nil {
			t.Errorf("%x is decoded", b[:n])
		}
	}
}
