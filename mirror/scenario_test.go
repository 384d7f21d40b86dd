// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/testing/mirrortest"
)

var update = flag.Bool("update", false, "rewrite the wanted results in testdata")

// TestScenarios plays the text archives of testdata: see mirrortest.Scenario.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			mirrortest.Load(t, f).Play(t, *update)
		})
	}
}
