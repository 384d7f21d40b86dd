// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/record"
)

// recordList holds records by URL.
type recordList map[string]record.Resource

func (l recordList) Some(urls []site.URL, f func(int, *record.Resource) error) error {
	for n, u := range urls {
		if rec, ok := l[u.String()]; ok {
			if err := f(n, &rec); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l recordList) Get(u site.URL) (record.Resource, bool, error) {
	rec, ok := l[u.String()]
	return rec, ok, nil
}

// assign gives mirror paths to a mirror of which recs are the records, and returns the table.
func assign(t *testing.T, recs ...record.Resource) (urls.Settled, Names) {
	t.Helper()
	n := Naming{
		Table:   urls.New().Settled(),
		Layout:  phm.Layout{Primary: "http://h.example"},
		Journal: func(func(uint32) bool, func(*record.Resource)) error { return nil },
		Log:     slog.New(slog.DiscardHandler),
	}
	list := recordList{}
	n.Table.Reserve(uint32(len(recs)))
	for i := range recs {
		recs[i].ID = uint32(i)
		n.Table.Load(&recs[i], urls.Run{Number: 9, Version: 3})
		list[recs[i].URL.String()] = recs[i]
	}
	n.Records = list
	names, err := AssignNames(n)
	if err != nil {
		t.Fatal(err)
	}
	return n.Table, names
}

func page(name string, body byte) record.Resource {
	return record.Resource{
		URL:     url(name),
		MIME:    "text/html",
		Outcome: site.Fetched,
		InSet:   true,
		Run:     9,
		Digest:  [32]byte{body},
	}
}

func pathsOf(t urls.Settled) map[string]string {
	out := map[string]string{}
	for id := range t.All() {
		out[t.URL(id).String()[len(origin):]] = t.Path(id)
	}
	return out
}

// The order in which URLs were found does not matter, and a path that is given stays.
func TestAssignNames(t *testing.T) {
	recs := []record.Resource{
		page("", 1), page("a", 2), page("a/", 3), page("a?b", 4), page("A", 5), page("c.html", 6),
	}
	recs[5].Path = "c.html"
	table, _ := assign(t, slices.Clone(recs)...)
	want := pathsOf(table)
	if want[""] != "index.html" || want["c.html"] != "c.html" || want["a/"] != "a/index.html" {
		t.Errorf("%q", want)
	}
	seen := map[string]bool{}
	for u, p := range want {
		if p == "" || seen[p] {
			t.Errorf("%s lies at %q", u, p)
		}
		seen[p] = true
	}
	slices.Reverse(recs)
	if table, _ = assign(t, recs...); !maps.Equal(pathsOf(table), want) {
		t.Errorf("found in another order: %q, want %q", pathsOf(table), want)
	}
}

func TestTwins(t *testing.T) {
	owner := func(body byte) record.Resource {
		rec := page("d/", body)
		rec.Path = "d/index.html"
		return rec
	}
	sharer := func(body byte, run int) record.Resource {
		rec := page("d/index.html", body)
		rec.Run = run
		return rec
	}
	gone := owner(1)
	gone.InSet, gone.Outcome = false, site.Gone
	for _, c := range []struct {
		name          string
		owner, sharer record.Resource
		shared        int
		apart, bare   string
	}{
		{"the same bytes", owner(1), sharer(1, 9), 1, "[]", "[]"},
		{"other bytes, one of them not looked at", owner(2), sharer(1, 8), 1, "[]", "[]"},
		{"other bytes", owner(2), sharer(1, 9), 0, "[1]", "[]"},
		{"the owner has left", gone, sharer(1, 9), 0, "[1]", "[0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table, names := assign(t, c.owner, c.sharer)
			apart, bare := fmt.Sprint(names.Apart), fmt.Sprint(names.Bare)
			if len(names.Shared[0]) != c.shared || apart != c.apart || bare != c.bare {
				t.Errorf("%+v, paths %q", names, pathsOf(table))
			}
			if alone := table.Path(1) != ""; alone != (c.shared == 0) {
				t.Errorf("paths %q", pathsOf(table))
			}
		})
	}
}
