// SPDX-License-Identifier: Apache-2.0

package env_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/scheduler/status"
	"mirrord/testing/apptest"
)

// A command that reads a mirror which has moved to another node says so, if that node has a later version.
func TestNewerElsewhere(t *testing.T) {
	a, run, _ := apptest.MirroredToFind(t, "all")
	run()
	dir := apptest.StateOf(t, a)
	names, err := os.ReadDir(filepath.Join(dir, "sites"))
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	name := names[0].Name()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	said := status.Job{
		Name:    name,
		Node:    "north",
		Version: 7,
		AsOf:    &now,
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/jobs/"+name {
			t.Errorf("%s", r.URL)
		}
		_ = json.NewEncoder(w).Encode(said)
	})}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	lock, err := env.TakeState(dir, env.Owner{PID: os.Getpid(), Socket: socket}, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if got := env.NewerElsewhere(t.Context(), a, name); got != "" {
		t.Errorf("of a machine that is no node: %s", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, env.ElsewhereFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := env.NewerElsewhere(t.Context(), a, name); !strings.Contains(got, "node north has version 7") {
		t.Errorf("%q", got)
	}
	said.Version = 1
	if got := env.NewerElsewhere(t.Context(), a, name); got != "" {
		t.Errorf("of the same version: %s", got)
	}
	said.Version, said.AsOf = 7, nil
	if got := env.NewerElsewhere(t.Context(), a, name); got != "" {
		t.Errorf("of a job of this node: %s", got)
	}
	if got := env.NewerElsewhere(t.Context(), a, "nosuch"); got != "" {
		t.Errorf("of no mirror: %s", got)
	}
}
