// SPDX-License-Identifier: Apache-2.0

package shared_test

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"mirrord/store/home"
	"mirrord/store/shared"
	"mirrord/testing/storetest"
)

func TestStateFacts(t *testing.T) {
	storetest.TestFacts(t, func(t *testing.T) (storetest.SharedFacts, func(*testing.T) storetest.SharedFacts) {
		dir := t.TempDir()
		open := func(t *testing.T) storetest.SharedFacts { return open(t, dir) }
		return open(t), open
	})
}

func TestMemoryFacts(t *testing.T) {
	storetest.TestFacts(t, func(*testing.T) (storetest.SharedFacts, func(*testing.T) storetest.SharedFacts) {
		f := new(storetest.Facts)
		return f, func(*testing.T) storetest.SharedFacts { return f }
	})
}

func TestStateShared(t *testing.T) {
	storetest.TestShared(t, func(t *testing.T) (shared.KeyValues, func(*testing.T) shared.KeyValues) {
		dir := t.TempDir()
		open := func(t *testing.T) shared.KeyValues { return open(t, dir) }
		return open(t), open
	})
}

// open is the database of a state in a folder, as another process opens it.
func open(t *testing.T, dir string) *shared.Database {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = root.MkdirAll("sites", 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return shared.Open(&home.StateFolder{
		Dir:      dir,
		Root:     root,
		Volatile: true,
		Now:      time.Now,
	}, slog.New(slog.DiscardHandler))
}
