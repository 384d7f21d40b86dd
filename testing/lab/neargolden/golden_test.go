// SPDX-License-Identifier: Apache-2.0

package neargolden

import (
	"errors"
	"os"
	"strings"
	"testing"

	"mirrord/evolution"
	"mirrord/testing/lab/reference"
)

func TestGolden(t *testing.T) {
	for _, name := range []string{"testdata/golden.json", "../../../../shared/data/near-golden.json"} {
		f, err := os.Open(name)
		if err != nil {
			if name[0] != '.' {
				t.Fatal(err)
			}
			t.Logf("the shared file of expected values is missing, only ours was checked: %v", err)
			continue
		}
		report, err := CheckGolden(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range report.Problems {
			t.Errorf("%s: %s", name, p)
		}
		t.Logf("%s: %d cases, %d values", name, report.Cases, report.Values)
	}
}

// A checker that finds nothing wrong is worth nothing: each value of our file is made wrong, and has to be
// reported.
func TestGoldenFindsFaults(t *testing.T) {
	good, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, from, to, say string }{
		{"distance", `"": [[1, 4]`, `"": [[2, 4]`, "DoC"},
		{"merged", `"a": [[0, 2]`, `"a": [[0, 3]`, "DoC"},
		{"a transition too many", `[1, 3]]}`, `[1, 3], [0, 0]]}`, "transitions"},
		{"transitions", `"transitions": 2,`, `"transitions": 3,`, "transitions"},
		{"FoC", `"foc": {"": 2`, `"foc": {"": 1`, "FoC"},
		{"an unknown directory", `"foc": {"": 2`, `"foc": {"zz": 0, "": 2`, "zz"},
		{"count", `"n1": 2`, `"n1": 1`, "counts"},
		{"a defined CoC", `"n11": 0, "coc": null`, `"n11": 0, "coc": -1`, "CoC"},
		{"a rule too few", `"zero": "never"`, `"zero": "strict"`, "rule"},
		{"a rule too many", `"nears": [{`,
			`"nears": [{"x": [""], "y": "b", "transitions": 2, "foc_x": 2, "foc_xy": 0, "coc": null, "confidence": 1}, {`, "rule"},
		{"support", `"foc_x": 2`, `"foc_x": 1`, "rule"},
		{"confidence", `"confidence": 1`, `"confidence": 0.999999`, "confidence"},
		{"skipped", `"skipped": ["a"]`, `"skipped": []`, "skipped"},
		{"BR", `"br": [2, 3]`, `"br": [1, 3]`, "BR"},
		{"OP", `"op": [2, 2]`, `"op": [1, 2]`, "OP"},
		{"OR", `"or": [2, 3]`, `"or": [3, 3]`, "OR"},
		{"CR", `"cr": [1, 2]`, `"cr": [2, 2]`, "CR"},
	} {
		bad := strings.Replace(string(good), c.from, c.to, 1)
		if bad == string(good) {
			t.Fatalf("%s: %s does not stand in the file", c.what, c.from)
		}
		report, err := CheckGolden(strings.NewReader(bad))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		} else if len(report.Problems) == 0 || !strings.Contains(strings.Join(report.Problems, "\n"), c.say) {
			t.Errorf("%s: reported is %q, want something on %s", c.what, report.Problems, c.say)
		}
	}
	for _, c := range []struct{ what, file string }{
		{"nothing", ``},
		{"no JSON", `{"format": 1, "cases": [`},
		{"another format", `{"format": 2, "cases": [{}]}`},
		{"no cases", `{"format": 1, "cases": []}`},
		{"null", `{"format": 1, "cases": [null]}`},
		{"no versions", `{"format": 1, "cases": [{"name": "x", "train_versions": 1}]}`},
		{"more training than versions",
			`{"format": 1, "cases": [{"name": "x", "versions": [{}], "train_versions": 2}]}`},
		{"maintained to nowhere",
			`{"format": 1, "cases": [{"name": "x", "versions": [{"a": "1"}, {"a": "2"}], "train_versions": 2, "maintain": {"base": 0, "test": 7}}]}`},
	} {
		if _, err := CheckGolden(strings.NewReader(c.file)); !errors.Is(err, ErrGolden) {
			t.Errorf("%s: %v, want ErrGolden", c.what, err)
		}
	}
	for _, c := range []struct{ what, file string }{
		{"a bad path", `{"format": 1, "cases": [{"name": "x", "versions": [{"a//b": "1"}], "train_versions": 1}]}`},
		{"a bad threshold",
			`{"format": 1, "cases": [{"name": "x", "versions": [{"a": "1"}, {"a": "2"}], "train_versions": 2, "params": {"alpha": 2}}]}`},
		{"a bad zero",
			`{"format": 1, "cases": [{"name": "x", "versions": [{"a": "1"}], "train_versions": 1, "params": {"zero": "none"}}]}`},
	} {
		if _, err := CheckGolden(strings.NewReader(c.file)); err == nil {
			t.Errorf("%s: no error", c.what)
		}
	}
}

// FuzzCheckGolden reads any bytes: an error or a report, no panic.
func FuzzCheckGolden(f *testing.F) {
	good, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(good))
	f.Add(
		`{"format": 1, "cases": [{"versions": [{"a/b": "1"}, {"a": "1"}], "train_versions": 1, "nears": [{}]}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		report, err := CheckGolden(strings.NewReader(s))
		if err == nil && report.Cases == 0 {
			t.Error("no error, and no case")
		}
	})
}

// Nothing is learned of one version, and what a file expects of it is compared all the same. Reports are the
// same each time.
func TestGoldenOfOneVersion(t *testing.T) {
	const file = `{"format": 1, "cases": [{"name": "one", "train_versions": 1, "transitions": 0, "params": {"beta": 0.1, "min_conf": 0.5, "zero": "never"},
		"versions": [{"a/x": "1", "b/x": "1"}, {"a/x": "2", "b/x": "1"}],
		"doc": {"": [[9, 5]], "a": [[9, 2]], "b": [[9, 2]]}, "foc": {"": 0, "a": 7}, "nears": [],
		"maintain": {"base": 0, "test": 1, "skipped": ["b"], "br": [0, 2], "op": [2, 2], "or": [2, 2], "cr": [0, 1]}}]}`
	first, err := CheckGolden(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(first.Problems, "\n")
	for _, say := range []string{`FoC of "a" is 0, want 7`, "skipped directories", "CR is [1 1], want [0 1]"} {
		if !strings.Contains(all, say) {
			t.Errorf("reported is %q, want something on %s", all, say)
		}
	}
	for range 20 {
		again, err := CheckGolden(strings.NewReader(file))
		if err != nil || strings.Join(again.Problems, "\n") != all {
			t.Fatalf("%v, %q the next time, %q before", err, again.Problems, all)
		}
	}
}

// A step in which one of the two was not looked at does not count for the pair.
func TestTableLeavesOutUnknownSteps(t *testing.T) {
	var h evolution.History
	for time, step := range []func(r *evolution.Recorder, a, b evolution.Dir){
		func(r *evolution.Recorder, a, b evolution.Dir) { r.Insert(a, 4); r.Insert(b, 4) },
		func(r *evolution.Recorder, a, b evolution.Dir) { r.Update(a, 1) },
		func(r *evolution.Recorder, a, b evolution.Dir) { r.Update(a, 1); r.Miss(b, 4) },
		func(r *evolution.Recorder, a, b evolution.Dir) { r.Update(a, 1); r.Update(b, 1) },
		func(r *evolution.Recorder, a, b evolution.Dir) { r.Miss(a, 1); r.Update(b, 1) },
		func(r *evolution.Recorder, a, b evolution.Dir) {},
	} {
		r := h.Record(int64(time))
		step(r, r.Dir("a"), r.Dir("b"))
		if err := r.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := h.DeltaTree(evolution.DeltaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := h.Dirs().Lookup("a")
	b, _ := h.Dirs().Lookup("b")
	want := evolution.Table{ // steps 1, 3 and 5
		N:  3,
		X:  2,
		Y:  1,
		XY: 1,
	}
	if got := reference.TableOf(tree, []evolution.Dir{a}, b); got != want {
		t.Errorf("a and b: %+v, want %+v", got, want)
	}
	if f := tree.FoC(a); f != (evolution.Frequency{K: 3, N: 4}) {
		t.Errorf("FoC of a: %+v", f)
	}
}
