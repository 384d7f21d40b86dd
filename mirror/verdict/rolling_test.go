// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mirrord/site"
	"mirrord/store/record"
)

// by makes a resource one that another one linked to first.
func by(list uint32, rec record.Resource) record.Resource {
	rec.Referrer = list + 1
	return rec
}

func TestLeavingLists(t *testing.T) {
	home := page(t, "http://h/")
	old := func(at uint32, name string, outcome site.Outcome) record.Resource {
		return by(at, left(page(t, "http://h/old/"+name), outcome, 0))
	}
	came := func(at uint32, name string) record.Resource { return by(at, entered(page(t, "http://h/"+name))) }
	picture := func(at uint32, name string) record.Resource {
		return by(at, entered(needed(t, "http://h/"+name)))
	}
	for _, c := range []struct {
		name    string
		records []record.Resource // after the entry page
		ids     []uint32
		want    leaving
	}{
		{"as many came", []record.Resource{
			old(0, "a", site.Unchanged), old(0, "b", site.Fetched), came(0, "c"), came(0, "d"),
		}, []uint32{1, 2}, leaving{renamed: 2}},
		{"fewer came", []record.Resource{
			old(0, "a", site.Unchanged), old(0, "b", site.Unchanged), came(0, "c"),
		}, []uint32{1, 2}, leaving{renamed: 1, lost: 1}},
		{"they are gone", []record.Resource{
			old(0, "a", site.Gone), old(0, "b", site.Gone), came(0, "c"), came(0, "d"),
		}, []uint32{1, 2}, leaving{lost: 2}},
		{"they failed, and lead elsewhere", []record.Resource{
			old(0, "a", site.Failed), old(0, "b", site.Redirected), came(0, "c"), came(0, "d"),
		}, []uint32{1, 2}, leaving{lost: 2}},
		{"another list gained", []record.Resource{
			page(t, "http://h/list"), old(0, "a", site.Unchanged), old(0, "b", site.Unchanged),
			came(1, "c"), came(1, "d"),
		}, []uint32{2, 3}, leaving{lost: 2}},
		{"the list is new", []record.Resource{
			came(0, "list"), old(0, "a", site.Unchanged), old(0, "b", site.Unchanged), came(1, "c"), came(1, "d"),
		}, []uint32{2, 3}, leaving{renamed: 1, lost: 1}}, // for the list
		{"images instead of pages", []record.Resource{
			old(0, "a", site.Unchanged), old(0, "b", site.Unchanged), picture(0, "c.png"), picture(0, "d.png"),
		}, []uint32{1, 2}, leaving{lost: 2}},
		{"one page with another one behind it, instead of two", []record.Resource{
			old(0, "a", site.Unchanged), old(0, "b", site.Unchanged), came(0, "c"), came(3, "d"),
		}, []uint32{1, 2}, leaving{renamed: 1, lost: 1}},
		{"what lies behind them", []record.Resource{
			old(0, "a", site.Unchanged), old(1, "b", site.Unchanged), came(0, "c"), came(3, "d"),
		}, []uint32{1, 2}, leaving{renamed: 2}},
		{"no list linked to them", []record.Resource{
			left(page(t, "http://h/a"), site.Unchanged, 0), entered(page(t, "http://h/b")),
		}, []uint32{1}, leaving{lost: 1}},
	} {
		k := known(t, append([]record.Resource{home}, c.records...)...)
		if got, err := k.leaving(c.ids); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

// For any resources that leave and come by any lists: each list loses what left it beyond what came by it.
func TestLeavingListsCount(t *testing.T) {
	r := rand.New(rand.NewPCG(58, 6))
	for range 300 {
		records := []record.Resource{page(t, "http://h/")}
		lists := uint32(1 + r.IntN(4))
		for i := range lists {
			records = append(records, page(t, fmt.Sprint("http://h/list/", i)))
		}
		lost, gained := map[uint32]int{}, map[uint32]int{}
		var ids []uint32
		for i := range r.IntN(60) {
			at := r.Uint32N(lists) + 1
			if r.IntN(2) == 0 {
				gained[at]++
				records = append(records, by(at, entered(page(t, fmt.Sprint("http://h/new/", i)))))
				continue
			}
			lost[at]++
			ids = append(ids, uint32(len(records)))
			records = append(records, by(at, left(page(t, fmt.Sprint("http://h/old/", i)), site.Unchanged, 0)))
		}
		want := leaving{}
		for at, n := range lost {
			want.lost += max(0, n-gained[at])
			want.renamed += min(n, gained[at])
		}
		if got, err := known(t, records...).leaving(ids); err != nil || got != want {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
	}
}
