// SPDX-License-Identifier: Apache-2.0

package living

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What people reported of other programs, rebuilt on loopback by scripts beside the checkout, does not befall
// this one. Each script ends with 0 and PASS, with 1 and FAIL, or says SKIP where it needs root.
func TestReports(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it runs some forty scripts: MIRRORD_LONG=1 runs it")
	}
	scripts, err := filepath.Glob("../../../shared/reports/*/[0-9]*.py")
	if err != nil || len(scripts) == 0 {
		t.Skipf("the reports are not beside the checkout: ../shared/reports/*/*.py (%v)", err)
	}
	bin := binary(t)
	for _, dir := range []string{filepath.Dir(bin), filepath.Dir(filepath.Dir(bin))} {
		if err := os.Chmod(dir, 0o755); err != nil { // some scripts run it as another user
			t.Fatal(err)
		}
	}
	for _, script := range scripts {
		name := filepath.Base(filepath.Dir(script)) + "/" + strings.TrimSuffix(filepath.Base(script), ".py")
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "python3", script, bin)
			out, err := cmd.CombinedOutput()
			switch said := string(out); {
			case err != nil:
				t.Errorf("%v: %s", err, said)
			case strings.Contains(said, "SKIP"):
				t.Skip(said)
			case !strings.Contains(said, "PASS"):
				t.Errorf("it says neither PASS nor FAIL: %s", said)
			}
		})
	}
}
