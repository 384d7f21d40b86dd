// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

const metricsPage = "../../docs/metrics.md"

// docs/metrics.md lists the metrics that the daemon writes, with their help.
func TestMetricsPage(t *testing.T) {
	var text bytes.Buffer
	if err := WriteMetrics(&text, All{}); err != nil {
		t.Fatal(err)
	}
	want := "# Metrics\n\n" +
		"Made from the code by `MIRRORD_UPDATE=1 go test ./scheduler/status -run MetricsPage`. " +
		"`/metrics` of `mirrord daemon --listen` and of the control socket writes them; " +
		"[monitoring.md](monitoring.md) says how to read them.\n\n| metric | kind | is |\n| --- | --- | --- |\n"
	families, help := 0, ""
	for line := range strings.Lines(text.String()) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(words) < 4 || words[0] != "#" {
			continue
		}
		if words[1] == "HELP" {
			help = words[3]
			continue
		}
		families++
		want += "| `" + words[2] + "` | " + words[3] + " | " + strings.ReplaceAll(help, "|", "\\|") + " |\n"
	}
	if families < 30 {
		t.Fatalf("%d metrics", families)
	}
	if os.Getenv("MIRRORD_UPDATE") != "" {
		if err := os.WriteFile(metricsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(metricsPage); err != nil || string(got) != want {
		t.Errorf("%s is not as the code has it (%v): MIRRORD_UPDATE=1 go test ./scheduler/status -run MetricsPage",
			metricsPage, err)
	}
}
