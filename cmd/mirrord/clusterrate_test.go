// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"bytes"
	"fmt"
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
)

// rates are what a number of daemons did in a time.
type rates struct {
	runs, requests int64
	within         time.Duration
	cpu            time.Duration // of all daemons, in all
}

// TestClusterRates measures what several nodes do in a time, beside one and beside a daemon without a
// cluster, while politeness and the number of runs at a time are what limits them. It judges only that no
// host is requested by two nodes; the figures are for whoever reads them.
func TestClusterRates(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it takes five minutes: set MIRRORD_LONG=1")
	}
	alone := rateOf(t, 0)
	t.Logf("a daemon by itself: %v", alone)
	var one rates
	for _, n := range []int{1, 2, 4} {
		r := rateOf(t, n)
		if n == 1 {
			one = r
			t.Logf("a cluster of one: %.3f of the requests of the daemon, %+.0f ms a run",
				r.perSecond()/alone.perSecond(), 1000*(r.runTakes(1)-alone.runTakes(1)))
		}
		t.Logf("%d nodes: %v; %.3f of %d times one", n, r, r.perSecond()/one.perSecond()/float64(n), n)
	}
}

// ratesSlots are the runs at a time of each daemon, of which one works and the others wait for their hosts.
const ratesSlots = 4

func (r rates) perSecond() float64 { return float64(r.requests) / r.within.Seconds() }

// runTakes is how many seconds of a slot a run takes.
func (r rates) runTakes(nodes int) float64 {
	return float64(nodes*ratesSlots) * r.within.Seconds() / float64(r.runs)
}

func (r rates) String() string {
	return fmt.Sprintf("%d runs, %d requests in %v: %.2f requests a second; %v of processor time in all",
		r.runs, r.requests, r.within.Round(time.Millisecond), r.perSecond(), r.cpu.Round(10*time.Millisecond))
}

// rateOf lets nodes mirror 60 sites again and again, each for about half a minute, so that there is always a
// run that waits; 0 nodes are one daemon without a cluster.
func rateOf(t *testing.T, nodes int) (r rates) {
	const sites = 60
	dir := t.TempDir()
	var requests, runs atomic.Int64
	seen := &visits{last: map[string]visit{}, count: map[string]int{}}
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requests.Add(1)
		if req.URL.Path == "/" {
			runs.Add(1)
		}
		seen.ServeHTTP(w, req)
	})
	put(t, dir, "secret", "0123456789abcdef0123")
	count := max(nodes, 1)
	for i := range sites {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.1.%d:0", 1+i))
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(handler)
		srv.Listener.Close()
		srv.Listener = l
		srv.Start()
		defer srv.Close()
		for n := range count {
			jobs := filepath.Join(dir, fmt.Sprintf("jobs-%d", n))
			if err := os.MkdirAll(jobs, 0o755); err != nil {
				t.Fatal(err)
			}
			put(t, jobs, fmt.Sprintf("s%d.toml", i), fmt.Sprintf("url = \"http://%s/\"\nschedule = \"@every 1m\"\n"+
				"[polite]\nuser_agent = \"n%d/1\"\ndelay = \"2s\"\n", l.Addr(), n))
		}
	}
	keeper := loopback(t)
	var daemons []*exec.Cmd
	logs := make([]bytes.Buffer, count)
	for n := range count {
		args := []string{"daemon", "--jobs", filepath.Join(dir, fmt.Sprintf("jobs-%d", n)), "--state",
			filepath.Join(dir, fmt.Sprintf("state-%d", n)), "--spread", "0", "--max-runs", "1",
			"--max-parked", fmt.Sprint(ratesSlots - 1)}
		if nodes > 0 {
			args = append(args, "--node", fmt.Sprintf("n%d", n), "--cluster", "nats://"+keeper,
				"--cluster-secret", filepath.Join(dir, "secret"),
				"--depot", "file://"+filepath.Join(dir, "depot"))
			if n == 0 {
				args = append(args, "--keeper", keeper)
			}
		}
		cmd := exec.Command("mirrord", args...)
		cmd.Stderr = &logs[n]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		daemons = append(daemons, cmd)
	}
	defer func() {
		for _, cmd := range daemons {
			cmd.Process.Signal(syscall.SIGTERM)
		}
		for n, cmd := range daemons {
			if err := cmd.Wait(); err != nil {
				t.Errorf("node %d: %v\n%s", n, err, logs[n].String())
			}
			r.cpu += cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime()
		}
	}()
	for began := time.Now(); len(seen.runs()) < count*(ratesSlots+1); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 3*time.Minute {
			t.Fatalf("%d of %d sites were begun\n%s", len(seen.runs()), sites, logs[0].String())
		}
	}
	before, beforeRuns, began := requests.Load(), runs.Load(), time.Now()
	time.Sleep(time.Minute)
	r.requests, r.runs, r.within = requests.Load()-before, runs.Load()-beforeRuns, time.Since(began)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.double) > 0 {
		t.Errorf("hosts requested by two nodes:\n%s", strings.Join(seen.double, "\n"))
	}
	return r
}
