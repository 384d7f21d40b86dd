// SPDX-License-Identifier: Apache-2.0

package depots

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/testing/storetest"
)

// One node at a time collects a depot when the last collection by any node is long ago, and reports it.
func TestDepotCollector(t *testing.T) {
	dir := t.TempDir()
	s, err := objects.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	d, err := depot.Open(t.Context(), depot.Options{
		Store:  s,
		Create: true,
		Epoch:  time.Nanosecond,
		Now:    func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string) {
		t.Helper()
		if _, err := s.Put(t.Context(), name, objects.Bytes([]byte("x")), objects.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	put("data/gone/1")
	var log bytes.Buffer
	owner := new(storetest.Owner)
	node := func() *DepotCollector {
		return &DepotCollector{
			Depot: d,
			Owner: owner,
			Every: time.Hour,
			Log:   slog.New(slog.NewTextHandler(&log, nil)),
		}
	}
	look := func(step string, want string) {
		t.Helper()
		log.Reset()
		if err := node().Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if said := log.String(); (want == "") != (said == "") || !strings.Contains(said, want) ||
			strings.Count(said, "\n") > 1 {
			t.Errorf("%s: it says %q, want %q", step, said, want)
		}
	}
	look("first", "removed=0 freed=0 unused=1")
	look("too early", "")
	now = now.Add(2 * time.Hour)
	held, err := owner.Acquire(depotLease)
	if err != nil {
		t.Fatal(err)
	}
	look("another node collects", "")
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	before := now.Add(-3 * time.Hour) // the clock of files may stand still for some milliseconds
	if err := os.Chtimes(filepath.Join(dir, "collected"), before, before); err != nil {
		t.Fatal(err)
	}
	look("due", "removed=1 freed=1 unused=0")
	now = now.Add(2 * time.Hour)
	put("epoch.json") // damaged
	if err := node().Look(t.Context()); err == nil {
		t.Error("a damaged epoch is no error")
	}
	if l, err := owner.Acquire(depotLease); err != nil {
		t.Errorf("the lease was not given back: %v", err)
	} else if err := l.Release(); err != nil {
		t.Error(err)
	}
	never := node()
	never.Every = 0
	never.Follow(t.Context()) // returns
}
