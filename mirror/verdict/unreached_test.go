// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"
	"testing"

	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/store/record"
)

// linked is a site of an entry point 0 that links to 1; 1 links to 2, and 3 to itself and 4.
func linked(t *testing.T) *Case {
	c := known(t, pages(t, "http://h/", "http://h/1", "http://h/2", "http://h/3", "http://h/4")...)
	c.Records.(*memory).links = map[uint32][]uint32{0: {1}, 1: {0, 2}, 3: {3, 4}}
	return c
}

func TestReach(t *testing.T) {
	c := linked(t)
	links := c.links()
	for _, tc := range []struct {
		roots []uint32
		want  []uint32
	}{
		{nil, nil},
		{[]uint32{2}, []uint32{2}},
		{[]uint32{0}, []uint32{0, 1, 2}},
		{[]uint32{3}, []uint32{3, 4}},
		{[]uint32{3, 1, record.Unnumbered}, []uint32{0, 1, 2, 3, 4}},
	} {
		r, err := urls.Reach(c.Table, links, tc.roots)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint32
		for id := range c.Table.Len() {
			if r.Has(id) {
				got = append(got, id)
			}
		}
		slices.Sort(r.Docs)
		if !slices.Equal(got, tc.want) || !slices.Equal(r.Docs, tc.want) {
			t.Errorf("from %v: got %v, documents %v; want %v", tc.roots, got, r.Docs, tc.want)
		}
	}
	links.Count = func(id uint32, _ urls.State) bool { return id != 1 }
	r, err := urls.Reach(c.Table, links, []uint32{0})
	if err != nil || !r.Has(1) || r.Has(2) || !slices.Equal(r.Docs, []uint32{0}) {
		t.Errorf("links of 1 do not count: %+v, %v", r, err)
	}
}

func TestUnreached(t *testing.T) {
	lost := func(rs []Ruling) (ids []uint32) {
		for _, r := range rs {
			ids = append(ids, r.Leave...)
		}
		return ids
	}
	c := linked(t)
	if got := lost(wantReasons(t, Settled, c, result.Complete)); !slices.Equal(got, []uint32{3, 4}) {
		t.Errorf("got %v leave", got)
	}
	c.Limits.MaxDelete = 0
	const many = "2 of 5 resources are no longer linked from anywhere, more than limits.max_delete = 0%"
	if got := lost(wantReasons(t, Settled, c, result.Suspicious, many)); got != nil {
		t.Errorf("a suspicious run: got %v leave", got)
	}
	c.Accept = true
	if got := lost(wantReasons(t, Settled, c, result.Complete)); !slices.Equal(got, []uint32{3, 4}) {
		t.Errorf("accepted: got %v leave", got)
	}
	c.Foreign = 1
	if got := lost(wantReasons(t, Settled, c, result.Complete)); got != nil {
		t.Errorf("with a page of a replica: got %v leave", got)
	}
}

// After a plan, an orphan waits until every document was looked at.
func TestOrphansWait(t *testing.T) {
	c := linked(t)
	c.Planned = true
	records := c.Records.(*memory).records
	records[1].Run = 5 // skipped by this run
	c2 := known(t, records...)
	c2.Planned, c2.Records = true, c.Records
	r, err := unreached(c2)
	if err != nil || len(r.Leave) != 0 || len(r.Orphans) != 2 || r.Orphans[3] != 7 || len(r.Notes) != 1 {
		t.Errorf("got %+v, %v; want two that wait since run 7", r, err)
	}
	var looked record.IDs
	looked.Add(1)
	c2.Records.(*memory).observed = []record.Observation{{Run: 6, Asked: looked}}
	c2.Orphans = Orphans{3: 6, 4: 7}
	r, err = unreached(c2)
	if err != nil || !slices.Equal(r.Leave, []uint32{3}) || r.Orphans != nil {
		t.Errorf("got %+v, %v; want that 3 leaves, and no change of the list", r, err)
	}
	c2.NoFetch, c2.Accept = true, true
	c2.Lost.Noted.Add(4)
	r, err = unreached(c2)
	if err != nil || !slices.Equal(r.Leave, []uint32{4}) {
		t.Errorf("got %+v, %v; want that 4 leaves, which was shown to the user who accepts", r, err)
	}
}
