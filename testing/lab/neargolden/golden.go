// SPDX-License-Identifier: Apache-2.0

// Package neargolden holds package near against a file of expected values.
package neargolden

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"mirrord/evolution"
	"mirrord/near"
	"mirrord/testing/lab/experiments"
	"mirrord/testing/lab/reference"
	"mirrord/testing/lab/versions"
)

// ErrGolden says that a file of expected values is not one, or has nothing in it.
var ErrGolden = errors.New("not a file of expected values")

// GoldenReport is what came of a file of expected values.
type GoldenReport struct {
	Cases    int
	Values   int      // that were compared
	Problems []string // one for each value that is another, with the case's name; none: all is as expected
}

type golden struct {
	Format int           `json:"format"`
	Cases  []*goldenCase `json:"cases"`
}

type goldenCase struct {
	Name   string `json:"name"`
	Params struct {
		Alpha      float64   `json:"alpha"`
		Beta       float64   `json:"beta"`
		Gamma      float64   `json:"gamma"`
		MinConf    float64   `json:"min_conf"`
		Zero       near.Zero `json:"zero"`
		Structural bool      `json:"structural"`
	} `json:"params"`
	TrainVersions int                 `json:"train_versions"`
	Transitions   *int                `json:"transitions"`
	Versions      []map[string]string `json:"versions"`
	DoC           map[string][][2]int `json:"doc"`
	FoC           map[string]int      `json:"foc"`
	CoC           []goldenCoC         `json:"coc"`
	Rules         []goldenRule        `json:"nears"`
	Maintain      *struct {
		Base    int      `json:"base"`
		Test    int      `json:"test"`
		Skipped []string `json:"skipped"`
		BR      [2]int   `json:"br"`
		OP      [2]int   `json:"op"`
		OR      [2]int   `json:"or"`
		CR      [2]int   `json:"cr"`
	} `json:"maintain"`
}

type goldenCoC struct {
	X   []string `json:"x"`
	Y   string   `json:"y"`
	N1  int      `json:"n1"`
	N2  int      `json:"n2"`
	N11 int      `json:"n11"`
	CoC *float64 `json:"coc"`
}

type goldenRule struct {
	X           []string `json:"x"`
	Y           string   `json:"y"`
	Transitions int      `json:"transitions"`
	FoCX        int      `json:"foc_x"`
	FoCXY       int      `json:"foc_xy"`
	CoC         *float64 `json:"coc"`
	Confidence  float64  `json:"confidence"`
}

// CheckGolden reads a file of expected values and compares everything in it with what evolution and near make
// of the same versions: counts exactly, correlations and confidences to 1e-12.
//
// The file is JSON: format 1 and cases, each with a name; versions, a list of objects from path to contents;
// params (alpha, beta, gamma, min_conf, zero, structural); train_versions, from how many of the versions is
// learned. Expected are doc, for every directory (the root is "") and transition of all versions [distance,
// merged]; of the learned part transitions, foc (counts), coc (x, y, n1, n2, n11, coc or null) and nears,
// every rule (x, y, transitions, foc_x, foc_xy, coc or null, confidence); and maintain, where it is given:
// from version base to version test, the topmost skipped directories, and br, op, or, cr as [count, of].
func CheckGolden(r io.Reader) (GoldenReport, error) {
	var g golden
	if err := json.NewDecoder(r).Decode(&g); err != nil {
		return GoldenReport{}, errors.Join(ErrGolden, err)
	}
	if g.Format != 1 {
		return GoldenReport{}, fmt.Errorf("%w: format %d, want 1", ErrGolden, g.Format)
	}
	if len(g.Cases) == 0 {
		return GoldenReport{}, fmt.Errorf("%w: it has no cases", ErrGolden)
	}
	var out GoldenReport
	for i, c := range g.Cases {
		if c == nil {
			return out, fmt.Errorf("%w: case %d is null", ErrGolden, i)
		}
		k := checker{c: c, report: &out}
		err := k.run()
		slices.Sort(out.Problems) // what a file expects comes in no order
		if err != nil {
			return out, fmt.Errorf("case %d (%s): %w", i, c.Name, err)
		}
		out.Cases++
	}
	return out, nil
}

// checker compares the values of one case.
type checker struct {
	c      *goldenCase
	report *GoldenReport
	h      evolution.History
	trees  []*versions.HashedTree
}

// same compares one value.
func (k *checker) same(what string, got, want any) {
	k.report.Values++
	if got != want {
		k.report.Problems = append(k.report.Problems,
			fmt.Sprintf("%s: %s is %v, want %v", k.c.Name, what, got, want))
	}
}

func (k *checker) close(what string, got float64, defined bool, want *float64) {
	switch {
	case !defined && want == nil:
		k.report.Values++
	case defined && want != nil && math.Abs(got-*want) <= 1e-12 && !(got == 0 && math.Signbit(got)):
		k.report.Values++
	default:
		text := func(v float64, defined bool) string {
			if !defined {
				return "undefined"
			}
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		w := "undefined"
		if want != nil {
			w = text(*want, true)
		}
		k.same(what, text(got, defined), w)
	}
}

func (k *checker) run() error {
	c := k.c
	if len(c.Versions) == 0 || c.TrainVersions < 1 || c.TrainVersions > len(c.Versions) {
		return fmt.Errorf("%w: train_versions %d of %d versions", ErrGolden, c.TrainVersions, len(c.Versions))
	}
	var tree *versions.HashedTree
	for i, v := range c.Versions {
		next, err := versionTree(v)
		if err != nil {
			return fmt.Errorf("version %d: %w", i, err)
		}
		if err := versions.AddTree(&k.h, int64(i), tree, next); err != nil {
			return fmt.Errorf("version %d: %w", i, err)
		}
		tree = next
		k.trees = append(k.trees, next)
	}
	k.degrees()
	o := near.Options{
		MinDoC:        c.Params.Alpha,
		MinFoC:        c.Params.Beta,
		MinCoC:        c.Params.Gamma,
		MinConfidence: c.Params.MinConf,
		Zero:          c.Params.Zero,
		Structural:    c.Params.Structural,
		To:            c.TrainVersions - 1,
	}
	if o.To == 0 { // one version, no transition: nothing is learned
		o.From = k.h.Len()
	}
	t, err := k.h.DeltaTree(evolution.DeltaOptions{
		Alpha:      o.MinDoC,
		Structural: o.Structural,
		From:       o.From,
		To:         o.To,
	})
	if err != nil {
		return err
	}
	k.counts(t)
	if err := k.rules(t, o); err != nil {
		return err
	}
	return k.maintain(o)
}

func versionTree(v map[string]string) (*versions.HashedTree, error) {
	files := make([]versions.File, 0, len(v))
	for path, id := range v {
		files = append(files, versions.File{Path: path, Digest: versions.DigestOf(id)})
	}
	return versions.TreeOf(files)
}

// degrees compares DoC, once as the history has it and once off the edit scripts of the trees.
func (k *checker) degrees() {
	dirs := k.h.Dirs()
	steps := map[int]map[string]evolution.Change{}
	for s := range k.h.Steps() {
		steps[s.Number] = map[string]evolution.Change{}
		for d := range dirs.Len() {
			steps[s.Number][dirs.Path(evolution.Dir(d))] = s.Change(evolution.Dir(d))
		}
	}
	for dir, want := range k.c.DoC {
		k.same("number of transitions of "+quote(dir), k.h.Len(), len(want))
		for i, w := range want[:min(len(want), k.h.Len())] {
			got := steps[i+1][dir]
			k.same(fmt.Sprintf("DoC of %s in transition %d", quote(dir), i),
				[2]int{got.Distance(k.c.Params.Structural), got.Merged()}, w)
			script := versions.Changes(k.trees[i], slices.Values(versions.Diff(k.trees[i], k.trees[i+1])))
			other, touched := script[dir]
			if !touched {
				other = evolution.Change{Old: k.trees[i].Nodes(dir)}
			}
			k.same(fmt.Sprintf("DoC of %s in transition %d by the edit script", quote(dir), i), other, got)
		}
	}
}

func quote(dir string) string { return strconv.Quote(dir) }

func (k *checker) counts(t *evolution.DeltaTree) {
	if k.c.Transitions != nil {
		k.same("transitions", t.Len(), *k.c.Transitions)
	}
	dirs := k.h.Dirs()
	find := func(paths ...string) (out []evolution.Dir) {
		for _, p := range paths {
			d, ok := dirs.Lookup(p)
			if !ok || int(d) >= t.Dirs() {
				k.same("directory "+quote(p), "not there", "there")
				return nil
			}
			out = append(out, d)
		}
		return out
	}
	for dir, want := range k.c.FoC {
		if set := find(dir); set != nil {
			k.same("FoC of "+quote(dir), reference.TableOf(t, set).X, want)
		}
	}
	for _, w := range k.c.CoC {
		x, y := find(w.X...), find(w.Y)
		if x == nil || y == nil {
			continue
		}
		got := reference.TableOf(t, x, y...)
		what := fmt.Sprintf("of %q and %q", w.X, w.Y)
		k.same("counts "+what, [3]int{got.X, got.Y, got.XY}, [3]int{w.N1, w.N2, w.N11})
		phi, defined := got.CoC()
		k.close("CoC "+what, phi, defined, w.CoC)
	}
}

// rules compares the list of all rules, and whether the directories with a best rule are those that have any.
func (k *checker) rules(t *evolution.DeltaTree, o near.Options) error {
	all, err := mineAll(&k.h, t, o)
	if err != nil {
		return err
	}
	best, err := near.Mine(&k.h, o)
	if err != nil {
		return err
	}
	dirs := k.h.Dirs()
	got := map[string]near.Rule{}
	for _, r := range all {
		x := make([]string, len(r.Antecedent))
		for i, d := range r.Antecedent {
			x[i] = dirs.Path(d)
		}
		got[ruleName(x, dirs.Path(r.Consequent))] = r
		k.same("best rule for "+quote(dirs.Path(r.Consequent)), best.Has(r.Consequent), true)
	}
	want := map[string]goldenRule{}
	for _, w := range k.c.Rules {
		want[ruleName(w.X, w.Y)] = w
	}
	for r := range best.All() {
		x := make([]string, len(r.Antecedent))
		for i, d := range r.Antecedent {
			x[i] = dirs.Path(d)
		}
		_, ok := got[ruleName(x, dirs.Path(r.Consequent))]
		k.same("the best rule "+r.Text(dirs)+" is among all", ok, true)
	}
	for name, r := range got {
		w, ok := want[name]
		if k.same("rule "+name, true, ok); !ok {
			continue
		}
		k.same("counts of rule "+name, [3]int{r.Counts.N, r.Counts.X, r.Counts.XY},
			[3]int{w.Transitions, w.FoCX, w.FoCXY})
		phi, defined := r.Correlation()
		k.close("CoC of rule "+name, phi, defined, w.CoC)
		k.close("confidence of rule "+name, r.Confidence(), true, &w.Confidence)
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			k.same("rule "+name, false, true)
		}
	}
	return nil
}

func ruleName(x []string, y string) string {
	x = slices.Clone(x)
	slices.SortFunc(x, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return fmt.Sprintf("%q => not %q", x, y)
}

func (k *checker) maintain(o near.Options) error {
	m := k.c.Maintain
	if m == nil {
		return nil
	}
	if m.Base < 0 || m.Base >= len(k.trees) || m.Test < 0 || m.Test >= len(k.trees) {
		return fmt.Errorf("%w: maintain from version %d to version %d of %d", ErrGolden, m.Base, m.Test,
			len(k.trees))
	}
	rules, err := near.Mine(&k.h, o)
	if err != nil {
		return err
	}
	skips := rules.Skips()
	top := map[string]bool{}
	for d := range skips.Top() {
		top[k.h.Dirs().Path(d)] = true
	}
	list := func(s []string) string { return strings.Join(slices.Sorted(slices.Values(s)), " ") }
	k.same("skipped directories", list(slices.Collect(maps.Keys(top))), list(m.Skipped))
	got := experiments.Maintain(k.trees[m.Base], k.trees[m.Test], func(file string) bool {
		dir, _ := k.h.Dirs().Nearest(strings.TrimSuffix(path.Dir("/" + file)[1:], "/"))
		_, skipped := skips.Dir(dir)
		return skipped
	})
	pair := func(f evolution.Frequency) [2]int { return [2]int{f.K, f.N} }
	k.same("BR", pair(got.BR), m.BR)
	k.same("OP", pair(got.OP), m.OP)
	k.same("OR", pair(got.OR), m.OR)
	k.same("CR", pair(got.CR), m.CR)
	return nil
}
