// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Alerts are made of metrics that exist: a metric that is renamed would silence its alert for ever.
func TestAlertRules(t *testing.T) {
	rules, err := os.ReadFile("../packaging/prometheus-rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	now := time.Now()
	all := All{Jobs: []Job{{Name: "docs", Verified: &now, Last: &Run{Spared: map[string]int64{"sitemap": 1}}}}}
	if err := WriteMetrics(&b, all); err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(mirrord_\w+)(?:\{[^}]*\})? `).FindAllStringSubmatch(
		b.String(), -1) {
		have[m[1]] = true
	}
	alerts, used := 0, map[string]bool{}
	for line := range strings.Lines(string(rules)) {
		expr, ok := strings.CutPrefix(strings.TrimSpace(line), "expr: ")
		if !ok {
			continue
		}
		alerts++
		for _, name := range regexp.MustCompile(`mirrord_\w+`).FindAllString(expr, -1) {
			used[name] = true
			if !have[name] {
				t.Errorf("%s: there is no metric %s", expr, name)
			}
		}
	}
	if alerts < 8 || strings.Count(string(rules), "- alert: ") != alerts {
		t.Errorf("%d expressions of %d alerts", alerts, strings.Count(string(rules), "- alert: "))
	}
	// What wakes somebody up must not be forgotten.
	for _, name := range []string{
		"mirrord_ready", "mirrord_config_ok", "mirrord_disk_free_bytes", "mirrord_messages_untold_total",
		"mirrord_job_ok", "mirrord_job_suspicious", "mirrord_job_stale",
	} {
		if !used[name] {
			t.Errorf("no alert uses %s", name)
		}
	}
}
