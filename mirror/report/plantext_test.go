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
