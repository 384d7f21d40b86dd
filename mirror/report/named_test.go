// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/job"
	"mirrord/near"
)

// A reference names a page of the first entry point, if the job mirrors it; the error says why not.
func TestNamed(t *testing.T) {
	j := job.Default()
	j.Name, j.URLs = "x", []string{"http://h.example/docs/", "http://o.example/"}
	j.Scope.Exclude = []string{"/docs/old/**"}
	got, err := Named(j, []string{"a.html", "/docs/b/", "http://o.example/c"})
	if err != nil ||
		fmt.Sprint(got) != "[http://h.example/docs/a.html http://h.example/docs/b/ http://o.example/c]" {
		t.Errorf("%v, %v", got, err)
	}
	for ref, why := range map[string]string{
		"old/a.html":        "exclude",
		"http://z.example/": "z.example",
		"http://[::1":       "",
	} {
		_, err := Named(j, []string{"a.html", ref})
		no, is := errors.AsType[*NotMirroredError](err)
		if !is || no.Ref != ref || !strings.Contains(no.Why, why) || !strings.HasPrefix(err.Error(),
			ref+" is not mirrored: ") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	j.Profile = "mediawiki"
	_, err = Named(j, []string{"a.html?action=history"})
	if err == nil || !strings.Contains(err.Error(), `profile mediawiki leaves "?action=history"`) {
		t.Errorf("left by a profile: %v", err)
	}
	j.Profile = "nowiki"
	if _, err := Named(j, nil); err == nil || !strings.Contains(err.Error(), `profile: "nowiki" is not known`) {
		t.Errorf("a profile that does not exist: %v", err)
	}
	j.Scope.Exclude = []string{"["}
	if _, err := Named(j, nil); err == nil {
		t.Error("a job that cannot be compiled names pages")
	}
}

// Figures are shown with the interval that they lie in, unless that is narrow; a correlation may be
// undefined.
func TestEstimateText(t *testing.T) {
	cor, low, high := .5, .498, .502
	for _, c := range []struct {
		e                    RuleEstimate
		support, correlation string
	}{
		{RuleEstimate{Support: .25, SupportLow: .1, SupportHigh: .4}, "0.25 (0.10 to 0.40)", "none"},
		{RuleEstimate{
			Support:         1,
			SupportLow:      1,
			SupportHigh:     1,
			Correlation:     &cor,
			CorrelationLow:  &low,
			CorrelationHigh: &high,
		}, "1.00", "0.50"},
	} {
		if s, r := c.e.SupportText(), c.e.CorrelationText(); s != c.support || r != c.correlation {
			t.Errorf("%+v: %q, %q", c.e, s, r)
		}
	}
}

// Lists for other programs have the skipped directories of the entry point's origin, as these are written on
// disks, and no others.
func TestExclude(t *testing.T) {
	s := SiteRules{Rules: []SiteRule{
		{Directory: "/old", Skipped: true},
		{Directory: "/new"},
		{Directory: "/a%20b", Skipped: true},
		{Directory: "/@cdn.example/img", Skipped: true},
	}}
	for f, want := range map[near.SkipFormat]string{
		near.Rsync: "[/old/ /a b/]",
		near.Lftp:  "[^old/ ^a b/]",
	} {
		var got []string
		for line, err := range s.Exclude(f) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, line)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%v: %q, want %s", f, got, want)
		}
	}
}

// Directories below one of which nothing is requested, or all, are counted with it, unless all are wanted.
func TestPlanFoldsDirectories(t *testing.T) {
	p := PlanReport{Job: "x", Run: 3}
	p.Known, p.Asked, p.Spared, p.Runs = 30, 4, 26, 2
	p.Dirs = []PlanDir{
		{Path: "/old", Known: 10, Spared: 10, Why: "rule", Rule: "r"},
		{Path: "/old/a", Known: 9, Spared: 9, Why: "rule", Rule: "r"},
		{Path: "/older", Known: 7, Spared: 7, Why: "rule", Rule: "r"},
		{Path: "/new", Known: 4, Asked: 4, Why: "due", Audited: 1, Expected: 1.5},
	}
	for all, want := range map[bool][]string{
		false: {"/old/ and 1 below 19 0 19 rule: r", "/older/ 7 0 7 rule: r", "/new/ 4 4 0 1.5 due, 1 audited"},
		true: {"/old/ 10 0 10 rule: r", "/old/a/ 9 0 9 rule: r", "/older/ 7 0 7 rule: r",
			"/new/ 4 4 0 1.5 due, 1 audited"},
	} {
		var b strings.Builder
		if err := p.WriteText(&b, all); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "/") {
				rows = append(rows, strings.Join(strings.Fields(line), " "))
			}
		}
		if !slices.Equal(rows, want) {
			t.Errorf("all %v: %q", all, rows)
		}
	}
}
