// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/daemon"
	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
	"mirrord/store"
)

// Once a day what nothing refers to is freed; what runs is left for later.
func TestDaemonTidies(t *testing.T) {
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state := jobsFor(t, srv.URL+"/about/"), t.TempDir()
	d := &testDaemon{t: t, jobs: jobs, state: state}
	d.do(cli.ExitOK, "complete", "run-now", "demo")
	orphan := filepath.Join(state, "blobs", "ab", "ab"+strings.Repeat("0", 62))
	if err := os.MkdirAll(filepath.Dir(orphan), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Dir(orphan), filepath.Base(orphan), "orphan")
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var out bytes.Buffer
	busy := map[string]bool{"demo": true}
	a := &env.App{
		State:     func() (string, error) { return state, nil },
		Jobs:      jobs,
		LookupEnv: vars(),
		Log:       slog.New(slog.NewTextHandler(&out, nil)),
	}
	if daemon.TidyUp(t.Context(), a, st, func() map[string]bool { return busy }) {
		t.Error("done while a run is under way")
	}
	if _, err := os.Stat(orphan); err != nil {
		t.Errorf("collected while a run is under way: %v", err)
	}
	busy = nil
	if !daemon.TidyUp(t.Context(), a, st, func() map[string]bool {
		return busy
	}) || !strings.Contains(out.String(), `msg="tidied up" blobs=`) {
		t.Errorf("log: %s", out.String())
	}
	if _, err := os.Stat(orphan); err == nil {
		t.Error("what nothing refers to is still there")
	}
	d.do(cli.ExitOK, "all is well", "verify", "demo")
}
