// SPDX-License-Identifier: Apache-2.0

package replicatest

import (
	"os"
	"path/filepath"
	"testing"
)

// DataDir finds the data of the research beside the repository; "" when it is not there, which is said.
func DataDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for {
		p := filepath.Join(dir, "shared", "data")
		if _, err := os.Stat(filepath.Join(p, "replica-golden.json")); err == nil {
			return p
		}
		next := filepath.Dir(dir)
		if next == dir {
			t.Log("shared/data with replica-golden.json is not above this directory: what it holds is not compared")
			return ""
		}
		dir = next
	}
}
