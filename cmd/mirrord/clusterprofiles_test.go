// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mirrord/testing/poll"
)

// TestClusterProfilesTravel has two nodes. The profiles beside the job files of the source are the other's,
// too, which mirrors by them; a broken one it leaves out with a line.
func TestClusterProfilesTravel(t *testing.T) {
	long(t, "half a minute")
	var mu sync.Mutex
	asked := map[string]int{}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.RequestURI()]++
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<meta name=generator content='OurWiki 1'><a href=/a>a</a> <a href='/a?form'>edit</a>")
	}))
	defer site.Close()
	dir, keeper := t.TempDir(), unusedAddress(t)
	start := func(node string, args ...string) {
		top := filepath.Join(dir, node)
		cmd := exec.Command("mirrord", append([]string{
			"daemon", "--jobs", filepath.Join(top, "jobs.d"), "--state", filepath.Join(top, "state"), "--poll", "1s",
			"--spread", "0", "--node", node,
		}, args...)...)
		var log strings.Builder
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Signal(os.Interrupt)
			if err := cmd.Wait(); err != nil || t.Failed() {
				t.Errorf("%s: %v\n%s", node, err, &log)
			}
			if node == "b" && !strings.Contains(log.String(), "profile typo: lefts is not known here") {
				t.Errorf("the broken profile is not named:\n%s", &log)
			}
		})
	}
	for _, of := range []string{"jobs.d", "profiles.d"} {
		if err := os.MkdirAll(filepath.Join(dir, "a", of), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "a/profiles.d"), "ourwiki.toml", "generator = ['OurWiki']\nleft = ['?form']\n")
	put(t, filepath.Join(dir, "a/profiles.d"), "typo.toml", "lefts = ['?form']\n")
	start("a", "--keeper", keeper, "--jobs-source")
	start("b", "--cluster", "nats://"+keeper)
	poll.Until(t, "the source mirrors nothing", func() bool {
		cmd := exec.Command("mirrord", "cluster", "drain", "a", "--cluster", "nats://"+keeper)
		return cmd.Run() == nil
	})
	jobs := filepath.Join(dir, "a/jobs.d")
	put(t, jobs, "x.toml", fmt.Sprintf("url = %q\nprofile = 'ourwiki'\n", site.URL+"/"))
	poll.Until(t, "a mirror made by the other node", func() bool {
		cmd := exec.Command("mirrord", "run-now", "x", "--jobs", filepath.Join(dir, "b/jobs.d"), "--state",
			filepath.Join(dir, "b/state"))
		_ = cmd.Run() // the job is not there yet
		_, err := os.Stat(filepath.Join(dir, "b/state/sites/x/current/index.html"))
		return err == nil
	})
	mu.Lock()
	defer mu.Unlock()
	if asked["/a"] == 0 || asked["/a?form"] > 0 {
		t.Errorf("requests: %v", asked)
	}
}
