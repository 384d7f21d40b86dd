// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
)

// TestDaemonKilled kills the daemon again and again while it mirrors several sites: all end complete and as
// an undisturbed run would have left them. With MIRRORD_KILL_FOR=2m there are ten sites, and kills every two
// to five seconds for that long; otherwise five, and a kill after every 150 requests, four times.
func TestDaemonKilled(t *testing.T) {
	t.Parallel()
	long, _ := time.ParseDuration(os.Getenv("MIRRORD_KILL_FOR"))
	sites := 3
	if long > 0 {
		sites = 10
	}
	var asked atomic.Int64
	next := make(chan struct{}, 1) // a token: a hundred requests have come
	slow := atomic.Bool{}
	slow.Store(long > 0)
	handler := func() http.Handler {
		h := demosite.New()
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slow.Load() {
				select {
				case <-time.After(1500 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
			if asked.Add(1)%100 == 0 {
				select {
				case next <- struct{}{}:
				default:
				}
			}
			h.ServeHTTP(w, r)
		})
	}
	jobs, state, quiet := t.TempDir(), t.TempDir(), t.TempDir()
	var names []string
	for i := range sites {
		srv := httptest.NewServer(handler())
		defer srv.Close()
		name := fmt.Sprintf("site%d", i)
		put(t, jobs, name+".toml",
			fmt.Sprintf(
				"url = %q\nschedule = \"@every 24h\"\n[polite]\ndelay = \"0s\"\nfactor = 0.0\nconnections = 4\n",
				srv.URL+"/"))
		names = append(names, name)
	}
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "n")
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	start := func(env ...string) *exec.Cmd {
		cmd := exec.Command("mirrord", "daemon", "--jobs", jobs, "--state", state, "--spread", "0",
			"--max-runs", "10")
		cmd.Stderr, cmd.Env = &log, append(os.Environ(), env...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	kills := 0
	for began := time.Now(); (long > 0 && time.Since(began) < long) || (long == 0 && kills < 3); kills++ {
		cmd := start()
		if long > 0 {
			<-time.After(2*time.Second + time.Duration(rand.Int64N(int64(3*time.Second))))
		} else {
			<-next
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
	}
	before := asked.Load()
	slow.Store(false)
	cmd := start("NOTIFY_SOCKET=" + path)
	defer cmd.Wait()
	defer cmd.Process.Kill()
	(&testDaemon{t: t, told: told}).hear("READY=1")
	common := []string{"--jobs", jobs, "--state", state}
	for _, name := range names {
		out, err := exec.Command("mirrord", append([]string{"run-now", name}, common...)...).CombinedOutput()
		if err != nil ||
			(!bytes.Contains(out, []byte(": complete, ")) && !bytes.Contains(out, []byte(": no change found; "))) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the daemon ends with %v", err)
	}
	if !strings.Contains(log.String(), "why=resume") {
		t.Error("nothing was resumed")
	}
	t.Logf("%d kills, %d requests before the last start, %d after", kills, before, asked.Load()-before)
	if most := int64(sites * 300 * 2); asked.Load() > most && long == 0 {
		t.Errorf("%d requests, more than %d", asked.Load(), most)
	}
	for _, name := range names {
		if code, out, errs := runArgs(t, nil, append([]string{"verify", name}, common...)...); code != cli.ExitOK {
			t.Errorf("%s: %s%s", name, out, errs)
		}
	}
	for _, name := range names {
		if code, out, errs := runArgs(t, nil, "run-now", name, "--jobs", jobs, "--state",
			quiet); code != cli.ExitOK {
			t.Fatalf("%s: %s%s", name, out, errs)
		}
		got, want := treeOf(t, filepath.Join(state, "sites", name, "current")),
			treeOf(t, filepath.Join(quiet, "sites", name, "current"))
		if len(got) != len(want) || len(want) < 100 {
			t.Errorf("%s: %d files, want %d", name, len(got), len(want))
		}
		for p, data := range want {
			if got[p] != data {
				t.Errorf("%s: %s differs from an undisturbed run", name, p)
			}
		}
	}
}

// treeOf reads a mirror, but for what says when it was made.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || p == "phm.json" {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, p))
		out[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
