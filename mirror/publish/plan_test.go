// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"slices"
	"testing"

	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// planned is a ledger for version 3, in which version 2 is published.
type planned struct {
	t     *testing.T
	table urls.Settled
	links map[uint32][]uint32
	basis Basis
}

const origin = "http://h.example/"

func url(name string) site.URL { return site.Canonical(origin + name) }

// newPlanned returns a mirror of an index, three pages and a page that redirects to c.html: index links to
// a and b, a to c through the redirect.
func newPlanned(t *testing.T) *planned {
	p := &planned{t: t, table: urls.New().Settled(), links: map[uint32][]uint32{0: {1, 2}, 1: {4}}}
	p.table.Reserve(5)
	for id, name := range []string{"index.html", "b.html", "a.html", "c.html"} {
		p.load(record.Resource{
			ID:      uint32(id),
			URL:     url(name),
			Outcome: site.Unchanged,
			InSet:   true,
			Path:    name,
		})
	}
	p.load(record.Resource{
		ID:      4,
		URL:     url("moved.html"),
		Outcome: site.Redirected,
		Target:  3 + 1,
	})
	p.basis = Basis{
		Table:  p.table,
		Live:   &record.Version{Number: 2},
		Covers: func(u site.URL) bool { return u.Origin()+"/" == origin },
		Links:  p.eachLinks,
		Seeds:  []site.URL{url("index.html")},
		Meta:   phm.Meta{Primary: "http://h.example"},
	}
	return p
}

func (p *planned) load(rec record.Resource) { p.table.Load(&rec, urls.Run{Number: 9, Version: 3}) }

func (p *planned) eachLinks(f func(id uint32, targets []byte) error) error {
	for id, to := range p.links {
		if err := f(id, record.AppendTargets(nil, to)); err != nil {
			return err
		}
	}
	return nil
}

// states is all that the table knows.
func (p *planned) states() (s string) {
	for id, state := range p.table.All() {
		s += fmt.Sprintln(id, p.table.Path(id), state)
	}
	return s
}

// dirty makes a plan, and returns the paths of the files that are not taken over as they are.
func (p *planned) dirty() (plan *VersionPlan, paths []string) {
	p.t.Helper()
	plan, err := NewPlan(p.basis)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, id := range plan.Files {
		if plan.Dirty(id) {
			paths = append(paths, p.table.Path(id))
		}
	}
	return plan, paths
}

func TestPlan(t *testing.T) {
	all := []string{"a.html", "b.html", "c.html", "index.html"}
	for _, c := range []struct {
		name   string
		change func(p *planned)
		dirty  []string
	}{
		{"nothing", func(*planned) {}, nil},
		{"first version", func(p *planned) { p.basis.Live = nil }, all},
		{"other rules", func(p *planned) { p.basis.Rescan = true }, all},
		{"another body", func(p *planned) {
			p.load(record.Resource{
				ID:      2,
				URL:     url("a.html"),
				InSet:   true,
				Path:    "a.html",
				Changed: 3,
			})
		}, []string{"a.html"}},
		{"the target of a redirect moved", func(p *planned) {
			p.load(record.Resource{
				ID:      3,
				URL:     url("c.html"),
				InSet:   true,
				Path:    "d.html",
				Changed: 3,
				Moved:   3,
			})
		}, []string{"b.html", "d.html"}},
		{"a page left", func(p *planned) {
			p.load(record.Resource{
				ID:      2,
				URL:     url("a.html"),
				Outcome: site.Gone,
				Moved:   3,
			})
		}, []string{"index.html"}},
		{"a link without a number", func(p *planned) {
			p.links[3] = []uint32{record.Unnumbered}
			p.load(record.Resource{
				ID:      2,
				URL:     url("a.html"),
				Outcome: site.Gone,
				Moved:   3,
			})
		}, []string{"c.html", "index.html"}},
		{"a requisite out of scope left", func(p *planned) {
			p.load(record.Resource{
				ID:     4,
				URL:    site.Canonical("http://cdn.example/x.css"),
				Requis: true,
				Moved:  3,
			})
			p.basis.Covers = func(site.URL) bool { return false }
		}, all},
		{"other links are repaired", func(p *planned) { p.basis.Repaired = []uint32{3} }, []string{"c.html"}},
		{"a damaged file", func(p *planned) {
			p.basis.Damage.Wrong = map[string]bool{"b.html": true}
		}, []string{"b.html"}},
		{"no file table", func(p *planned) { p.basis.Damage.Lost = disk.ErrDamaged }, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlanned(t)
			c.change(p)
			before := p.states()
			plan, dirty := p.dirty()
			if !slices.Equal(dirty, c.dirty) {
				t.Errorf("dirty %q, want %q", dirty, c.dirty)
			}
			if plan.Nothing() != (len(c.dirty) == 0) {
				t.Errorf("nothing to do: %v", plan.Nothing())
			}
			if plan.Entry != "index.html" || plan.Meta.Entry != plan.Entry || plan.Meta.Primary != "http://h.example" {
				t.Errorf("entry %q, %+v", plan.Entry, plan.Meta)
			}
			if now := p.states(); now != before {
				t.Errorf("the plan changed the table: %s, was %s", now, before)
			}
		})
	}
}

// A mirror of which the entry point has gone has no page to open; one that has moved as a whole is named
// after where it is.
func TestPlanEntry(t *testing.T) {
	p := newPlanned(t)
	p.load(record.Resource{
		ID:      0,
		URL:     url("index.html"),
		Outcome: site.Gone,
		Moved:   3,
	})
	if plan, _ := p.dirty(); plan.Entry != "" {
		t.Errorf("entry %q", plan.Entry)
	}
	p = newPlanned(t)
	p.basis.Meta.Primary = "http://elsewhere.example"
	plan, _ := p.dirty()
	if plan.Meta.Primary != "http://h.example" || fmt.Sprint(plan.Meta.Origins) != "["+origin+"index.html]" {
		t.Errorf("%+v", plan.Meta)
	}
}
