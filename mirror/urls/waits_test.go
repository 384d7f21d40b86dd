// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"errors"
	"testing"
	"time"
)

// facts are facts of a site in memory.
type facts map[string][]byte

func (f facts) Fact(name string) ([]byte, error) { return f[name], nil }

func (f facts) SetFact(name string, v []byte) error {
	f[name] = v
	return nil
}

func TestWaits(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var w, again Waits
	w.Set(7, now.Add(time.Hour))
	w.Set(1<<32-1, now.Add(2*time.Hour))
	w.Set(9, now.Add(time.Hour))
	w.Forget(9)
	w.Set(3, now.Add(365*24*time.Hour))
	f := facts{}
	if err := errors.Join(w.Keep(f), again.Load(f)); err != nil {
		t.Fatal(err)
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
	b := f[waitsFact]
	for n := range b {
		f[waitsFact] = append(b[:n:n], 0x80)
		if err := again.Load(f); len(again.until) > 0 || err != nil {
			t.Errorf("%x is decoded: %v, %v", b[:n], again.until, err)
		}
	}
}
