// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/scheduler/status"
)

// Commands that read what a mirror left on this machine say that another node has a later version, with any
// result.
func TestReadsWhatWasLeft(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "<title>left</title>")
	}))
	defer site.Close()
	state := t.TempDir()
	mirrord := func(args ...string) (code int, errs string) {
		t.Helper()
		var out, said bytes.Buffer
		e := environment()
		e.Stdout, e.Stderr, e.Table = &out, &said, nil
		e.LookupEnv = func(string) (string, bool) { return "", false }
		code = run(t.Context(), e, append(args, "--state", state))
		return code, said.String()
	}
	if code, errs := mirrord("get", site.URL+"/", "--set", "polite.delay=0s"); code != cli.ExitOK {
		t.Fatalf("%d, %s", code, errs)
	}
	names, err := os.ReadDir(filepath.Join(state, "sites"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	name := names[0].Name()
	if err := os.MkdirAll(filepath.Join(state, "replicas-elsewhere"), 0o755); err != nil { // of a node
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		j := status.Job{Name: name, Node: "north"}
		j.Version, j.AsOf = 7, &now
		_ = json.NewEncoder(w).Encode(j)
	})}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	lock, err := env.TakeState(state, env.Owner{PID: os.Getpid(), Socket: socket}, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	const note = "with version 1; node north has version 7"
	for command, want := range map[string]int{
		"status --versions": cli.ExitOK,
		"versions":          cli.ExitOK,
		"diff":              cli.ExitError,
	} {
		code, errs := mirrord(append(strings.Fields(command), name)...)
		if code != want || strings.Count(errs, note) != 1 {
			t.Errorf("%s: %d, %s", command, code, errs)
		}
	}
	if code, errs := mirrord("versions", "nosuch"); code == cli.ExitOK || strings.Contains(errs, note) {
		t.Errorf("%d, %s", code, errs)
	}
}
