// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"
)

// A line that stands for several directories counts the audits of all.
func TestPlanReportCountsAudits(t *testing.T) {
	dirs := []PlanDir{
		{Path: "/old", Known: 2, Asked: 2, Audited: 2, Why: "audit", Rule: "r"},
		{Path: "/old/x", Known: 1, Asked: 1, Audited: 1, Why: "audit", Rule: "r"},
	}
	var b bytes.Buffer
	if err := (&PlanReport{Job: "j", Dirs: dirs}).WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); !strings.Contains(out, "/old/ and 1 below") || !strings.Contains(out, "3 audited") {
		t.Errorf("3 audits of 2 directories are reported as\n%s", out)
	}
}
