// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"
	"testing"

	"mirrord/mirror/result"
	"mirrord/site"
	"mirrord/store/record"
)

// site20 is a site of 20 pages, of which the last n took one shape and size in this run.
func site20(t *testing.T, n int) *Case {
	records := pages(t, "http://h/")
	for i := range 19 {
		records = append(records, page(t, fmt.Sprintf("http://h/%d", i)))
	}
	for i := 20 - n; i < 20; i++ {
		records[i].Shape, records[i].ShapeNew, records[i].Size, records[i].Changed = 9, true, int64(500+i), 3
	}
	c := known(t, records...)
	for i := range records {
		c.Records.(*memory).links[0] = append(c.Records.(*memory).links[0], uint32(i))
	}
	return c
}

func TestSameShape(t *testing.T) {
	for n, want := range map[int]int{0: 0, 2: 0, 9: 0, 10: 10, 20: 20} {
		c := site20(t, n)
		r, err := sameShape(c)
		if err != nil || len(r.Forget) != want || (r.Verdict == result.Suspicious) != (want > 0) {
			t.Errorf("%d pages of one shape: %+v, %v", n, r, err)
		}
		if reads := c.Records.(*memory).reads; (reads > 1) != (want > 0) {
			t.Errorf("%d pages of one shape: all records are read %d times", n, reads)
		}
		c.Accept = true
		if r, err := sameShape(c); err != nil || r.Verdict != result.Complete || r.Forget != nil {
			t.Errorf("%d pages of one shape, accepted: %+v, %v", n, r, err)
		}
	}
}

// Pages of one template have the same title and links, and sizes of their own.
func TestSameShapeOtherSizes(t *testing.T) {
	c := site20(t, 20)
	records := c.Records.(*memory).records
	for i := range records {
		records[i].Size = int64(1000 * (i + 1))
	}
	if r, err := sameShape(c); err != nil || r.Verdict != result.Complete {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestSoft404(t *testing.T) {
	for n, want := range map[int]int{2: 0, 3: 3, 20: 20} {
		c := site20(t, n)
		c.Probes = []ErrorPage{{Below: "http://h/", Shape: 9, Size: 520}}
		r, err := soft404(c)
		if err != nil || len(r.Forget) != want || (r.Verdict == result.Suspicious) != (want > 0) {
			t.Errorf("%d error pages: %+v, %v", n, r, err)
		}
		c.Probes = []ErrorPage{
			{Below: "http://other/", Shape: 9, Size: 520},
			{Below: "http://h/", Shape: 9, Size: 5200},
		}
		if r, err := soft404(c); err != nil || r.Verdict != result.Complete {
			t.Errorf("%d pages that are unlike the error page: %+v, %v", n, r, err)
		}
	}
}

func TestShapesDoubtful(t *testing.T) {
	c := site20(t, 5)
	var s Shapes
	for i, rec := range c.Records.(*memory).records {
		if i == 17 {
			if got := s.Doubtful(); got != nil {
				t.Errorf("after two pages: %v", got)
			}
		}
		s.Note(&rec, c.Run)
	}
	if got := s.Doubtful(); !slices.Equal(got, []string{"http://h/"}) {
		t.Errorf("got %v", got)
	}
}

// A site of one program answers its entry page everywhere: pages that were that page before become no error
// page.
func TestShapeIsNew(t *testing.T) {
	c := site20(t, 0)
	var s Shapes

	get := func(u site.URL) (record.Resource, bool, error) { return page(t, u.String()), true, nil }
	if err := s.LearnEntries(c.Table, c.Seeds, get); err != nil {
		t.Fatal(err)
	}
	old, now := page(t, "http://h/3"), page(t, "http://h/3")
	unpublished := page(t, "http://h/3")
	unpublished.Shape, unpublished.ShapeNew, unpublished.Changed = 9, true, 3
	for _, tc := range []struct {
		name   string
		change func()
		want   bool
	}{
		{"as it was", func() {}, false},
		{"was the entry page", func() { now.Shape = 9 }, false},
		{"was another page", func() { old.Shape = 8 }, true},
		{"of a run that was not published", func() { old = unpublished }, true},
		{"there was no page", func() { old = record.Resource{} }, true},
	} {
		tc.change()
		if got := s.IsNew(&now, &old, c.Run); got != tc.want {
			t.Errorf("%s: got %v", tc.name, got)
		}
	}
}

// Half of the pages of a site of very many shapes became one.
func TestSameShapeOfMany(t *testing.T) {
	const all = 4096
	for _, same := range []int{0, all/2 - 1, all / 2} {
		records := pages(t, "http://h/")
		for i := range all - 1 {
			p := page(t, fmt.Sprintf("http://h/%d", i))
			p.Shape, p.ShapeNew, p.Changed = uint32(10+i), true, 3
			if i%2 == 0 && i/2 < same || i == 1 && same == all/2 {
				p.Shape, p.Size = 9, int64(500+i%10)
			}
			records = append(records, p)
		}
		c := known(t, records...)
		n := 0
		for i := range records {
			c.Records.(*memory).links[0] = append(c.Records.(*memory).links[0], uint32(i))
			if records[i].Shape == 9 {
				n++
			}
		}
		_, group, err := largestGroup(c)
		want := n
		if n < all/2 {
			want = 0
		}
		if err != nil || len(group) != want {
			t.Errorf("%d of %d pages became one: a group of %d, %v", n, all, len(group), err)
		}
	}
}
