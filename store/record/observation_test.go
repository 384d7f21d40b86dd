// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mirrord/store/disk"
)

func TestObservationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := func(name string) IDs {
			number := rapid.OneOf(rapid.Uint32Max(100), rapid.Uint32(), rapid.Just(uint32(math.MaxUint32)))
			ids := rapid.SliceOfDistinct(number, func(v uint32) uint32 { return v }).Draw(t, name)
			slices.Sort(ids)
			s := SetOf(ids...)
			if got := slices.Collect(s.All()); !slices.Equal(got, ids) || s.Len() != len(ids) {
				t.Fatalf("%v has %v", s, got)
			}
			for _, id := range ids {
				if !s.Has(id) || s.Has(id+1) != slices.Contains(ids, id+1) {
					t.Fatalf("%v about %d", s, id)
				}
			}
			return s
		}
		want := Observation{
			Run:      7,
			Time:     rapid.Int64Min(0).Draw(t, "time"),
			Version:  rapid.IntMin(0).Draw(t, "version"),
			Complete: rapid.Bool().Draw(t, "complete"),
			Asked:    set("asked"),
			Spared:   set("spared"),
			Changed:  set("changed"),
			Entered:  set("entered"),
			Left:     set("left"),
		}
		b := want.Append(nil)
		var got Observation
		if err := got.Decode(7, b); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n%+v\n%+v", err, got, want)
		}
		for n := range b {
			if err := got.Decode(7, b[:n]); !errors.Is(err, disk.ErrDamaged) {
				t.Fatalf("%d of %d bytes: %v", n, len(b), err)
			}
		}
	})
}

func FuzzObservation(f *testing.F) {
	o := Observation{Time: 1, Asked: SetOf(0, 1, 2, 5), Changed: SetOf(math.MaxUint32)}
	f.Add(o.Append(nil))
	f.Add([]byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		var o Observation
		if err := o.Decode(1, b); err != nil {
			return
		}
		for _, s := range [...]IDs{o.Asked, o.Spared, o.Changed, o.Entered, o.Left} {
			last := int64(-1)
			for _, x := range s {
				if int64(x.First) <= last || x.Last < x.First {
					t.Fatalf("%v", s)
				}
				last = int64(x.Last)
			}
		}
	})
}

// BenchmarkObservation tells what a run over 100 000 URLs costs of which one in a hundred changed.
func BenchmarkObservation(b *testing.B) {
	const n = 100_000
	o := Observation{Run: 1, Time: 1.8e9, Version: 40}
	r := rand.New(rand.NewPCG(1, 2))
	for id := range uint32(n) {
		o.Asked.Add(id)
		if r.IntN(100) == 0 {
			o.Changed.Add(id)
		}
	}
	var v []byte
	for b.Loop() {
		v = o.Append(v[:0])
	}
	quiet := Observation{
		Run:     1,
		Time:    1.8e9,
		Version: 40,
		Asked:   o.Asked,
	}
	b.ReportMetric(float64(len(v))/float64(o.Changed.Len()), "bytes/change")
	b.ReportMetric(float64(len(quiet.Append(nil))), "bytes/quiet-run")
}
