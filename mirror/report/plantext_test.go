// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"mirrord/job"
)

// A plan says what it leaves out, in jobs that have it.
func TestPlanSaysWhatItLeavesOut(t *testing.T) {
	j := job.Default()
	if got := notPlanned(j, false); got != nil {
		t.Errorf("%q", got)
	}
	j.Alternates, j.Reuse.Job = []string{"https://mirror.example.org/"}, "manual"
	p := PlanReport{Job: "x", Full: "new rules", Without: notPlanned(j, true)}
	var b strings.Builder
	if err := p.WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	const want = "\n  not in this plan: requests of replicas (alternates); " +
		"requests that the mirror of manual saves (reuse.job); addresses that are guessed from scripts (scripts)\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

// A mirror of one page has one URL, and the plan says so.
func TestPlanOfOnePage(t *testing.T) {
	for _, x := range []struct {
		known, asked int
		want         string
	}{
		{1, 1, "x: run 2 would request the one URL that the mirror has\n"},
		{1, 0, "x: run 2 would request nothing: it would skip the one URL that the mirror has\n"},
		{2, 1, "x: run 2 would request 1 of the 2 URLs that the mirror has, and skip 1\n"},
	} {
		p := PlanReport{Job: "x", Run: 2}
		p.Known, p.Asked, p.Spared, p.Runs = x.known, x.asked, x.known-x.asked, 1
		var b strings.Builder
		if err := p.WriteText(&b, false); err != nil || !strings.HasPrefix(b.String(), x.want) ||
			!strings.Contains(b.String(), "from what 1 run observed") {
			t.Errorf("%v, %q, want %q", err, b.String(), x.want)
		}
	}
}
