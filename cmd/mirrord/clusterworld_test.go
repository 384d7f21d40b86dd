// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/cluster/engine"
)

// clusterWorld is a cluster of real processes that mirror small sites, and what watches them.
type clusterWorld struct {
	*visits
	*commits
	t       *testing.T
	dir     string
	sites   int
	depot   string
	secret  string
	servers string              // of the keepers, as nodes get them by default
	clients map[string]string   // where a keeper serves nodes
	at      map[string]string   // what one gets instead of servers
	args    map[string][]string // of a node, behind those of all
	env     []string
	more    map[string][]string // of env, for a node
	program map[string]string   // of a node; default: mirrord
	running map[string]*exec.Cmd
	began   time.Time
}

// long skips a test in the short run. In the long one it runs beside others.
func long(t *testing.T, takes string) {
	t.Helper()
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it takes " + takes + ": set MIRRORD_LONG=1")
	}
	t.Parallel()
}

// newClusterWorld makes what a cluster needs: its keepers are the first nodes that are named.
func newClusterWorld(t *testing.T, sites, keepers int, depotAddress string, env ...string) *clusterWorld {
	t.Helper()
	dir := t.TempDir()
	w := &clusterWorld{
		t:       t,
		dir:     dir,
		sites:   sites,
		depot:   depotAddress,
		secret:  filepath.Join(dir, "secret"),
		clients: map[string]string{},
		at:      map[string]string{},
		args:    map[string][]string{},
		env:     env,
		more:    map[string][]string{},
		program: map[string]string{},
		running: map[string]*exec.Cmd{},
		began:   time.Now(),
	}
	put(t, dir, "secret", "0123456789abcdef0123")
	if w.depot == "" {
		w.depot = "file://" + filepath.Join(dir, "depot")
	}
	w.visits = serveSites(t, filepath.Join(dir, "jobs"), sites)
	w.commits = watchCommits(t, w.depot, w.lookup)
	w.keepers("abcde"[:keepers])
	t.Cleanup(w.end)
	return w
}

// lookup reads the environment of the processes.
func (w *clusterWorld) lookup(name string) (string, bool) {
	for _, e := range w.env {
		if k, v, _ := strings.Cut(e, "="); k == name {
			return v, true
		}
	}
	return os.LookupEnv(name)
}

// keepers gives the nodes of some names, of a letter each, what makes them keepers.
func (w *clusterWorld) keepers(names string) {
	var clients, routes []string
	for range names {
		clients, routes = append(clients, unusedAddress(w.t)), append(routes, unusedAddress(w.t))
	}
	w.servers = "nats://" + strings.Join(clients, ",nats://")
	for i, name := range strings.Split(names, "") {
		w.clients[name] = clients[i]
		w.args[name] = []string{"--keepers", fmt.Sprint(len(names)), "--keeper", clients[i]}
		if len(names) > 1 {
			w.args[name] = append(w.args[name], "--keeper-routes", routes[i], "--join", strings.Join(routes, ","))
		}
	}
}

// start starts a node.
func (w *clusterWorld) start(names ...string) {
	w.t.Helper()
	for _, name := range names {
		servers := w.servers
		if w.at[name] != "" {
			servers = w.at[name]
		}
		args := []string{"daemon", "--jobs", filepath.Join(w.dir, "jobs"), "--state", filepath.Join(w.dir, name),
			"--spread", "0", "--node", name, "--cluster", servers, "--cluster-secret", w.secret, "--depot", w.depot}
		program := w.program[name]
		if program == "" {
			program = "mirrord"
		}
		cmd := exec.Command(program, append(args, w.args[name]...)...)
		log, err := os.OpenFile(w.log(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			w.t.Fatal(err)
		}
		cmd.Stderr, cmd.Env = log, append(append(os.Environ(), w.env...), w.more[name]...)
		err = cmd.Start()
		log.Close()
		if err != nil {
			w.t.Fatal(err)
		}
		w.running[name] = cmd
	}
}

func (w *clusterWorld) log(name string) string { return filepath.Join(w.dir, name+".log") }

// says waits until the log of a node has some words.
func (w *clusterWorld) says(name, words string, within time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(200 * time.Millisecond) {
		text, _ := os.ReadFile(w.log(name))
		if bytes.Contains(text, []byte(words)) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s does not say: %s", name, words)
		}
	}
}

// signal sends a signal to nodes; after SIGKILL they are gone.
func (w *clusterWorld) signal(s os.Signal, names ...string) {
	w.t.Helper()
	for _, name := range names {
		if err := w.running[name].Process.Signal(s); err != nil {
			w.t.Fatal(err)
		}
		if s == syscall.SIGKILL {
			w.running[name].Wait()
			delete(w.running, name)
		}
	}
}

// stop ends nodes as one does.
func (w *clusterWorld) stop(names ...string) {
	w.t.Helper()
	w.signal(syscall.SIGTERM, names...)
	for _, name := range names {
		if err := w.running[name].Wait(); err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
		delete(w.running, name)
	}
}

// end kills what runs, and shows the logs of a test that has failed.
func (w *clusterWorld) end() {
	for _, cmd := range w.running {
		cmd.Process.Kill()
		cmd.Wait()
	}
	if !w.t.Failed() {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(w.dir, "*.log"))
	for _, file := range logs {
		text, _ := os.ReadFile(file)
		w.t.Logf("%s:\n%s", filepath.Base(file), text[max(0, len(text)-20000):])
	}
}

// allRun waits until each site was begun once more and committed once more.
func (w *clusterWorld) allRun(what string) {
	w.t.Helper()
	runs, versions, began := w.runs(), w.versions(), time.Now()
	for end := began.Add(6 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		missing, open := w.sites, w.sites
		for host, n := range w.runs() {
			if n > runs[host] {
				missing--
			}
		}
		for name, n := range w.versions() {
			if n > versions[name] {
				open--
			}
		}
		if missing == 0 && open == 0 {
			w.t.Logf("%s: each site has begun and committed a run after %v; by %v", what,
				time.Since(began).Round(time.Second), w.nodes())
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s: %d sites do not continue, %d do not commit", what, missing, open)
		}
	}
}

// command runs mirrord.
func (w *clusterWorld) command(args ...string) ([]byte, error) {
	cmd := exec.Command("mirrord", args...)
	cmd.Env = append(os.Environ(), w.env...)
	return cmd.CombinedOutput()
}

// status is cluster status as one of the keepers that run tells it.
func (w *clusterWorld) status() (s engine.Status, err error) {
	out, err := w.command("cluster", "status", "--json", "--cluster", w.servers, "--cluster-secret", w.secret)
	if err != nil {
		return s, fmt.Errorf("%w: %s", err, out)
	}
	return s, json.Unmarshal(out, &s)
}

// leader names the keeper that leads now, and one that does not.
func (w *clusterWorld) leader() (leads, follows string) {
	w.t.Helper()
	s, err := w.status()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, k := range s.Keepers {
		if k.Leader {
			leads = k.Name
		} else if !k.Away {
			follows = k.Name
		}
	}
	if leads == "" || follows == "" {
		w.t.Fatalf("%+v", s.Keepers)
	}
	return leads, follows
}

// finish ends all nodes, and compares the rest with the promises.
func (w *clusterWorld) finish() {
	w.t.Helper()
	for name := range w.running {
		w.signal(syscall.SIGTERM, name)
	}
	for name, cmd := range w.running {
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("%s: %v", name, err)
		}
		delete(w.running, name)
	}
	w.judge()
}

// judge says what was promised and is not so.
func (w *clusterWorld) judge() {
	w.t.Helper()
	for _, d := range w.doubles() {
		w.t.Error("two machines request a host:", d)
	}
	for _, p := range w.problems() {
		w.t.Error("a commit is lost:", p)
	}
	if out, err := w.command("cluster", "depot", "--check", "--depot", w.depot); err != nil {
		w.t.Errorf("the depot: %v\n%s", err, out)
	}
	fresh := filepath.Join(w.dir, "fresh")
	for i := range w.sites {
		name := fmt.Sprintf("s%d", i)
		out, err := w.command("cluster", "pull", name, "--depot", w.depot, "--state", fresh)
		if err == nil {
			out, err = w.command("verify", name, "--state", fresh)
		}
		if err != nil {
			w.t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	if _, n := w.longest(w.began); n < w.sites {
		w.t.Errorf("%d commits were seen", n)
	} else {
		w.t.Logf("%d commits, %d requests by processes that were gone", n, w.unknown)
	}
}
