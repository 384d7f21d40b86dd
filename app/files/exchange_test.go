// SPDX-License-Identifier: Apache-2.0

package files

import (
	"os"
	"path/filepath"
	"testing"
)

// What stood at the place of a mirror is exchanged with it, also where the file system cannot do so in one
// step.
func TestExchange(t *testing.T) {
	for name, swap := range map[string]func(a, b string) error{"at once": exchange, "slowly": exchangeSlowly} {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		for _, d := range []string{a, b} {
			if err := os.MkdirAll(filepath.Join(d, "of-"+filepath.Base(d)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := swap(a, b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range []string{filepath.Join(a, "of-b"), filepath.Join(b, "of-a")} {
			if _, err := os.Stat(want); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := swap(a, filepath.Join(dir, "missing")); err == nil {
			t.Errorf("%s: exchange with nothing succeeds", name)
		}
	}
}
