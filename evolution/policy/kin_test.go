// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// permalinks is a site with a directory for each of so many pages, all of which changed together twice, and
// five pages at the root of which one changes in each week.
func permalinks(t *testing.T, pages int) *fake {
	dirs := []int{5}
	for range pages {
		dirs = append(dirs, 1)
	}
	f := newFake(t, dirs...)
	for w := range 20 {
		changed := []ID{ID(w % 5)}
		if w == 4 || w == 12 {
			changed = append(changed, ids(5, ID(5+pages))...)
		}
		f.full(changed...)
	}
	return f
}

// Pages that changed together are one group, though each is in a directory of its own.
func TestKinInManyDirectories(t *testing.T) {
	f := permalinks(t, 200)
	f.o.Price = 0.005
	if n := count(f.run(0), 5, 205); n == 0 || n > 40 {
		t.Errorf("%d of 200 pages of which none has changed were requested, want a few probes", n)
	}
	if f.run(append(ids(5, 205), 1)...); len(f.stale) > 0 {
		t.Errorf("%d of 201 changes were not found", len(f.stale))
	}
}

// With requests in flight one probe of kin is enough until its answer is there.
func TestKinWaitsForItsProbe(t *testing.T) {
	f := permalinks(t, 200)
	p, err := Standard().Plan(f.m, f.o)
	if err != nil {
		t.Fatal(err)
	}
	probes := 0
	for _, a := range p.Next(64) {
		if a.Unit >= 5 && a.Why.Why == Probe {
			probes++
		}
	}
	if probes > 8 {
		t.Errorf("%d probes of one set of pages were handed out at a time", probes)
	}
}
