// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"testing"

	"mirrord/evolution"
	"mirrord/evolution/policy"
	"mirrord/job"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

const home = "http://www.example.org"

// observed are observations in memory.
type observed []record.Observation

func (o observed) Observations(f func(*record.Observation) error) error {
	for i := range o {
		if err := f(&o[i]); err != nil {
			return err
		}
	}
	return nil
}

// page is the URL of page n of a site in directories of 50 pages.
func page(n int) site.URL { return site.Canonical(fmt.Sprintf(home+"/d%d/p%02d.html", n/50, n%50)) }

// pages is a site of n pages that are all in the mirror, and entered in its first run.
func pages(n int, later ...record.Observation) (KnownSite, *urls.Table) {
	t := urls.New()
	s := t.Settled()
	s.Reserve(uint32(n))
	for id := range n {
		s.Load(&record.Resource{
			ID:      uint32(id),
			URL:     page(id),
			Outcome: site.Unchanged,
			InSet:   true,
			MIME:    "text/html",
		}, urls.Run{Number: 1000, Version: 2})
	}
	all := record.IDs{{First: 0, Last: uint32(n - 1)}}
	first := record.Observation{
		Run:      1,
		Time:     1_700_000_000,
		Complete: true,
		Asked:    all,
		Entered:  all,
	}
	return KnownSite{
		Name:     "pages",
		Primary:  home,
		Table:    s,
		Observed: append(observed{first}, later...),
	}, t
}

// The directories of URLs: one for each, parents first, for any path.
func TestDirTable(t *testing.T) {
	d := NewDirTable(home)
	for _, c := range []struct{ url, want string }{
		{home + "/", ""},
		{home + "/a.html", ""},
		{home + "/a/", "a"},
		{home + "/a/b/c.html?x=/y/z", "a/b"},
		{home + "//a///b/c", "a/b"},
		{home + "/a/b/d", "a/b"},
		{"https://cdn.example.org/x/y", "@cdn.example.org/x"},
		{home + ":8080/", "@www.example.org:8080"},
		{home + "/%2e%2e/x", ""},
	} {
		u, _, err := site.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Path(d.Of(u)); got != c.want {
			t.Errorf("%s is in %q, want %q", c.url, got, c.want)
		}
	}
	for i, up := range d.parent {
		if i > 0 && int(up) >= i {
			t.Errorf("directory %d %q has the parent %d", i, d.path[i], up)
		}
	}
	if len(d.path) != 6 {
		t.Errorf("directories %q", d.path)
	}
}

// What left without a request, because the job no longer wants it, is not a page without looks.
func TestWhatLeftWithoutRequestIsGone(t *testing.T) {
	known, table := pages(300,
		record.Observation{Run: 2, Time: 1_700_100_000, Left: record.IDs{{First: 7, Last: 8}}},
		record.Observation{
			Run:      3,
			Time:     1_700_200_000,
			Complete: true,
			Asked:    record.IDs{{First: 0, Last: 6}, {First: 9, Last: 299}},
			Audited:  record.IDs{{First: 3, Last: 4}, {First: 7, Last: 7}},
		})
	table.Settled().Leave(7)
	table.Settled().Leave(8)
	h, err := known.History(NewDirTable(home))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(len(h.Audits), len(h.Audits[2])); got != fmt.Sprint(len(h.Runs), 2) {
		t.Errorf("%s: want audits for each of %d runs, and 2 in the last", got, len(h.Runs))
	}
	all, err := h.Report(evolution.DeltaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if root := all[0]; root.Files != 298 || root.Unobserved != 0 {
		t.Errorf("%d files, %d of them not looked at; want 298 and none", root.Files, root.Unobserved)
	}
	d, err := h.DeltaTree(evolution.DeltaOptions{From: h.Len() - 1})
	if err != nil {
		t.Fatal(err)
	}
	if f := d.FoC(evolution.Root); f != (evolution.Frequency{K: 0, N: 1}) {
		t.Errorf("changes in the last run: %d of %d, want 0 of 1 known", f.K, f.N)
	}
}

// A model knows what each run looked at and what it found missing; a doubtful run teaches nothing but its
// time.
func TestModel(t *testing.T) {
	known, table := pages(100,
		record.Observation{
			Run:   2,
			Time:  1_700_100_000,
			Asked: record.IDs{{First: 0, Last: 49}},
			Left:  record.IDs{{First: 5, Last: 5}},
		},
		record.Observation{
			Run:      3,
			Time:     1_700_200_000,
			Doubtful: true,
			Asked:    record.IDs{{First: 0, Last: 99}},
		},
		record.Observation{Run: 4, Time: 1_700_300_000, Asked: record.IDs{{First: 60, Last: 60}}})
	table.Settled().Leave(5)
	var listings urls.IDSet
	listings.Put(60, true)
	m, err := known.Model(ModelOptions{Run: 4, Listings: listings})
	if err != nil {
		t.Fatal(err)
	}
	if m.Units() != 100 || m.Runs() != 3 || m.Last != 3 || m.Whole.Looks != 1 {
		t.Errorf("%d units, %d runs to run %d, %d whole", m.Units(), m.Runs(), m.Last, m.Whole)
	}
	for id, want := range map[uint32]int{0: 2, 5: 2, 60: 1, 99: 1, 7000: 0} {
		if m.Looked(id) != want {
			t.Errorf("page %d: looked at in run %d, want %d", id, m.Looked(id), want)
		}
	}
	if m.In(5) || !m.In(6) {
		t.Error("the model must know the present mirror")
	}
}

// When there were more runs than numbers for them, what was not looked at for long was looked at by the
// oldest run that is known.
func TestManyRuns(t *testing.T) {
	m := &SiteModel{looked: make([]uint16, 3)}
	const runs = 70_000
	for run := 1; run <= runs; run++ {
		at := m.addRun(run)
		if m.looked[0] = at; run == 40_000 {
			m.looked[1] = at
		}
		if run == 1 {
			m.looked[2] = at
		}
	}
	const oldest = 65_535/2 + 1
	if a, b, c := m.Looked(0), m.Looked(1), m.Looked(2); a != runs || b != 40_000 || c != oldest {
		t.Errorf("looked at in runs %d, %d and %d, want %d, 40000 and %d", a, b, c, runs, oldest)
	}
}

// A directory that stays as it is while those above it change gets a rule.
func TestRules(t *testing.T) {
	later := make([]record.Observation, 20)
	for i := range later {
		later[i] = record.Observation{
			Run:     2 + i,
			Time:    1_700_000_000 + int64(i+1)*86_400,
			Asked:   record.IDs{{First: 0, Last: 99}},
			Changed: record.IDs{{First: 0, Last: 40}},
		}
	}
	known, _ := pages(100, later...)
	n := job.Default(home + "/").Near
	m, err := known.Rules(NewDirTable(home), n, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Skips) != 1 || m.Text(m.Over(page(70))) == "" || m.Over(page(3)) != -1 {
		t.Errorf("skips %+v; the rule of the silent directory is %q", m.Skips, m.Text(0))
	}
	if m.Skips[0].Dir == policy.Root || m.Text(-1) != "" || m.Text(1) != "" {
		t.Errorf("skips %+v", m.Skips)
	}
}
