// SPDX-License-Identifier: Apache-2.0

// Package poll waits in tests for what comes about by itself, outside of bubbles of synctest.
package poll

import (
	"testing"
	"time"
)

// patience is longer than anything takes on a busy machine.
const patience = 5 * time.Minute

// Until waits until ok holds, and fails the test when it does not.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	pause := time.Millisecond
	for end := time.Now().Add(patience); !ok(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("it does not come: %s", what)
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}
