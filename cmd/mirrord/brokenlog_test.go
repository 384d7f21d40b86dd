// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/internal/demosite"
)

// A daemon and a server outlive the reader of their standard output and error, as when "| logger" ends or
// journald is restarted: they work, and end cleanly on a signal.
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
			r.Close() // no reader
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

// The log continues with the next reader of a named pipe: what was logged without one is lost, and nothing
// else.
func TestLogGoesOn(t *testing.T) {
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state := t.TempDir(), t.TempDir()
	put(t, jobs, "site.toml", fmt.Sprintf("url = %q\n[polite]\ndelay = \"0s\"\nfactor = 0.0\n", srv.URL+"/"))
	common := []string{"--jobs", jobs, "--state", state}
	pipe := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader := func() *os.File {
		r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := reader()
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"daemon", "--spread", "0", "--stop-within", "5s"}, common...)
	cmd := exec.Command("mirrord", args...)
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	w.Close()
	hears := func(r *os.File, word string) string {
		t.Helper()
		r.SetReadDeadline(time.Now().Add(time.Minute))
		var said strings.Builder
		buf := make([]byte, 4096)
		for !strings.Contains(said.String(), word) {
			n, err := r.Read(buf)
			if said.Write(buf[:n]); err != nil {
				t.Fatalf("%v, log: %q", err, said.String())
			}
		}
		return said.String()
	}
	run := func() {
		t.Helper()
		args := append([]string{"run-now", "site", "--full"}, common...)
		out, err := exec.Command("mirrord", args...).CombinedOutput()
		if err != nil {
			t.Errorf("run-now: %v: %s", err, out)
		}
	}
	hears(first, "daemon started")
	first.Close()
	run() // without a listener
	second := reader()
	defer second.Close()
	run()
	if said := hears(second, "run ended"); strings.Contains(said, "version=1") {
		t.Errorf("of the run before: %q", said)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
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

// A command of which the reader has had enough ends without a message.
func TestBrokenOutput(t *testing.T) {
	for _, command := range [][]string{{"status", "--json"}, {"status"}, {"help"}, {"check"}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := exec.Command("mirrord", append(command, "--jobs", t.TempDir(), "--state", t.TempDir())...)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = w, &said
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitBroken || said.String() != "" {
			t.Errorf("%s: %v: %q", command, err, said.String())
		}
		w.Close()
	}
}
