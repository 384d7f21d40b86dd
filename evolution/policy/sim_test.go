// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"testing"
)

// fake is a site and its mirror, for scenarios: units only, no listings unless they are added.
type fake struct {
	t     *testing.T
	m     *Model
	stale map[ID]bool // changed since the mirror took it
	week  int64
	o     Options
}

const weekSeconds = 7 * 24 * 3600

func newFake(t *testing.T, dirs ...int) *fake {
	f := &fake{
		t:     t,
		m:     site(t, dirs...),
		stale: map[ID]bool{},
		o:     Options{Policy: Adaptive},
	}
	f.learn(&Run{Entered: []Span{{0, uint32(f.m.Units() - 1)}}})
	return f
}

func (f *fake) learn(r *Run) {
	f.week++
	r.Time = f.week * weekSeconds
	f.m.Learn(r)
}

func setOf(ids []ID) (out []Span) {
	slices.Sort(ids)
	for _, u := range ids {
		out = append(out, Span{uint32(u), uint32(u)})
	}
	return out
}

// full is a week in which these change and everything is requested.
func (f *fake) full(changed ...ID) {
	f.learn(&Run{Asked: []Span{{0, uint32(f.m.Units() - 1)}}, Changed: setOf(changed)})
}

// run is a week in which these change and the policy plans. It returns the requests, in order.
func (f *fake) run(changed ...ID) (asked []Ask) {
	f.t.Helper()
	for _, u := range changed {
		f.stale[u] = true
	}
	o := f.o
	o.Now = (f.week + 1) * weekSeconds
	p, err := Standard().Plan(f.m, o)
	if err != nil {
		f.t.Fatal(err)
	}
	var ids, hit []ID
	for b := p.Next(4); len(b) > 0; b = p.Next(4) {
		for _, a := range b {
			asked, ids = append(asked, a), append(ids, a.Unit)
			r := Unchanged
			if f.stale[a.Unit] {
				r, hit = Changed, append(hit, a.Unit)
				delete(f.stale, a.Unit)
			}
			p.Tell(Outcome{Unit: a.Unit, Result: r})
		}
	}
	f.learn(&Run{Asked: setOf(ids), Changed: setOf(hit)})
	return asked
}

func count(asked []Ask, from, to ID) (n int) {
	for _, a := range asked {
		if a.Unit >= from && a.Unit < to {
			n++
		}
	}
	return n
}

func ids(from, to ID) (out []ID) {
	for u := from; u < to; u++ {
		out = append(out, u)
	}
	return out
}
