// SPDX-License-Identifier: Apache-2.0

package near

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mirrord/evolution"
)

// recording is a history in the plainest form: versions of a mirror, and for each the files that the run did
// not look at.
type recording struct {
	versions []map[string]string
	missed   []map[string]bool
}

func above(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

// subtree is the set of nodes of a directory's subtree.
func subtree(files map[string]string, dir string) map[string]string {
	out := map[string]string{}
	if dir == "" {
		out["d "] = ""
	}
	for path, id := range files {
		if dir != "" && !strings.HasPrefix(path, dir+"/") {
			continue
		}
		out["f "+path] = id
		for d := above(path); d != "" && len(d) >= len(dir); d = above(d) {
			out["d "+d] = ""
		}
	}
	return out
}

// degree is D and merged by the definition.
func degree(from, to map[string]string, dir string, structural bool) (d, merged int) {
	a, b := subtree(from, dir), subtree(to, dir)
	merged = len(a)
	for n, id := range a {
		if other, ok := b[n]; !ok || (other != id && !structural) {
			d++
		}
	}
	for n := range b {
		if _, ok := a[n]; !ok {
			d++
			merged++
		}
	}
	return d, merged
}

// slowMiner counts everything again for every chain.
type slowMiner struct {
	o    Options
	r    recording
	dirs []string // that were there in training
	yes  map[string][]bool
	open map[string][]bool // not known
	n    int
}

func newSlowMiner(r recording, o Options) *slowMiner {
	m := &slowMiner{
		o:    o,
		r:    r,
		yes:  map[string][]bool{},
		open: map[string][]bool{},
	}
	to := len(r.versions) - 1
	if o.To > 0 {
		to = min(to, o.To)
	}
	from := min(o.From, to)
	seen := map[string]bool{"": true}
	for _, v := range r.versions[from : to+1] {
		for path := range v {
			for d := above(path); d != ""; d = above(d) {
				seen[d] = true
			}
		}
	}
	m.dirs = slices.Sorted(maps.Keys(seen))
	m.n = to - from
	for _, dir := range m.dirs {
		for v := from + 1; v <= to; v++ {
			significant := func(next map[string]string) bool {
				d, merged := degree(r.versions[v-1], next, dir, o.Structural)
				return d > 0 && float64(d)/float64(merged) >= o.MinDoC
			}
			yes := significant(r.versions[v])
			// The most that can be behind what was not looked at: that all of it is gone.
			rest := maps.Clone(r.versions[v])
			maps.DeleteFunc(rest, func(p, _ string) bool { return r.missed[v][p] })
			m.yes[dir] = append(m.yes[dir], yes)
			m.open[dir] = append(m.open[dir], !yes && significant(rest))
		}
	}
	return m
}

func (m *slowMiner) counts(x []string, y string) (c counts) {
	for i := range m.n {
		all, known := true, !m.open[y][i]
		for _, d := range x {
			all = all && m.yes[d][i]
			known = known && !m.open[d][i]
		}
		if !known {
			continue
		}
		c.N++
		if all {
			c.X++
		}
		if m.yes[y][i] {
			c.Y++
		}
		if all && m.yes[y][i] {
			c.XY++
		}
	}
	return c
}

// rule is the definition, term by term.
func (m *slowMiner) rule(c counts) bool {
	if c.N == 0 || c.N < m.o.MinSteps {
		return false
	}
	n, n1, n2, n11 := float64(c.N), float64(c.X), float64(c.Y), float64(c.XY)
	if n1/n < m.o.MinFoC || n11/n >= m.o.MinFoC || c.X == 0 || (n1-n11)/n1 < m.o.MinConfidence {
		return false
	}
	if c.X == c.N || c.Y == 0 || c.Y == c.N {
		switch {
		case m.o.Zero == ZeroStrict:
			return false
		case m.o.Zero == ZeroNever && c.Y == 0:
			return true
		}
		return m.o.MinCoC == 0
	}
	return (n*n11-n1*n2)/math.Sqrt(n1*(n-n1)*n2*(n-n2)) <= -m.o.MinCoC
}

// mine tries every chain for every directory.
func (m *slowMiner) mine(h *evolution.History) (out []Rule) {
	dir := func(path string) evolution.Dir {
		d, _ := h.Dirs().Lookup(path)
		return d
	}
	for _, y := range m.dirs {
		if y == "" || m.expired(y) {
			continue
		}
		path := []string{}
		for d := above(y); ; d = above(d) {
			path = append(path, d)
			if d == "" {
				break
			}
		}
		slices.Reverse(path)
		for set := 1; set < 1<<len(path); set++ {
			var x []string
			var dirs []evolution.Dir
			for i, d := range path {
				if set&(1<<i) != 0 {
					x, dirs = append(x, d), append(dirs, dir(d))
				}
			}
			if c := m.counts(x, y); m.rule(c) {
				out = append(out, Rule{dirs, dir(y), c, c.N})
			}
		}
	}
	return out
}

// expired is whether the last steps are all open.
func (m *slowMiner) expired(dir string) bool {
	last := 0
	for i := m.n - 1; i >= 0 && m.open[dir][i]; i-- {
		last++
	}
	return m.o.Expire > 0 && last >= m.o.Expire
}

func drawOptions(t *rapid.T) Options {
	return Options{
		MinDoC:        rapid.SampledFrom([]float64{0, 0, 0.1, 0.2, 0.25, 0.5, 1}).Draw(t, "alpha"),
		MinFoC:        rapid.SampledFrom([]float64{0.05, 0.1, 0.3, 0.5}).Draw(t, "beta"),
		MinCoC:        rapid.SampledFrom([]float64{0, 0, 0.2, 0.5}).Draw(t, "gamma"),
		MinConfidence: rapid.SampledFrom([]float64{0, 0.5, 0.75}).Draw(t, "min_conf"),
		Zero:          rapid.SampledFrom([]Zero{ZeroNever, ZeroZero, ZeroStrict}).Draw(t, "zero"),
		Structural:    rapid.Bool().Draw(t, "structural"),
		MinSteps:      rapid.IntRange(0, 3).Draw(t, "steps"),
		Expire:        rapid.SampledFrom([]int{0, 0, 1, 2, 4}).Draw(t, "expire"),
		From:          rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "from"),
	}
}

// drawRecording draws a small site and what a mirror saw of it. A file that was not looked at stays as the
// mirror had it.
func drawRecording(t *rapid.T, blind bool) recording {
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	r := recording{versions: []map[string]string{{}}, missed: []map[string]bool{{}}}
	for i := range rapid.IntRange(3, 12).Draw(t, "versions") {
		before := r.versions[len(r.versions)-1]
		v, missed := maps.Clone(before), map[string]bool{}
		if blind && i > 0 {
			for _, path := range slices.Sorted(maps.Keys(before)) {
				if rapid.IntRange(0, 3).Draw(t, "missed") == 0 {
					missed[path] = true
				}
			}
		}
		edits := 4
		if i == 0 {
			edits = 12
		}
		for range rapid.IntRange(0, edits).Draw(t, "edits") {
			path := name.Draw(t, "name")
			for range rapid.IntRange(0, 3).Draw(t, "depth") {
				path += "/" + name.Draw(t, "name")
			}
			path += rapid.SampledFrom([]string{".x", ".y"}).Draw(t, "file")
			switch id := rapid.IntRange(0, 4).Draw(t, "contents"); {
			case missed[path]:
			case id == 0:
				delete(v, path)
			default:
				v[path] = fmt.Sprint(id)
			}
		}
		r.versions, r.missed = append(r.versions, v), append(r.missed, missed)
	}
	return r
}

func (r recording) add(t testing.TB, h *evolution.History, version int) {
	t.Helper()
	before := map[string]string{}
	if version > 0 {
		before = r.versions[version-1]
	}
	rec := h.Record(int64(version))
	dirOf := func(file string) evolution.Dir {
		dir, _ := filepath.Split(file)
		return rec.Dir(strings.TrimSuffix(dir, "/"))
	}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if _, ok := r.versions[version][path]; !ok {
			rec.Delete(dirOf(path), 1)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(r.versions[version])) {
		switch was, ok := before[path]; {
		case !ok:
			rec.Insert(dirOf(path), 1)
		case was != r.versions[version][path]:
			rec.Update(dirOf(path), 1)
		case r.missed[version][path]:
			rec.Miss(dirOf(path), 1)
		}
	}
	if err := rec.Commit(); err != nil {
		t.Fatal(err)
	}
}

// TestAgainstSlowMiner compares the best rules with a miner that tries everything.
func TestAgainstSlowMiner(t *testing.T) {
	some := 0
	rapid.Check(t, func(r *rapid.T) {
		rec := drawRecording(r, rapid.Bool().Draw(r, "blind"))
		o := drawOptions(r)
		var h evolution.History
		rec.add(t, &h, 0)
		for v := 1; v < len(rec.versions); v++ {
			rec.add(t, &h, v)
		}
		all := newSlowMiner(rec, o).mine(&h)
		some += len(all)
		top := map[evolution.Dir][]Rule{}
		for _, rule := range all {
			top[rule.Consequent] = append(top[rule.Consequent], rule)
		}
		best, err := Mine(&h, o)
		if err != nil {
			r.Fatal(err)
		}
		if best.Len() != len(top) {
			r.Fatalf("%d directories have a rule, want %d", best.Len(), len(top))
		}
		for d, rules := range top {
			b, ok := best.For(d)
			if !ok {
				r.Fatalf("%q has no rule, and there are %d", h.Dirs().Path(d), len(rules))
			}
			for _, rule := range rules {
				if c := better(rule.Counts, b.Counts); c < 0 || (c == 0 && len(rule.Antecedent) < len(b.Antecedent)) {
					r.Fatalf("the best rule %s is worse than %s", b.Text(h.Dirs()), rule.Text(h.Dirs()))
				}
			}
			found := slices.ContainsFunc(rules, func(x Rule) bool {
				return slices.Equal(x.Antecedent, b.Antecedent) && x.Counts == b.Counts
			})
			if !found {
				r.Fatalf("the best rule %s %+v is not among all", b.Text(h.Dirs()), b.Counts)
			}
		}
	})
	if some == 0 {
		t.Error("there never was a rule")
	}
}
