// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// metricsHave returns the labels of each metric of a daemon with a job.
func metricsHave(t *testing.T) map[string]map[string]bool {
	t.Helper()
	var b bytes.Buffer
	now := time.Now()
	job := Job{
		Name:     "docs",
		Verified: &now,
		Next:     &now,
		LastRun:  &now,
		Complete: &now,
		Scrub:    &Scrub{Last: &now, Whole: &now},
		Last:     &Run{Spared: map[string]int64{"sitemap": 1}},
	}
	if err := WriteMetrics(&b, All{Jobs: []Job{job}}); err != nil {
		t.Fatal(err)
	}
	have := map[string]map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(mirrord_\w+)(?:\{([^}]*)\})? `).FindAllStringSubmatch(
		b.String(), -1) {
		have[m[1]] = map[string]bool{}
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			have[m[1]][l[1]] = true
		}
	}
	return have
}

// Alerts are made of metrics that exist: a metric that is renamed would silence its alert for ever.
func TestAlertRules(t *testing.T) {
	rules, err := os.ReadFile("../../packaging/prometheus-rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	have := metricsHave(t)
	alerts, used := 0, map[string]bool{}
	for line := range strings.Lines(string(rules)) {
		expr, ok := strings.CutPrefix(strings.TrimSpace(line), "expr: ")
		if !ok {
			continue
		}
		alerts++
		for _, name := range regexp.MustCompile(`mirrord_\w+`).FindAllString(expr, -1) {
			used[name] = true
			if have[name] == nil {
				t.Errorf("%s: there is no metric %s", expr, name)
			}
		}
	}
	if alerts < 8 || strings.Count(string(rules), "- alert: ") != alerts {
		t.Errorf("%d expressions of %d alerts", alerts, strings.Count(string(rules), "- alert: "))
	}
	// A message that wakes an operator must not be forgotten.
	for _, name := range []string{
		"mirrord_ready", "mirrord_config_ok", "mirrord_disk_free_bytes", "mirrord_messages_untold_total",
		"mirrord_job_ok", "mirrord_job_suspicious", "mirrord_job_stale",
	} {
		if !used[name] {
			t.Errorf("no alert uses %s", name)
		}
	}
}

// Each expression of the dashboard names one metric that exists, and only labels that it has, or that
// Prometheus adds to it.
func TestDashboard(t *testing.T) {
	data, err := os.ReadFile("../../packaging/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating  struct{ List []struct{ Definition string } }
		Annotations struct {
			List []struct{ Expr, TextFormat string }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	have := metricsHave(t)
	used := map[string]bool{}
	check := func(where, expr, legend string) {
		t.Helper()
		names := regexp.MustCompile(`mirrord_\w+`).FindAllString(expr, -1)
		if len(names) != 1 || have[names[0]] == nil {
			t.Errorf("%s: %q has the metrics %q", where, expr, names)
			return
		}
		used[names[0]] = true
		for _, pair := range []string{"()", "{}", "[]"} {
			if strings.Count(expr, pair[:1]) != strings.Count(expr, pair[1:]) {
				t.Errorf("%s: %q is not closed", where, expr)
			}
		}
		labels := regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(legend, -1)
		labels = append(labels, regexp.MustCompile(` by \((\w+)\)`).FindAllStringSubmatch(expr, -1)...)
		labels = append(labels, regexp.MustCompile(`[{,](\w+)=`).FindAllStringSubmatch(expr, -1)...)
		for _, l := range labels {
			made := l[1] == "mirror" && strings.Contains(expr, "label_replace")
			if l[1] != "instance" && !made && !have[names[0]][l[1]] {
				t.Errorf("%s: %s has no label %s", where, names[0], l[1])
			}
		}
	}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || (p.Type != "row" && len(p.Targets) == 0) {
			t.Errorf("panel %d, %s: its number is another's, or it shows nothing", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, x := range p.Targets {
			check(p.Title, x.Expr, x.LegendFormat)
		}
	}
	for _, v := range board.Templating.List {
		check("variables", v.Definition, "")
	}
	for _, x := range board.Annotations.List {
		check("annotations", x.Expr, x.TextFormat)
	}
	for name := range have {
		switch name {
		case "mirrord_config_read_time_seconds", "mirrord_runs_running", "mirrord_job_refused", "mirrord_job_turn",
			"mirrord_job_running", "mirrord_job_paused", "mirrord_job_version", "mirrord_job_last_run_time_seconds",
			"mirrord_job_last_complete_time_seconds", "mirrord_job_scrub_time_seconds", "mirrord_job_scrub_healed":
		default:
			if !used[name] {
				t.Errorf("no panel shows %s", name)
			}
		}
	}
}
