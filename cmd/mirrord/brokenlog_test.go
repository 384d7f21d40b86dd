// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/internal/demosite"
)

// A daemon and a server outlive the reader of their standard output and error, as when "| logger" ends or
// journald is restarted: they work, and end cleanly when they are told to.
func TestBrokenLog(t *testing.T) {
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state := t.TempDir(), t.TempDir()
	put(t, jobs, "site.toml", fmt.Sprintf("url = %q\n[polite]\ndelay = \"0s\"\nfactor = 0.0\n", srv.URL+"/"))
	common := []string{"--jobs", jobs, "--state", state}
	runNow := func() {
		t.Helper()
		args := append([]string{"run-now", "site", "--full"}, common...)
		out, err := exec.Command("mirrord", args...).CombinedOutput()
		if err != nil {
			t.Errorf("run-now: %v: %s", err, out)
		}
	}
	runNow()
	for _, command := range [][]string{
		{"daemon", "--spread", "0", "--stop-within", "5s", "--listen"},
		{"serve", "--listen"},
	} {
		t.Run(command[0], func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r.Close() // nobody reads
			at := unusedAddress(t)
			cmd := exec.Command("mirrord", append(append(command, at), common...)...)
			cmd.Stdout, cmd.Stderr = w, w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			defer cmd.Process.Kill()
			answers(t, "http://"+at+"/")
			runNow() // the daemon logs it
			answers(t, "http://"+at+"/")
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// unusedAddress returns an address of this machine at which no server listens.
func unusedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// answers waits, for a minute at most, until a server answers.
func answers(t *testing.T, url string) {
	t.Helper()
	until := time.After(time.Minute)
	for {
		res, err := http.Get(url)
		if err == nil {
			res.Body.Close()
			return
		}
		select {
		case <-until:
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A list of which the reader has had enough ends without a message.
func TestBrokenOutput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	cmd := exec.Command("mirrord", "status", "--json", "--jobs", t.TempDir(), "--state", t.TempDir())
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = w, &said
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitBroken || said.String() != "" {
		t.Errorf("%v: %q", err, said.String())
	}
}
