// SPDX-License-Identifier: Apache-2.0

package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// testApp is an App on a state, without an environment.
func testApp(state string) *App {
	return &App{
		State:     func() (string, error) { return state, nil },
		Log:       slog.New(slog.DiscardHandler),
		LookupEnv: func(string) (string, bool) { return "", false },
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
