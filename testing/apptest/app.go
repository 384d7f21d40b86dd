// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"mirrord/app/env"
)

// TestApp is an App on a state, without an environment.
func TestApp(state string) *env.App {
	return &env.App{
		State:     func() (string, error) { return state, nil },
		Log:       slog.New(slog.DiscardHandler),
		LookupEnv: func(string) (string, bool) { return "", false },
	}
}

// Put writes a file.
func Put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// StateOf is the directory of the mirrors.
func StateOf(t *testing.T, a *env.App) string {
	t.Helper()
	dir, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// BareApp is an App on a directory of job files and a state, without an environment.
func BareApp(jobs, state string) *env.App {
	a := TestApp(state)
	a.Jobs = jobs
	return a
}
