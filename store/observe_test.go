// SPDX-License-Identifier: Apache-2.0

package store

import (
	"reflect"
	"strings"
	"testing"

	"mirrord/store/record"
	"mirrord/store/upkeep"
)

func TestObservationsAreKept(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{Volatile: true})
	first := record.Observation{
		Run:     1,
		Time:    100,
		Asked:   record.SetOf(0, 1, 2),
		Entered: record.SetOf(0, 1, 2),
	}
	part := record.Observation{Run: 2, Time: 200, Asked: record.SetOf(0)}
	whole := record.Observation{
		Run:      2,
		Time:     210,
		Version:  2,
		Complete: true,
		Asked:    record.SetOf(0, 2),
		Spared:   record.SetOf(1),
		Changed:  record.SetOf(2),
		Audited:  record.SetOf(0),
	}
	for _, o := range []*record.Observation{&first, &part, &whole} {
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
	var got []record.Observation
	if err := s.Records.Observations(func(o *record.Observation) error {
		got = append(got, *o)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []record.Observation{first, whole}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestVerifyLooksAtObservations(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	commit(t, s, 0, newURLs(0, 3))
	for _, c := range []struct {
		o    record.Observation
		want string
	}{
		{record.Observation{Run: 1, Asked: record.SetOf(0, 1, 2), Changed: record.SetOf(2)}, ""},
		{record.Observation{Run: 1, Asked: record.SetOf(0, 3)}, "URL number 3 of 3"},
		{record.Observation{Run: 1, Asked: record.SetOf(0), Changed: record.SetOf(1)},
			"number 1 changed without a request"},
		{record.Observation{Run: 1}, ""},
	} {
		if err := s.Records.AddObservation(&c.o); err != nil {
			t.Fatal(err)
		}
		var got string
		if _, err := s.Verify(t.Context(), func(p upkeep.Problem) { got += p.String() }); err != nil {
			t.Fatal(err)
		}
		if (c.want == "" && got != "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
}
