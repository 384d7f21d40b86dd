// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/app/care"
	"mirrord/app/daemon"
	"mirrord/app/env"
	"mirrord/app/life"
	"mirrord/app/runs"
	"mirrord/app/shares"
	"mirrord/fetch"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/testing/apptest"
	"mirrord/testing/storetest"
)

// fakeNodes are the nodes of a cluster in one process: which of them has which site, and how each is reached.
type fakeNodes struct {
	mu    sync.Mutex
	sites map[string]string            // nodes, by site
	nodes map[string]http.Handler      // that answer
	facts shares.Facts                 // that they share; nil: none
	peers map[string]*apptest.TwoPeers // by node
}

// oneNode is one node's way to the others.
type oneNode struct {
	*fakeNodes
	me string
}

func (n oneNode) Me() string { return n.me }

func (n oneNode) Members() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for _, name := range n.sites {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (n oneNode) NodeOf(_ context.Context, site string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sites[site], nil
}

func (n oneNode) Answer(h http.Handler) (stop func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[n.me] = h
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.nodes, n.me)
	}, nil
}

func (n oneNode) Lend(*fetch.Hosts) (stop func(), err error) { return func() {}, nil }

// toNode carries requests to a node.
type toNode struct {
	*fakeNodes
	name string
}

func (n oneNode) To(node string) http.RoundTripper { return toNode{n.fakeNodes, node} }

// RoundTrip implements http.RoundTripper.
func (n toNode) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	h := n.nodes[n.name]
	n.mu.Unlock()
	if h == nil {
		return nil, errors.New("no such node")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// daemonsOf makes a daemon for each name, which has the sites that nodes say, and runs it until the test
// ends.
func daemonsOf(t *testing.T, nodes *fakeNodes, names ...string) map[string]*Everywhere {
	t.Helper()
	urls := map[string]string{}
	hosts := map[string]map[string]bool{}
	for site, node := range nodes.sites {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", 2+len(urls)))
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("ETag", `"`+site+`"`) // a file, which is not requested twice
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%s</title>", site)
		}))
		srv.Listener.Close()
		srv.Listener = l
		srv.Start()
		t.Cleanup(srv.Close)
		urls[site] = srv.URL + "/"
		if hosts[node] == nil {
			hosts[node] = map[string]bool{}
		}
		hosts[node][l.Addr().(*net.TCPAddr).IP.String()] = true
	}
	out := map[string]*Everywhere{}
	nodes.nodes, nodes.peers = map[string]http.Handler{}, map[string]*apptest.TwoPeers{}
	for _, name := range names {
		a := apptest.TestApp(t.TempDir())
		a.Jobs = t.TempDir()
		for site, url := range urls {
			apptest.Put(t, a.Jobs, site+".toml", fmt.Sprintf("url = %q\n", url))
		}
		st, err := a.MakeState()
		if err != nil {
			t.Fatal(err)
		}
		peers, has := &apptest.TwoPeers{Owner: new(storetest.Owner)}, hosts[name]
		peers.Has.Store(&has)
		nodes.peers[name] = peers
		var users *shares.ClusterUsers
		if nodes.facts != nil {
			users = shares.NewClusterUsers(st, nodes.facts, a.Log)
		}
		d, err := daemon.NewDaemon(a, st, daemon.DaemonOptions{Cluster: peers, Users: users, Spread: -1})
		if err != nil {
			t.Fatal(err)
		}
		all, err := Join(d, oneNode{nodes, name}, users, CallsOf)
		if err == nil {
			_, err = d.Reload()
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- d.Schedule(ctx) }()
		var wg sync.WaitGroup
		if users != nil {
			wg.Go(func() { users.Follow(ctx, func() { HeedPauses(d) }) })
		}
		t.Cleanup(func() {
			all.Close()
			stop()
			wg.Wait()
			if err := errors.Join(<-done, st.Close()); err != nil {
				t.Error(err)
			}
		})
		out[name] = all
	}
	return out
}

// A request to a node about a job of another one, also to change it, gets that one's answer.
func TestEverywhere(t *testing.T) {
	nodes := &fakeNodes{sites: map[string]string{"x": "a", "y": "b"}}
	c := daemonsOf(t, nodes, "a", "b")
	a, b := c["a"], c["b"]
	for name, node := range nodes.sites {
		if j, err := a.Job(name); err != nil || j.Node != node || (j.AsOf == nil) != (node == "a") {
			t.Errorf("%s: node %q as of %v, %v", name, j.Node, j.AsOf, err)
		}
	}
	if err := a.Pause("y"); err != nil {
		t.Fatal(err)
	}
	if j, err := b.here.Job("y"); err != nil || j.Activity != status.Paused {
		t.Errorf("paused elsewhere: %s, %v", j.Activity, err)
	}
	if err := a.Pause("y"); !errors.Is(err, control.ErrConflict) {
		t.Errorf("paused twice: %v", err)
	}
	if err := a.Resume("y"); err != nil {
		t.Error(err)
	}
	run, _, err := a.Run("y", control.RunRequest{})
	if err != nil {
		t.Fatal(err)
	}
	<-run.Done()
	if r, err := run.Result(); err != nil || r.Verdict != status.VerdictComplete || r.Version != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	for name, d := range c {
		if runs, err := d.Runs("y", 5); err != nil || len(runs) != 1 {
			t.Errorf("%s: runs %v, %v", name, runs, err)
		}
		forgetSaid(d)
		all := d.Status()
		if len(all.Jobs) != 2 || all.Jobs[0].Name != "x" || all.Jobs[1].Version != 1 || len(all.Nodes) != 1 {
			t.Errorf("%s: %+v", name, all)
		}
	}
	_, _, err = a.Run("y", control.RunRequest{Set: []string{"nonsense=1"}})
	if !errors.Is(err, control.ErrInvalid) {
		t.Errorf("an unknown key: %v", err)
	}
	_, _, err = Remote{a}.Run("y", control.RunRequest{Set: []string{`hooks.after="true"`}})
	if !errors.Is(err, control.ErrInvalid) || !strings.Contains(err.Error(), "hooks.after") {
		t.Errorf("a command, from afar: %v", err)
	}
	if err := a.Pause("z"); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("an unknown job: %v", err)
	}
	if n := len(a.Own().Status().Jobs); n != 1 {
		t.Errorf("%d jobs in its own metrics", n)
	}

	// A command on the machine of a finds no mirror of y, and says where it is.
	beside := apptest.TestApp(t.TempDir())
	beside.Activates = filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", beside.Activates)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(CallsOf(a))
	srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	defer srv.Close()
	if err := env.Elsewhere(t.Context(), beside, "y"); err == nil || !strings.Contains(err.Error(), "node b ") {
		t.Errorf("y: %v", err)
	}
	for _, name := range []string{"x", "z"} {
		if err := env.Elsewhere(t.Context(), beside, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	// What was left behind there is not changed in its place.
	st, err := beside.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite("y")
	if err = errors.Join(err, s.Close(), st.Close()); err != nil {
		t.Fatal(err)
	}
	beside.Jobs = a.here.App.Jobs
	for what, try := range map[string]func() error{
		"rollback": func() error {
			_, err := runs.Rollback(t.Context(), beside, "y", 0)
			return err
		},
		"forget": func() error { return care.Forget(t.Context(), beside, &care.Forgetting{Job: "y"}) },
		"rename": func() error {
			_, err := life.Rename(t.Context(), beside, "y", "new")
			return err
		},
		"remove": func() error { return life.Remove(t.Context(), beside, &life.Removal{Job: "y"}) },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "with node b ") {
			t.Errorf("%s of a mirror that another node has: %v", what, err)
		}
	}
}

// forgetSaid lets a node ask the others again.
func forgetSaid(c *Everywhere) {
	forget(&c.jobs)
}

func forget[T any](s *said[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.of {
		n.asked = time.Time{}
	}
}

// The last answer of a node is shown when it no longer answers, with the time. An operation that is not
// possible says why.
func TestEverywhereAway(t *testing.T) {
	nodes := &fakeNodes{sites: map[string]string{"x": "a", "y": "b", "z": "c"}}
	c := daemonsOf(t, nodes, "a", "b")
	a := c["a"]
	all := a.Status()
	if len(all.Jobs) != 3 || all.Jobs[1].Node != "b" || len(all.Jobs[1].Problems) > 0 {
		t.Fatalf("%+v", all)
	}
	if j := all.Jobs[2]; j.Name != "z" || j.Node != "" || len(j.Problems) != 1 {
		t.Errorf("a job of a node that never answered: %+v", j)
	}
	said := all.Jobs[1].AsOf
	c["b"].Close()
	forgetSaid(a)
	all = a.Glance()
	j := all.Jobs[1]
	if !j.AsOf.Equal(*said) || len(j.Problems) != 1 || !strings.Contains(j.Problems[0], "node b") {
		t.Errorf("%+v", j)
	}
	for _, m := range all.Nodes {
		if m.Away == "" {
			t.Errorf("%+v answers", m)
		}
	}
	if err := a.Pause("y"); err == nil || !strings.Contains(err.Error(), "cluster remove b") {
		t.Errorf("%v", err)
	}
	if _, _, err := a.Run("y", control.RunRequest{}); err == nil || !strings.Contains(err.Error(), "node b") {
		t.Errorf("%v", err)
	}
	delete(nodes.sites, "y")
	a.waits = 0
	if err := a.Cancel("y"); !errors.Is(err, control.ErrConflict) {
		t.Errorf("no node has it: %v", err)
	}
}
