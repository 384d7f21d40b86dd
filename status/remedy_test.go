// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"
)

// Each cause has a remedy of its own, and none sends the reader back to where it stands.
func TestRemedyFollowsTheReason(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct{ reason, want string }{
		{"https://h was left for the next run: its robots.txt answers 503",
			"nothing, it is tried again; at once: mirrord run-now x"},
		{"the entry point http://h/: disallowed (Disallow: /)", "its robots.txt forbids that"},
		{"the entry point http://h/: failed (status 401)", "[auth]"},
		{"the entry point http://h/: gone", "look whether url"},
		{"12 of 100 requests failed, more than limits.max_failures = 1%", "mirrord explain x URL"},
		{"something new", "mirrord run-now x"},
	} {
		j := Job{
			Name:    "x",
			Reasons: []string{c.reason},
			Last:    &Run{Verdict: VerdictPartial, Ended: now, Reasons: []string{c.reason}},
		}
		j.Judge(now)
		if !strings.Contains(j.Fix, c.want) || !strings.Contains(j.Fix, "mirrord run-now x") ||
			strings.Contains(j.Fix, "mirrord status") {
			t.Errorf("%s: %q", c.reason, j.Fix)
		}
	}
	j := Job{Name: "x", Last: &Run{Verdict: VerdictError, Error: "publish.dir: permission denied"}}
	if j.Judge(now); !strings.Contains(j.Fix, "let the daemon's user write there") {
		t.Error(j.Fix)
	}
}
