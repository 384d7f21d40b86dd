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
	"sync"
	"syscall"
	"testing"
	"time"

	"mirrord/cluster/engine"
)

// visits are the requests that sites have seen.
type visits struct {
	mu     sync.Mutex
	last   map[string]visit // by host
	count  map[string]int
	double []string
}

type visit struct {
	node string
	at   time.Time
}

func (v *visits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	node, _, _ := strings.Cut(r.UserAgent(), "/")
	now, before := time.Now(), v.last[r.Host]
	if gap := engine.DefaultTerm().Gap; before.node != "" && before.node != node && now.Sub(before.at) < gap {
		v.double = append(v.double,
			fmt.Sprintf("%s by %s %v after %s", r.Host, node, now.Sub(before.at), before.node))
	}
	v.last[r.Host] = visit{node, now}
	if r.URL.Path == "/" {
		v.count[r.Host]++
	}
	v.mu.Unlock()
	if r.URL.Path == "/robots.txt" || r.URL.Path == "/favicon.ico" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
	for i := range 12 {
		fmt.Fprintf(w, `<a href="/%d">x</a>`, i)
	}
}

// runs returns how often each site was begun.
func (v *visits) runs() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := map[string]int{}
	for host, n := range v.count {
		out[host] = n
	}
	return out
}

// TestClusterKilled has three nodes, each a keeper too, over one depot, and kills, stops and starts them. No
// host is requested by two of them within the gap, all sites go on, and the depot is whole.
func TestClusterKilled(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it takes five minutes: set MIRRORD_LONG=1")
	}
	dir := t.TempDir()
	seen := &visits{last: map[string]visit{}, count: map[string]int{}}
	secret := filepath.Join(dir, "secret")
	put(t, dir, "secret", "0123456789abcdef0123")
	names := []string{"a", "b", "c"}
	const sites = 6
	for i := range sites {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", 20+i))
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(seen)
		srv.Listener.Close()
		srv.Listener = l
		srv.Start()
		defer srv.Close()
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(dir, "jobs-"+name), 0o755); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, "jobs-"+name), fmt.Sprintf("s%d.toml", i), fmt.Sprintf("url = \"http://%s/\"\n"+
				"schedule = \"@every 1m\"\n[polite]\nuser_agent = \"%s/1\"\ndelay = \"300ms\"\n", l.Addr(), name))
		}
	}
	var clients, routes []string
	for range names {
		clients, routes = append(clients, loopback(t)), append(routes, loopback(t))
	}
	depot := "file://" + filepath.Join(dir, "depot")
	servers := "nats://" + strings.Join(clients, ",nats://")
	logs, running := map[string]*bytes.Buffer{}, map[string]*exec.Cmd{}
	start := func(i int) {
		name := names[i]
		cmd := exec.Command("mirrord", "daemon", "--jobs", filepath.Join(dir, "jobs-"+name), "--state",
			filepath.Join(dir, name), "--spread", "0", "--node", name, "--keepers", "3", "--cluster", servers,
			"--cluster-secret", secret, "--depot", depot, "--keeper", clients[i], "--keeper-routes", routes[i],
			"--join", strings.Join(routes, ","))
		if logs[name] == nil {
			logs[name] = new(bytes.Buffer)
		}
		cmd.Stderr = logs[name]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running[name] = cmd
	}
	signal := func(name string, s os.Signal) {
		if err := running[name].Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGKILL {
			running[name].Wait()
		}
	}
	defer func() {
		for _, cmd := range running {
			cmd.Process.Kill()
			cmd.Wait()
		}
		if t.Failed() {
			for name, log := range logs {
				t.Logf("%s:\n%s", name, log)
			}
		}
	}()
	allRun := func(what string) { // each site once more
		t.Helper()
		before, began := seen.runs(), time.Now()
		for end := began.Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
			missing := sites
			for host, n := range seen.runs() {
				if n > before[host] {
					missing--
				}
			}
			if missing == 0 {
				t.Logf("%s: each site has begun a run after %v", what, time.Since(began).Round(time.Second))
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %d sites do not go on", what, missing)
			}
		}
	}
	for i := range names {
		start(i)
	}
	allRun("at first")
	signal("a", syscall.SIGKILL)
	allRun("a node and keeper killed")
	start(0)
	signal("b", syscall.SIGSTOP)
	allRun("another one stopped")
	signal("b", syscall.SIGCONT)
	allRun("it goes on")
	signal("a", syscall.SIGKILL)
	signal("b", syscall.SIGKILL)
	signal("c", syscall.SIGKILL)
	for i := range names {
		start(i)
	}
	allRun("all killed")
	for name := range running {
		signal(name, syscall.SIGTERM)
	}
	for name, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, d := range seen.double {
		t.Error("two machines request a host:", d)
	}
	out, err := exec.Command("mirrord", "cluster", "depot", "--check", "--depot", depot).CombinedOutput()
	if err != nil {
		t.Errorf("the depot: %v\n%s", err, out)
	}
	for i := range sites {
		if !bytes.Contains(out, fmt.Appendf(nil, "s%d: version", i)) {
			t.Errorf("site s%d is not in the depot:\n%s", i, out)
		}
	}
}

// loopback returns an address that nobody listens at.
func loopback(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
