// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rates are what a number of daemons did in a time.
type rates struct {
	runs, requests int
	within         time.Duration
	cpu            time.Duration // of all daemons, in all
}

// TestClusterRates measures what several nodes do in a time, beside one and beside a daemon without a
// cluster, while politeness and the number of runs at a time are what limits them. It judges only that no
// host is requested by two nodes; the figures are for readers of the log.
func TestClusterRates(t *testing.T) {
	long(t, "seven minutes")
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
	w := newClusterWorld(t, 60, 1, "")
	for i := range w.sites {
		name := fmt.Sprintf("s%d.toml", i)
		text, err := os.ReadFile(filepath.Join(w.dir, "jobs", name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(w.dir, "jobs"), name, strings.Replace(string(text), "300ms", "2s", 1))
	}
	names := strings.Split("abcd"[:max(nodes, 1)], "")
	for _, name := range names {
		w.args[name] = append(w.args[name], "--max-runs", "1", "--max-parked", fmt.Sprint(ratesSlots-1))
	}
	if nodes == 0 {
		w.alone("a")
	} else {
		w.start(names...)
	}
	for began := time.Now(); len(w.runs()) < len(names)*(ratesSlots+1); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 3*time.Minute {
			t.Fatalf("%d of %d sites were begun", len(w.runs()), w.sites)
		}
	}
	requests, runs, began := w.all(), w.begun(), time.Now()
	time.Sleep(time.Minute) // requests are counted over this time
	r.requests, r.runs, r.within = w.all()-requests, w.begun()-runs, time.Since(began)
	for _, d := range w.doubles() {
		t.Error("two machines request a host:", d)
	}
	running := maps.Clone(w.running)
	w.stop(names...)
	for _, cmd := range running {
		r.cpu += cmd.ProcessState.SystemTime() + cmd.ProcessState.UserTime()
	}
	return r
}

// alone starts a daemon without a cluster.
func (w *clusterWorld) alone(name string) {
	cmd := exec.Command("mirrord", "daemon", "--jobs", filepath.Join(w.dir, "jobs"), "--state",
		filepath.Join(w.dir, name), "--spread", "0", "--node", name, "--max-runs", "1", "--max-parked",
		fmt.Sprint(ratesSlots-1))
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.running[name] = cmd
}

// begun returns how many runs have begun.
func (v *visits) begun() (n int) {
	for _, count := range v.runs() {
		n += count
	}
	return n
}

// all returns how many requests there were.
func (v *visits) all() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.requests
}
