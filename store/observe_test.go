// SPDX-License-Identifier: Apache-2.0

package store

import (
	"reflect"
	"strings"
	"testing"
)

func TestObservationsAreKept(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{Volatile: true})
	first := Observation{
		Run:     1,
		Time:    100,
		Asked:   setOf(0, 1, 2),
		Entered: setOf(0, 1, 2),
	}
	part := Observation{Run: 2, Time: 200, Asked: setOf(0)}
	whole := Observation{
		Run:      2,
		Time:     210,
		Version:  2,
		Complete: true,
		Asked:    setOf(0, 2),
		Spared:   setOf(1),
		Changed:  setOf(2),
		Audited:  setOf(0),
	}
	for _, o := range []*Observation{&first, &part, &whole} {
		if err := s.Records.AddObservation(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil { // not verified: its URLs are not known
		t.Fatal(err)
	}
	st.Close()
	_, s = openTest(t, dir, Options{Volatile: true})
	commit(t, s, 0, newURLs(0, 3))
	var got []Observation
	if err := s.Records.Observations(func(o *Observation) error {
		got = append(got, *o)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []Observation{first, whole}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestVerifyLooksAtObservations(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	commit(t, s, 0, newURLs(0, 3))
	for _, c := range []struct {
		o    Observation
		want string
	}{
		{Observation{Run: 1, Asked: setOf(0, 1, 2), Changed: setOf(2)}, ""},
		{Observation{Run: 1, Asked: setOf(0, 3)}, "URL number 3 of 3"},
		{Observation{Run: 1, Asked: setOf(0), Changed: setOf(1)}, "number 1 changed without a request"},
		{Observation{Run: 1}, ""},
	} {
		if err := s.Records.AddObservation(&c.o); err != nil {
			t.Fatal(err)
		}
		var got string
		if _, err := s.Verify(t.Context(), false, func(p Problem) { got += p.String() }); err != nil {
			t.Fatal(err)
		}
		if (c.want == "" && got != "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
}
