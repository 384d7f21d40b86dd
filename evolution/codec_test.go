// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

// sample is a history with everything in it; testdata/history-1 is what format 1 made of it.
func sample(t testing.TB) *History {
	h := new(History)
	mustRecord(t, h, 1_700_000_000, "+. +a +a +a/b +a/b/c +d-e")
	mustRecord(t, h, 1_700_600_000, "*a ?a/b")
	mustRecord(t, h, 1_700_600_000, "-a/b +n/m ?d-e")
	mustRecord(t, h, 1_701_000_000, "")
	mustRecord(t, h, 1_702_000_000, "-d-e +d-e *a *a")
	return h
}

func TestFormat(t *testing.T) {
	h := sample(t)
	got, err := h.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/history-1.hex")
	if err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the history is written as\n%x, want\n%x", got, want)
	}
	var back History
	if err := back.UnmarshalBinary(want); err != nil {
		t.Fatal(err)
	}
	if back.Len() != 4 || back.Time(4) != 1_702_000_000 || back.Files(Root) != h.Files(Root) {
		t.Errorf("read back: %d steps, %d files", back.Len(), back.Files(Root))
	}
	mustRecord(t, &back, 1_703_000_000, "*a/b/c") // and it continues
	mustRecord(t, h, 1_703_000_000, "*a/b/c")
	a, _ := h.MarshalBinary()
	b, _ := back.MarshalBinary()
	if !bytes.Equal(a, b) {
		t.Error("a decoded history continues differently")
	}
	for n := range want {
		if err := new(History).UnmarshalBinary(want[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d of %d bytes: %v, want ErrDamaged", n, len(want), err)
		}
	}
	newer := append([]byte{formatVersion + 1}, want[1:]...)
	if err := new(History).UnmarshalBinary(newer); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("a newer format: %v", err)
	}
}

// FuzzUnmarshalBinary reads any bytes: it must not panic, and what it takes is written back as it was, and
// can be gone through.
func FuzzUnmarshalBinary(f *testing.F) {
	whole, err := sample(f).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte{1, 0})
	f.Add([]byte{1, 1, 3, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h History
		if err := h.UnmarshalBinary(b); err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewerFormat) {
				t.Fatalf("%v is not among the errors of a history", err)
			}
			return
		}
		steps := 0
		for s := range h.Steps() {
			steps++
			for d, c := range s.Changes() {
				if doc := c.DoC(false); doc < 0 || doc > 1 {
					t.Fatalf("step %d: DoC of %d is %v", s.Number, d, doc)
				}
				if s.Unobserved(d) > s.Files(d) {
					t.Fatalf("step %d: %d of %d files unobserved", s.Number, s.Unobserved(d), s.Files(d))
				}
			}
		}
		if steps != h.Len() {
			t.Fatalf("%d steps, want %d", steps, h.Len())
		}
		again, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var back History
		if err := back.UnmarshalBinary(again); err != nil || back.Len() != h.Len() ||
			back.Files(Root) != h.Files(Root) {
			t.Fatalf("written and read again: %v", err)
		}
		if err := record(&h, math.MaxInt64, "+new"); err != nil {
			t.Fatalf("it does not continue: %v", err)
		}
	})
}
