// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"mirrord/evolution"
	"mirrord/testing/lab/reference"
)

// observer is what the runs of a replay see of files.
type observer struct {
	h      *History
	seen   *evolution.History // as the runs see it
	dir    []evolution.Dir
	looks  *evolution.Looks
	mirror []Content
	listed []int32
	known  []bool
}

func newObserver(t *testing.T, h *History, train int) *observer {
	t.Helper()
	o := &observer{
		h:      h,
		seen:   new(evolution.History),
		dir:    make([]evolution.Dir, len(h.dirs)),
		looks:  new(evolution.Looks),
		mirror: make([]Content, len(h.pages)),
		listed: make([]int32, len(h.dirs)),
		known:  make([]bool, len(h.dirs)),
	}
	w := NewWorld(h, 1)
	for range train {
		w.FullSync()
		o.see(t, w)
		w.Step()
	}
	return o
}

func (o *observer) see(t *testing.T, w *World) {
	t.Helper()
	o.looks.Step()
	r := o.seen.Record(o.h.Versions[w.Now()].Time.Unix())
	for d := range o.h.dirs {
		o.dir[d] = r.Dir(o.h.dirs[d].path)
	}
	now := int32(w.Now())
	for p := range o.mirror {
		had, has := o.mirror[p], w.Mirror[p]
		d := o.dir[o.h.pages[p].dir]
		switch {
		case had == Gone && has != Gone:
			o.looks.Saw(uint32(p), d, evolution.Came, o.absent(o.h.pages[p].dir))
			r.Insert(d, 1)
		case had != Gone && has == Gone:
			o.looks.Saw(uint32(p), d, evolution.Went, -1)
			r.Delete(d, 1)
		case has == Gone:
		case w.Asked[p] != now:
			r.Miss(d, 1)
		case had != has:
			o.looks.Saw(uint32(p), d, evolution.Other, -1)
			r.Update(d, 1)
		default:
			o.looks.Saw(uint32(p), d, evolution.Same, -1)
		}
	}
	copy(o.mirror, w.Mirror)
	for d, at := range w.Listed {
		if at == now {
			o.listed[d] = now
		}
	}
	copy(o.known, w.known)
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
}

// absent is the last step in which a listing showed that a page of a directory was not there.
func (o *observer) absent(d Dir) int {
	for ; d != Root && !o.known[d]; d = o.h.dirs[d].parent {
	}
	return int(o.listed[d])
}

// TestEstimates replays recorded sites under the default policy, estimates from what its runs saw how often
// each directory changes, and compares that with what the whole history says: where looks leave open in how
// many steps a directory changed, the interval of 90 % holds the truth in 85 to 95 % of the cases.
// MIRRORD_LONG=1 takes all sites.
func TestEstimates(t *testing.T) {
	sites, trains, alphas := []string{"rust-blog", "boost"}, []int{3}, []float64{0}
	most := 1.0 // of some 30
	if os.Getenv("MIRRORD_LONG") != "" {
		sites, trains, alphas, most = nil, []int{3, 20}, []float64{0, 0.01}, 0.95
		for _, of := range siteKinds() {
			sites = append(sites, of...)
		}
	}
	var all held
	kinds := map[string]*held{}
	for _, site := range sites {
		h := sharedHistory(t, site)
		if h == nil {
			return
		}
		for _, train := range trains {
			o := newObserver(t, h, train)
			o.run(t, train)
			for _, alpha := range alphas {
				x := estimated(t, h, o, alpha)
				t.Logf("%-10s after %2d full syncs, degree %v: %s", site, train, alpha, x)
				all.add(x)
				for kind, of := range siteKinds() {
					if slices.Contains(of, site) {
						if kinds[kind] == nil {
							kinds[kind] = &held{}
						}
						kinds[kind].add(x)
					}
				}
			}
		}
	}
	t.Logf("all: %s", all)
	for kind, x := range kinds {
		t.Logf("%s: %s", kind, x)
		for _, p := range []pairHeld{{x.open, x.within}, x.support, x.correlation} {
			share := float64(p.within) / float64(max(1, p.open))
			if len(trains) > 1 && (share < 0.85 || share > 0.95) {
				t.Errorf("of sites that are %s the intervals hold %.3f of %d truths", kind, share, p.open)
			}
		}
	}
	if share := float64(all.within) / float64(all.open); share < 0.85 || share > most || all.open < 20 {
		t.Errorf("the intervals hold %.3f of %d truths", share, all.open)
	}
	for _, x := range []struct {
		what string
		pair pairHeld
	}{{"support", all.support}, {"correlation", all.correlation}} {
		share := float64(x.pair.within) / float64(max(1, x.pair.open))
		if share < 0.85 || share > most || x.pair.open < 15 {
			t.Errorf("the intervals of %s hold %.3f of %d truths", x.what, share, x.pair.open)
		}
	}
	// What the last step of a change says alone is further off.
	if all.error > all.naive/3 {
		t.Errorf("the mean error is %.5f, that of counting known steps %.5f", all.error/float64(all.dirs),
			all.naive/float64(all.dirs))
	}
}

// siteKinds are recorded sites by how they are made: pages that are edited one by one, all of the site made
// again at most changes, and what has both.
func siteKinds() map[string][]string {
	return map[string][]string{
		"hand-kept": {"curl", "openprinting", "php", "boost", "bitcoincore", "daattali", "nist"},
		"rebuilt":   {"sass", "jekyll", "dplyr", "druid", "orc", "guacamole", "struts"},
		"mixed": {
			"rust-blog", "flink", "accumulo", "beam", "kafka", "mesos", "math-comp", "openlayers",
		},
	}
}

// held is how well estimates held.
type held struct {
	dirs, open, within   int
	error, naive         float64 // sums
	support, correlation pairHeld
}

// pairHeld is how well intervals of a figure of rules held.
type pairHeld struct{ open, within int }

func (x *pairHeld) add(y pairHeld) { x.open, x.within = x.open+y.open, x.within+y.within }

// take takes a truth and the interval of the unknown.
func (x *pairHeld) take(truth, low, high float64) {
	x.open++
	if truth > low-1e-9 && truth < high+1e-9 {
		x.within++
	}
}

func (x *held) add(y held) {
	x.support.add(y.support)
	x.correlation.add(y.correlation)
	x.dirs, x.open, x.within = x.dirs+y.dirs, x.open+y.open, x.within+y.within
	x.error, x.naive = x.error+y.error, x.naive+y.naive
}

func (x held) String() string {
	n := float64(max(1, x.dirs))
	share := func(open, within int) float64 { return float64(within) / float64(max(1, open)) }
	return fmt.Sprintf("%d directories, mean error %.5f, counted %.5f; %d open, %.3f within; support %d, %.3f; "+
		"correlation %d, %.3f", x.dirs, x.error/n, x.naive/n, x.open, share(x.open, x.within), x.support.open,
		share(x.support.open, x.support.within), x.correlation.open,
		share(x.correlation.open, x.correlation.within))
}

// run replays the history under the default policy, after so many full syncs.
func (o *observer) run(t *testing.T, train int) {
	t.Helper()
	_, err := Run(o.h, Options{Train: train, MaxSkip: 14, After: func(w *World) { o.see(t, w) }})
	if err != nil {
		t.Fatal(err)
	}
}

func estimated(t *testing.T, h *History, o *observer, alpha float64) (out held) {
	t.Helper()
	e := o.looks.Estimate(o.seen.Dirs(), alpha, false)
	tree := func(h *evolution.History) *evolution.DeltaTree {
		tree, err := h.DeltaTree(evolution.DeltaOptions{Alpha: alpha})
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	full, err := h.Evolution(len(h.Versions))
	if err != nil {
		t.Fatal(err)
	}
	truths, counted := tree(full), tree(o.seen)
	for d := range h.dirs {
		at, ok := full.Dirs().Lookup(h.dirs[d].path)
		if !ok {
			continue
		}
		x, truth := e.Of(o.dir[d]), truths.FoC(at)
		if x.Steps != truth.N {
			t.Fatalf("%d steps of %d", x.Steps, truth.N)
		}
		out.dirs++
		out.error += math.Abs(truth.Value() - x.FoC)
		out.naive += math.Abs(truth.Value() - counted.FoC(o.dir[d]).Value())
		// In how many steps it changed is open where no number is all but certain.
		steps := x.FoC * float64(x.Steps)
		if x.Seen == x.Steps || math.Abs(steps-math.Round(steps)) < 0.05 {
			continue
		}
		out.open++
		if truth.Value() > x.Low-1e-9 && truth.Value() < x.High+1e-9 {
			out.within++
		}
	}
	out.pairs(h, o, e, full, truths)
	return out
}

// pairs holds the estimates of rules against the truth: of a directory those of the rules that the changes of
// the one above it, and of the one beside it, would be the antecedent of.
func (x *held) pairs(h *History, o *observer, e *evolution.Estimates, full *evolution.History,
	truths *evolution.DeltaTree,
) {
	taken := map[Dir]bool{} // whose support was taken: it is that of many rules
	number := func(d Dir) (seen, at evolution.Dir, ok bool) {
		at, ok = full.Dirs().Lookup(h.dirs[d].path)
		return o.dir[d], at, ok
	}
	before := map[Dir]Dir{} // by parent: the last directory in it
	for d := range h.dirs {
		y, yAt, ok := number(Dir(d))
		if Dir(d) == Root || !ok {
			continue
		}
		up := h.dirs[d].parent
		others := []Dir{up}
		if beside, some := before[up]; some {
			others = append(others, beside)
		}
		before[up] = Dir(d)
		for _, other := range others {
			if seen, at, ok := number(other); ok {
				x.pair(e.Pair([]evolution.Dir{seen}, y), reference.TableOf(truths, []evolution.Dir{at}, yAt),
					!taken[other])
				taken[other] = true
			}
		}
	}
}

// pair holds one estimate against the truth. Where the interval is a point, to what a rule is printed with,
// nothing is open.
func (x *held) pair(p evolution.PairEstimate, truth evolution.Table, support bool) {
	steps := p.FoC * float64(truth.N)
	if support && p.Seen < truth.N && math.Abs(steps-math.Round(steps)) >= 0.05 {
		x.support.take(float64(truth.X)/float64(truth.N), p.Low, p.High)
	}
	phi, defined := truth.CoC()
	if p.Seen < truth.N && p.Defined && defined && p.CoCHigh-p.CoCLow > 0.005 {
		x.correlation.take(phi, p.CoCLow, p.CoCHigh)
	}
}
