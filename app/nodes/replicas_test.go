// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/daemon"
	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/app/runs"
	"mirrord/replica/collections"
	"mirrord/scheduler/control"
	"mirrord/store/shared"
	"mirrord/testing/apptest"
	"mirrord/testing/storetest"
)

// What the pages of a mirror say is read as it was written, and nothing else is.
func TestSiteDigests(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var want []replicas.PageSaid
	var b bytes.Buffer
	paths := []string{"/", "/a.html", "/a.html?x=1", "/b/ä", "/b/" + strings.Repeat("y", 3000), "/"}
	for i, path := range paths {
		p := replicas.PageSaid{At: collections.Address{Host: "www.example.org:8080", Path: path}}
		if i%2 == 0 {
			p.Modified = at.Add(time.Duration(i) * time.Hour)
		}
		p.Digest.Text, p.Digest.Words = uint64(i)<<40, uint32(i)
		for j := range p.Digest.Sketch {
			p.Digest.Sketch[j] = byte(i * j)
		}
		want = append(want, p)
	}
	err := replicas.WritePagesSaid(&b, func(add func(*replicas.PageSaid) error) error {
		for i := range want {
			if err := add(&want[i]); err != nil {
				return err
			}
		}
		return add(&replicas.PageSaid{Modified: at})
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) (got []replicas.PageSaid, err error) {
		err = replicas.ReadSiteDigests(bytes.NewReader(b), func(p *replicas.PageSaid) error {
			got = append(got, *p)
			return nil
		})
		return got, err
	}
	if got, err := read(b.Bytes()); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n%v", got, err)
	}
	for n := range b.Len() {
		if _, err := read(b.Bytes()[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut off at %d: %v", n, err)
		}
		bad := bytes.Clone(b.Bytes())
		bad[n] ^= 0x10
		if got, err := read(bad); err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("byte %d is another", n)
		}
	}
	if _, err := read([]byte("mSd1 as an older version writes it")); !errors.Is(err, replicas.ErrOtherDigests) {
		t.Errorf("another form: %v", err)
	}
}

// manual serves pages that are the same on each host, and counts requests.
type manual struct {
	pages    atomic.Int64
	requests atomic.Int64
}

func (m *manual) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.requests.Add(1)
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Path == "/" {
		for i := range m.pages.Load() {
			fmt.Fprintf(w, "<a href=page%d.html>chapter %d</a>\n", i, i)
		}
		return
	}
	var n int64
	if k, err := fmt.Sscanf(r.URL.Path, "/page%d.html", &n); err != nil || k != 1 || n >= m.pages.Load() {
		http.NotFound(w, r)
		return
	}
	fmt.Fprintf(w, "<title>chapter %d</title>", n)
	for i := range 60 {
		fmt.Fprintf(w, " word%d-%d", n, i*7%61)
	}
}

// replicaNodes are three nodes: a and b have a mirror of the same manual each, c has another site. One more
// machine, by itself, has all three.
type replicaNodes struct {
	*fakeNodes
	manuals map[string]*manual  // by job
	apps    map[string]*env.App // by node; "": the machine by itself
	faces   map[string]*Everywhere
	jobs    string
}

func newReplicaNodes(t *testing.T) *replicaNodes {
	t.Helper()
	n := &replicaNodes{
		fakeNodes: &fakeNodes{
			sites: map[string]string{"x": "a", "y": "b", "z": "c"},
			nodes: map[string]http.Handler{},
		},
		manuals: map[string]*manual{},
		apps:    map[string]*env.App{},
		faces:   map[string]*Everywhere{},
		jobs:    t.TempDir(),
	}
	hosts := map[string]map[string]bool{}
	for i, site := range []string{"x", "y", "z"} {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", 21+i))
		if err != nil {
			t.Fatal(err)
		}
		m := new(manual)
		m.pages.Store(14)
		if site == "z" {
			m.pages.Store(1)
		}
		srv := httptest.NewUnstartedServer(m)
		srv.Listener.Close()
		srv.Listener = l
		srv.Start()
		t.Cleanup(srv.Close)
		n.manuals[site] = m
		apptest.Put(t, n.jobs, site+".toml",
			"url = \""+srv.URL+"/\"\npolite.delay = \"0s\"\npolite.factor = 0\n")
		hosts[n.sites[site]] = map[string]bool{l.Addr().(*net.TCPAddr).IP.String(): true}
	}
	n.apps[""] = apptest.TestApp(t.TempDir())
	n.apps[""].Jobs = n.jobs
	for _, site := range []string{"x", "y", "z"} {
		node := n.sites[site]
		n.apps[node] = apptest.TestApp(t.TempDir())
		n.apps[node].Jobs = n.jobs
		n.run(t, node, site)
		n.run(t, "", site)
		n.join(t, node, hosts[node])
	}
	return n
}

// run mirrors a site on a machine.
func (n *replicaNodes) run(t *testing.T, node, site string) {
	t.Helper()
	if _, err := runs.RunNow(t.Context(), n.apps[node], runs.RunHere{Job: site}); err != nil {
		t.Fatal(err)
	}
}

// join makes the daemon of a node. Nothing is scheduled.
func (n *replicaNodes) join(t *testing.T, node string, has map[string]bool) {
	t.Helper()
	a := n.apps[node]
	st, err := a.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	peers := &apptest.TwoPeers{Owner: new(storetest.Owner)}
	peers.Has.Store(&has)
	d, err := daemon.NewDaemon(a, st, daemon.DaemonOptions{Cluster: peers, Spread: -1})
	if err != nil {
		t.Fatal(err)
	}
	all, err := Join(d, oneNode{n.fakeNodes, node}, nil, CallsOf)
	if err == nil {
		_, err = d.Reload()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		all.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	n.faces[node] = all
}

// find looks for replicas on a machine, a node after asking the others.
func (n *replicaNodes) find(t *testing.T, node string) *replicas.Replicas {
	t.Helper()
	if node != "" {
		if err := n.faces[node].Gather(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r, err := replicas.FindReplicas(t.Context(), n.apps[node], nil, replicas.ReplicaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Replicas are found among the mirrors of all nodes, on each of them the same, and the same as on one machine
// that has all mirrors. Only digests come from other nodes, and only of new versions.
func TestReplicasEverywhere(t *testing.T) {
	n := newReplicaNodes(t)
	requests := func() (sum int64) {
		for _, m := range n.manuals {
			sum += m.requests.Load()
		}
		return sum
	}
	before := requests()
	alone := n.find(t, "")
	if len(alone.Clusters) != 1 || len(alone.Hosts) != 1 || alone.Elsewhere != nil {
		t.Fatalf("%+v", alone)
	}
	for _, node := range []string{"a", "b", "c"} {
		r := n.find(t, node)
		if !reflect.DeepEqual(r.Clusters, alone.Clusters) || r.Pages != alone.Pages || r.Bad != 0 {
			t.Errorf("%s: %+v\nwant %+v", node, r.Clusters, alone.Clusters)
		}
		if len(r.Hosts) != 1 || r.Hosts[0].Level != "2" || !r.Hosts[0].Confident || !r.Hosts[0].ByDigests {
			t.Errorf("%s: hosts %+v", node, r.Hosts)
		}
		if len(r.Elsewhere) != 2 || r.Elsewhere[0].Jobs != 1 || r.Elsewhere[0].AsOf == nil ||
			len(r.Elsewhere[0].Missing)+len(r.Elsewhere[1].Missing) > 0 {
			t.Errorf("%s: %+v", node, r.Elsewhere)
		}
	}
	if requests() != before {
		t.Error("sites were requested")
	}
	file := filepath.Join(apptest.StateOf(t, n.apps["a"]), env.ElsewhereFolder, "y")
	first, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if first.Size() > 15*200 {
		t.Errorf("15 pages take %d bytes", first.Size())
	}
	n.find(t, "a")
	if again, err := os.Stat(file); err != nil || !os.SameFile(first, again) {
		t.Errorf("the digests came once more: %v", err)
	}

	n.manuals["y"].pages.Store(16)
	n.run(t, "b", "y")
	if r := n.find(t, "a"); r.Pages != alone.Pages+2 {
		t.Errorf("%d pages after a new version, want %d", r.Pages, alone.Pages+2)
	}
}

// The last answer of a node that no longer answers stays, with the time; nothing is assumed about a node
// that never answered, or whose answer was damaged.
func TestReplicasOfNodesAway(t *testing.T) {
	n := newReplicaNodes(t)
	whole := n.find(t, "a")
	n.faces["b"].Close()
	r := n.find(t, "a")
	if !reflect.DeepEqual(r.Clusters, whole.Clusters) {
		t.Errorf("%+v\nwant %+v", r.Clusters, whole.Clusters)
	}
	i := slices.IndexFunc(r.Elsewhere, func(x replicas.ReplicaNode) bool { return x.Node == "b" })
	if i < 0 || r.Elsewhere[i].Away == "" || !r.Elsewhere[i].AsOf.Equal(*whole.Elsewhere[i].AsOf) ||
		!strings.Contains(r.Elsewhere[i].Line(), "1 mirror, as of ") {
		t.Errorf("%+v", r.Elsewhere)
	}
	// c never heard of b
	r = n.find(t, "c")
	if len(r.Clusters) != 0 || len(r.Elsewhere) != 3 {
		t.Fatalf("%+v", r)
	}
	if last := r.Elsewhere[2]; last.Node != "" || !slices.Equal(last.Missing, []string{"y"}) {
		t.Errorf("%+v", r.Elsewhere)
	}
	// the kept digests were removed, and a sends an incomplete answer
	if err := os.Remove(filepath.Join(apptest.StateOf(t, n.apps["c"]), env.ElsewhereFolder, "x")); err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	say := n.nodes["a"]
	n.nodes["a"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/x") {
			say.ServeHTTP(w, r)
			return
		}
		cut := httptest.NewRecorder()
		say.ServeHTTP(cut, r)
		w.Write(cut.Body.Bytes()[:cut.Body.Len()/2])
	})
	n.mu.Unlock()
	r = n.find(t, "c")
	if r.Pages != 2 || !slices.Equal(r.Elsewhere[0].Missing, []string{"x"}) {
		t.Errorf("%d pages, %+v", r.Pages, r.Elsewhere)
	}
}

// The registry has the mirrors of all nodes, on each node; of one that is away those that it last said.
func TestRegistryEverywhere(t *testing.T) {
	n := newReplicaNodes(t)
	a := n.faces["a"]
	reg := func(c *Everywhere) *replicas.Registry {
		t.Helper()
		v, err := c.Registry()
		if err != nil {
			t.Fatal(err)
		}
		return v.(*replicas.Registry)
	}
	one, err := n.faces["b"].here.Registry()
	if err != nil {
		t.Fatal(err)
	}
	base := one.(*replicas.Registry).Mirrors[0].Prefixes[0]
	pair := shared.PairRecord{
		Base1:     base,
		Base2:     "https://copy.example.org/",
		Tested:    a.here.State.Now().UTC().Truncate(time.Second),
		Level:     "1",
		Mirrors:   true,
		Confident: true,
		Equal:     true,
	}
	old := pair
	old.Tested, old.Equal = pair.Tested.Add(-time.Hour), false
	if err := errors.Join(n.faces["b"].here.State.Shared.SavePair(pair),
		n.faces["c"].here.State.Shared.SavePair(old)); err != nil {
		t.Fatal(err)
	}
	for name, c := range n.faces {
		got := reg(c)
		if len(got.Mirrors) != 3 || len(got.Pairs) != 1 || len(got.Nodes) != 2 {
			t.Fatalf("%s: %+v", name, got)
		}
		for i, node := range []string{"a", "b", "c"} {
			if m := got.Mirrors[i]; m.Node != node || m.Version != 1 || n.sites[m.Job] != node {
				t.Errorf("%s: %+v", name, m)
			}
		}
		if e := got.Mirrors[1].Equivalents; len(e) != 1 || !e[0].Interchangeable {
			t.Errorf("%s: equivalents %+v", name, e)
		}
	}
	n.faces["b"].Close()
	a.registries.mu.Lock()
	clear(a.registries.of)
	a.registries.mu.Unlock()
	if got := reg(a); len(got.Mirrors) != 2 || got.Nodes[0].Away == "" || got.Nodes[0].AsOf != nil {
		t.Errorf("a node that never answered: %+v", got)
	}
	c := n.faces["c"] // which it did answer
	forget(&c.registries)
	got := reg(c)
	if len(got.Mirrors) != 3 || got.Nodes[1].Away == "" || got.Nodes[1].AsOf == nil || got.Nodes[0].Away != "" {
		t.Errorf("%+v", got)
	}
}

var _ control.API = (*Everywhere)(nil)

// A machine that has left its cluster drops the answers of other nodes.
func TestElsewhereIsForgotten(t *testing.T) {
	n := newReplicaNodes(t)
	if r := n.find(t, "c"); len(r.Elsewhere) != 2 {
		t.Fatalf("%+v", r.Elsewhere)
	}
	st, err := n.apps["c"].MakeState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d, err := daemon.NewDaemon(n.apps["c"], st, daemon.DaemonOptions{Spread: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Gather(context.Background()); err != nil {
		t.Error(err)
	}
	r, err := replicas.FindReplicas(t.Context(), n.apps["c"], nil, replicas.ReplicaOptions{})
	if err != nil || r.Pages != 2 || r.Elsewhere != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
